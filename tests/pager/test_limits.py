"""What cannot be done is refused in a sentence, and nothing is lost by it."""

from __future__ import annotations

import signal

from test_programs import python


def test_fork_is_refused_and_other_children_work(page_run):
    script = """
import os, subprocess
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout, end="")
print(os.system("exit 3") >> 8)
try:
    os.fork()
except OSError as error:
    print(type(error).__name__)
"""
    paged = page_run(["--resident", "256"], python(), "-c", script)
    assert paged.stdout == "child\n3\nOSError\n", paged.stderr
    assert "fork is refused" in paged.stderr


def test_a_full_region_is_told_with_its_limit_and_the_program_goes_on(page_run):
    script = """
kept = bytes(range(256)) * 1000
try:
    bytearray(10**9)
except MemoryError:
    print("refused")
assert kept == bytes(range(256)) * 1000
print("goes on")
"""
    paged = page_run(["--resident", "256", "--untrusted", "32MiB"], python(), "-c", script)
    assert paged.stdout == "refused\ngoes on\n", paged.stderr
    assert "32 MiB of untrusted memory" in paged.stderr and "--untrusted" in paged.stderr


def test_the_exit_code_is_the_programs_own(page_run):
    assert page_run(["--resident", "256"], python(), "-c", "raise SystemExit(7)").returncode == 7
    crashed = page_run(["--resident", "256"], python(), "-c", "import os; os.kill(os.getpid(), 11)")
    assert crashed.returncode == 128 + signal.SIGSEGV
    assert "left no figures" in crashed.stderr


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
    paged = page_run(["--resident", "200"], python(), "-c", script)
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
