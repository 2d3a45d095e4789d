"""The static variables of libraries are paged, except those of libraries that take part in serving a fault."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import SCHEMES
from test_programs import faults, python

from shared_files import make_once, shared_folder

FOLDER = Path(__file__).parent / "libraries"
FLAGS = ["-O1", "-Wall", "-Werror", "-pthread"]


@pytest.fixture
def run_program(page_run, tmp_path_factory):
    """Builds libraries and a program once, and runs the program paged. It must succeed unpaged and paged."""
    folder = shared_folder(tmp_path_factory, "libraries")

    def build(library: str) -> Path:
        words = ["cc", *FLAGS, "-fno-builtin", "-shared", "-fPIC", FOLDER / f"{library}.c", "-o"]
        return make_once(folder / f"lib{library}.so", lambda built: subprocess.run([*words, built], check=True))

    def run(name: str, *flags: str, libraries: list[str], cc: list[str], words: list[str], preloaded: str = "") -> str:
        environment = {**os.environ, **({"LD_PRELOAD": str(build(preloaded))} if preloaded else {})}

        def make(program: Path) -> None:
            linked = [f"-Wl,-rpath,{folder}", *map(build, libraries)]
            subprocess.run(["cc", *FLAGS, *cc, "-o", program, FOLDER / f"{name}.c", *linked], check=True)
            unpaged = subprocess.run([program], capture_output=True, text=True, check=False, env=environment)
            assert (unpaged.stdout, unpaged.returncode) == ("passed\n", 0), unpaged.stderr

        program = make_once(folder / "".join([name, preloaded, *cc]).replace(",", ""), make)
        paged = page_run(["--resident", "16", *flags], program, *words, env=environment)
        assert (paged.stdout, paged.returncode) == ("passed\n", 0), paged.stderr
        return paged.stderr

    return run


@pytest.mark.parametrize("scheme", SCHEMES)
def test_variables_of_a_library_are_paged_with_their_values_from_before_main(run_program, scheme):
    report = run_program("uses_variables", "--scheme", scheme, libraries=["variables"], cc=[], words=["0"])
    assert faults(report)[1] > 6 * 240, report


def test_variables_of_a_library_that_do_not_fit_are_reported_and_stay_in_the_clear(run_program):
    report = run_program("uses_variables", "--untrusted", "1MiB", libraries=["variables"], cc=[], words=["2"])
    assert "static variables" in report and "--untrusted" in report, report


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_a_library_between_ameles_and_the_c_library_serves_faults_and_is_not_paged(run_program, scheme):
    flags = ["--scheme", scheme]
    assert faults(run_program("function_addresses", *flags, libraries=[], cc=[], words=[], preloaded="interposer"))[1] > 1000


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_a_program_at_fixed_addresses_whose_table_all_libraries_call_through_is_paged(run_program, scheme):
    fixed = ["-no-pie", "-fno-pie", "-Wl,-z,lazy"]
    assert faults(run_program("function_addresses", "--scheme", scheme, libraries=[], cc=fixed, words=[]))[1] > 1000


def test_a_library_whose_thread_runs_before_the_program_loses_nothing(run_program):
    report = run_program("uses_threads_first", libraries=["threads_first"], cc=["-Wl,--no-as-needed"], words=[])
    assert "static variables are not paged" in report, report


SQLITE = """
import sqlite3
rows = sqlite3.connect(":memory:")
rows.execute("create table t(a integer, b text)")
rows.executemany("insert into t values(?, ?)", ((i, f"row {i * 7919}") for i in range(3000)))
print(rows.execute("select count(*), sum(a), count(distinct b) from t").fetchone())
print(open("/proc/self/smaps").read())
"""


def variables(smaps: str, library: str) -> list[str]:
    """Returns the mappings of a library that are writable and private, with the kernel's flags."""
    mappings = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", smaps)[1:]
    return [mapping for mapping in mappings if library in mapping.split("\n")[0] and mapping.split()[1] == "rw-p"]


def test_python_and_its_library_are_paged_with_all_their_variables(page_run):
    unpaged = subprocess.run([*python(), "-c", SQLITE], capture_output=True, text=True, check=True)
    needed = subprocess.run(["ldd", python()[0]], capture_output=True, text=True, check=True).stdout
    paged = page_run(["--resident", "400"], *python(), "-c", SQLITE)
    assert paged.returncode == 0, paged.stderr
    assert paged.stdout.split("\n")[0] == unpaged.stdout.split("\n")[0] == f"(3000, {sum(range(3000))}, 3000)"
    for library in ["libpython", "libsqlite3", "libz"]:
        # A library that the interpreter itself does not need is loaded later, and is not paged.
        if library in needed:
            assert not variables(paged.stdout, library), paged.stdout


SELECT = "create table t(a); insert into t values(7); select sum(a) from t;"


def test_the_variables_of_sqlites_library_are_paged(page_run, tool, tmp_path):
    shell = tool("sqlite3")
    paged = page_run(["--resident", "24"], shell, ":memory:", SELECT, ".system cat /proc/$PPID/smaps")
    assert "\n7\n" in paged.stdout, paged.stderr
    assert not variables(paged.stdout, "libsqlite3") and not variables(paged.stdout, "libreadline"), paged.stdout
    assert variables(paged.stdout, "libc.so"), paged.stdout
