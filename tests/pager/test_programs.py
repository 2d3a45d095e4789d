"""Real programs give the same results paged as unpaged."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SCHEMES

SQL = """
create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000)
  insert into t select x, hex(x * 7919) || 'row' from c;
create index i on t(b);
select count(*), sum(a), count(distinct b) from t;
select a, b from t order by b desc limit 5;
"""


def faults(report: str) -> tuple[int, int]:
    """Returns the faults and evictions in a report."""
    found = re.search(r"(\d+) faults, (\d+) evictions", report)
    assert found, report
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sqlite_answers_as_it_does_unpaged(page_run, tool, scheme):
    sqlite = tool("sqlite3")
    unpaged = subprocess.run([sqlite, ":memory:", SQL], capture_output=True, text=True, check=True)
    paged = page_run(["--resident", "24", "--scheme", scheme], sqlite, ":memory:", SQL)
    assert (paged.stdout, paged.returncode) == (unpaged.stdout, 0), paged.stderr
    all_faults, evictions = faults(paged.stderr)
    assert evictions > 1000, paged.stderr
    assert all_faults - evictions == 24, paged.stderr


def test_resident_pages_follow_the_programs_size_and_the_number_that_halves_the_faults_is_printed(page_run, tool):
    def run_program(*flags: str) -> tuple[int, int, str]:
        paged = page_run([*flags, "--scheme", "detworam"], tool("sqlite3"), ":memory:", SQL.replace("3000", "20000"))
        assert paged.returncode == 0, paged.stderr
        return *faults(paged.stderr), paged.stderr

    few, _, report = run_program("--resident", "64")
    halving = re.search(r"--resident (\d+) would have at least halved the faults", report)
    assert halving, report
    assert run_program("--resident", halving[1])[0] <= few // 2
    fewer, evictions, report = run_program()
    assert re.search(r"64 to (128|256|512) pages resident", report), report
    # A fault that evicts no page writes too.
    assert fewer < few and fewer - evictions == 64, report


@pytest.mark.parametrize("instance", ["satisfiable", "unsatisfiable"])
def test_picosat_solves_the_paper_size_instances(page_run, programs, tool, tmp_path, instance):
    formula = tmp_path / f"{instance}.cnf"
    subprocess.run([programs, "dimacs", instance, formula], check=True)
    words = [tool("picosat"), formula]
    unpaged = subprocess.run(words, capture_output=True, text=True, check=False)
    resident = {"satisfiable": "512", "unsatisfiable": "900"}[instance]
    paged = page_run(["--resident", resident, "--scheme", "eager", "--k", "7"], *words)
    assert (paged.stdout, paged.returncode) == (unpaged.stdout, unpaged.returncode), paged.stderr
    assert paged.returncode == {"satisfiable": 10, "unsatisfiable": 20}[instance]
    assert faults(paged.stderr)[1] > 0


@pytest.mark.parametrize("program", ["random_writes", "sha_256", "lbm"])
def test_the_papers_programs_check_their_own_answers(page_run, programs, program):
    unpaged = subprocess.run([programs, program], capture_output=True, text=True, check=True)
    paged = page_run(["--resident", "256", "--scheme", "eager-parallel", "--k", "15"], programs, program)
    assert (paged.stdout, paged.returncode) == (unpaged.stdout, 0), paged.stderr
    assert faults(paged.stderr)[1] > 0


def test_redis_serves_threads_and_large_values(ameles, tool, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = [tool("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    flags = ["page", "run", "--resident", "512", "--scheme", "eager"]
    log = (tmp_path / "log").open("w+")
    process = subprocess.Popen([ameles, *flags, "--", *server], cwd=tmp_path, stdout=log, stderr=log)
    try:
        client = [tool("redis-cli"), "-p", port]

        def ask(*words: str, given: str | None = None) -> str:
            asked = subprocess.run([*client, *words], capture_output=True, text=True, check=False, input=given)
            return asked.stdout.strip()

        while ask("ping") != "PONG":
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
        commands = "".join(f"set key:{at} {'v' * 1000}{at}\n" for at in range(4000))
        ask(given=commands)
        assert ask("dbsize") == "4000"
        assert ask("get", "key:3999") == "v" * 1000 + "3999"
        large = "x" * 3_000_000
        ask("-x", "set", "large", given=large)
        assert ask("strlen", "large") == str(len(large))
        ask("shutdown", "nosave")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert faults((tmp_path / "log").read_text())[1] > 0


def test_threads_that_share_a_heap_lose_nothing(page_run):
    script = """
import threading
def work(n):
    d = {i: str(i * n) for i in range(4000)}
    for _ in range(3):
        assert all(d[i] == str(i * n) for i in d)
    done.append(n)
done = []
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(done))
"""
    paged = page_run(["--resident", "400"], *python(), "-c", script)
    assert paged.stdout == "[1, 2, 3, 4]\n", paged.stderr


def python() -> list[str]:
    """Returns the interpreter itself, because a wrapper script would be paged instead. It loads no user settings and no
    site packages, which would cause most of its faults."""
    return [str(Path(sys.executable).resolve()), "-IS"]


def test_system_calls_reach_absent_pages(page_run, tmp_path):
    # In large reads the kernel writes to untouched pages, and in large writes it reads evicted pages.
    script = f"""
import os
data = os.urandom(3_000_000)
with open({str(tmp_path / "file")!r}, "wb", buffering=0) as file:
    file.write(data)
with open({str(tmp_path / "file")!r}, "rb", buffering=0) as file:
    assert file.read() == data
print("same")
"""
    paged = page_run(["--resident", "400"], *python(), "-c", script)
    assert paged.stdout == "same\n", paged.stderr
