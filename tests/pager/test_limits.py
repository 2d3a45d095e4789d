"""Requests beyond a limit are refused in a sentence, and lose no data."""

from __future__ import annotations

import signal
import subprocess

import pytest
from test_programs import python


def test_children_that_run_other_programs_work(page_run):
    script = """
import os, subprocess
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout, end="")
print(os.system("exit 3") >> 8)
"""
    paged = page_run(["--resident", "400"], *python(), "-c", script)
    assert paged.stdout == "child\n3\n", paged.stderr
    assert "by fork" not in paged.stderr


def test_a_full_region_is_reported_with_its_limit_and_the_program_goes_on(page_run):
    script = """
kept = bytes(range(256)) * 1000
try:
    bytearray(10**9)
except MemoryError:
    print("refused")
assert kept == bytes(range(256)) * 1000
print("goes on")
"""
    paged = page_run(["--resident", "400", "--untrusted", "32MiB"], *python(), "-c", script)
    assert paged.stdout == "refused\ngoes on\n", paged.stderr
    assert "32 MiB of untrusted memory" in paged.stderr and "--untrusted" in paged.stderr


def test_the_exit_code_is_the_programs_own(page_run):
    assert page_run(["--resident", "400"], *python(), "-c", "raise SystemExit(7)").returncode == 7
    crashed = page_run(["--resident", "400"], *python(), "-c", "import os; os.kill(os.getpid(), 11)")
    assert crashed.returncode == 128 + signal.SIGSEGV
    assert "ended by signal 11" in crashed.stderr


def test_signals_that_arrive_during_faults_are_handled(page_run):
    script = """
import signal
count = 0
def tick(*_):
    global count
    count += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for _ in range(20):
    rows = [str(i) * 10 for i in range(5000)]
    assert rows[4999] == "4999" * 10
signal.setitimer(signal.ITIMER_REAL, 0)
print(count > 0)
"""
    paged = page_run(["--resident", "200"], *python(), "-c", script)
    assert paged.stdout == "True\n", paged.stderr


def test_what_cannot_work_is_refused_before_the_program_begins(page_run):
    for flags, word in [
        (["--resident", "1"], "--resident"),
        (["--scheme", "none"], "--scheme"),
        (["--untrusted", "1KiB"], "untrusted"),
        (["--second-chance", "64"], "--second-chance"),
        (["--library", "/nowhere"], "--library"),
    ]:
        refused = page_run(flags, "echo", "began")
        assert refused.returncode == 2, (flags, refused.returncode, refused.stderr)
        assert word in refused.stderr and "began" not in refused.stdout, (flags, refused.stderr)
    missing = page_run([], "no-such-program")
    assert missing.returncode != 0 and "no-such-program" in missing.stderr


def test_too_little_untrusted_memory_is_refused_with_how_much_is_needed(page_run):
    small = page_run(["--untrusted", "4KiB"], *python(), "-c", "print('began')")
    assert small.returncode == 2 and small.stdout == "", small
    assert small.stderr.count("\n") == 1 and "give --untrusted at least 9 KiB" in small.stderr, small.stderr


def test_more_resident_pages_than_there_are_count_as_all_of_them(page_run):
    all_of_them = page_run(["--resident", str(2**64 - 1), "--untrusted", "64MiB"], *python(), "-c", "print('began')")
    assert all_of_them.stdout == "began\n", all_of_them.stderr
    trusted = float(all_of_them.stderr.split(" MiB trusted")[0].rsplit(" ", 1)[1])
    assert 47 < trusted < 64, all_of_them.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_program_gets_a_signal_when_ameles_exits(ameles, how):
    script = """
import os, signal, time
# The signal comes once for each thread of `ameles` that has exited. The first is enough.
signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"notified\\n"), os._exit(0)))
print("began", flush=True)
# Not `pause`: it would miss a signal that comes while its own page is loaded.
while True:
    time.sleep(0.1)
"""
    words = [str(ameles), "page", "run", "--resident", "400", "--", *python(), "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "began\n"
        running.send_signal(how)
        # The output ends when the last process that has it open exits.
        assert running.stdout.read().startswith("notified\n")
