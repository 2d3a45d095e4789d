"""A program's own handlers of signals run as outside; a signal comes from the program itself, and from nobody else."""

from __future__ import annotations

import signal

import pytest

FEW = ["--untrusted", "16MiB", "--resident", "8"]
# A stack has 8 MiB: most of it stays, so that it overflows soon.
MOST = ["--untrusted", "16MiB", "--resident", "1500"]


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("raise", "right 20\n"),
        ("blocked", "0 1\n"),
        ("mapped", "1 2\n"),
        ("jump", "50\n"),
        ("pages", "120 40\n"),
        ("skip", "3\n"),
    ],
    ids=lambda value: value.strip(),
)
def test_a_program_goes_on_after_its_handler(run, built, way, says):
    ended = run(FEW, built("handles"), way)
    assert (ended.returncode, ended.stdout) == (0, says), ended.stderr


def test_a_stack_that_overflows_is_handled_on_another_stack(run, built):
    ended = run(MOST, built("handles"), "stack")
    assert (ended.returncode, ended.stdout) == (5, "handled\n"), ended.stderr


@pytest.mark.parametrize(
    ("way", "by", "says"),
    [
        ("nowhere", signal.SIGSEGV, ""),
        ("abort", signal.SIGABRT, "handled\n"),
        ("lost", signal.SIGSEGV, ""),
    ],
    ids=["nowhere", "abort", "lost"],
)
def test_a_program_ends_whose_handler_cannot_help(run, built, way, by, says):
    ended = run(MOST if way == "nowhere" else FEW, built("handles"), way)
    assert (ended.returncode, ended.stdout) == (128 + by, says), ended.stderr
    assert f"ended by signal {by.value}" in ended.stderr
