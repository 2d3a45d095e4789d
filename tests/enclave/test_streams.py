"""Arguments, environment and standard streams reach the program, and its exit code is returned."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest


def test_arguments_and_streams_are_handed_through(run, built):
    program = built("echo")
    result = run([], program, "two words", "", "-x", input="hello\nworld\n")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"argument 0: {program}\nargument 1: two words\nargument 2: \nargument 3: -x\nhello\nworld\n"
    assert result.stderr.startswith("HELLO\nWORLD\n")


def test_a_program_has_no_environment_but_what_is_named(run, built):
    there = os.environ | {"SECRET": "not for it", "NAMED": "here"}
    result = run(["--env", "NAMED", "--env", "OTHER=1=2"], built("echo"), env=there)
    assert re.findall(r"variable: (.*)", result.stdout) == ["NAMED=here", "OTHER=1=2"]


def test_long_input_and_output_go_through_whole(run, built):
    lines = "".join(f"{number:0250}\n" for number in range(1500))
    result = run(["--resident", "32"], built("echo"), input=lines)
    assert result.stdout.split("\n", 1)[1] == lines


def test_input_may_come_late(start, built):
    running = start([], built("echo"))
    time.sleep(1)
    running.process.stdin.write(b"late\n")
    running.process.stdin.close()
    running.process.stdin = None
    code, output, errors = running.wait_for_exit()
    assert code == 0 and output.endswith("late\n"), errors


def machine_of(running) -> int:
    """Returns the emulator's process."""
    children = subprocess.run(["pgrep", "-P", str(running.process.pid)], capture_output=True, text=True, check=True)
    return int(children.stdout)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP], ids=lambda by: by.name)
@pytest.mark.parametrize("from_terminal", [False, True], ids=["alone", "from-terminal"])
def test_a_signal_ends_the_machine_and_the_command(start, built, by, from_terminal):
    running = start(["--scheme", "plain"], built("steps"), "8", "0", start_new_session=True)
    running.wait_for(running.written_slots)
    machine = machine_of(running)
    # A terminal sends the signal to all processes of the job.
    if from_terminal:
        os.killpg(running.process.pid, by)
    else:
        running.process.send_signal(by)
    code, _, errors = running.wait_for_exit()
    assert (code, errors) == (128 + by, "")
    with pytest.raises(ProcessLookupError):
        os.kill(machine, 0)


def test_a_command_that_is_stopped_stops_the_machine_too(start, built):
    running = start(["--scheme", "plain"], built("steps"), "8", "0", start_new_session=True)
    running.wait_for(running.written_slots)
    machine = machine_of(running)

    def state(process: int) -> str:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]

    running.process.send_signal(signal.SIGTSTP)
    running.wait_for(lambda: state(running.process.pid) == state(machine) == "T")
    running.process.send_signal(signal.SIGCONT)
    running.wait_for(lambda: "T" not in {state(running.process.pid), state(machine)})
    running.process.terminate()
    assert running.wait_for_exit()[0] == 128 + signal.SIGTERM


def test_the_machine_ends_when_the_command_is_killed(start, built):
    running = start(["--scheme", "plain"], built("steps"), "8", "0")
    running.wait_for(running.written_slots)
    machine = machine_of(running)
    running.process.kill()
    running.process.wait()
    for _ in range(100):
        try:
            os.kill(machine, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the emulator still runs")


@pytest.mark.parametrize(("way", "code"), [("default", 128 + signal.SIGPIPE), ("ignored", 6), ("handled", 5)])
def test_the_program_learns_that_its_reader_is_gone(enclave, built, way, code):
    reading, writing = os.pipe()
    os.close(reading)
    words = enclave([], built("exits"), "pipe", way)
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert result.returncode == code, result.stderr


def test_the_program_can_read_the_time_only_if_that_is_allowed(run, built):
    denied = run([], built("clock"))
    assert denied.returncode == 1 and "clock_gettime" in denied.stderr, denied.stderr
    allowed = run(["--allow-clock"], built("clock"))
    assert abs(int(allowed.stdout) - time.time()) < 60, allowed.stderr
