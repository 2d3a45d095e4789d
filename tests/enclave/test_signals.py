"""A program's signal handlers run as outside. Only the program itself can send it a signal."""

from __future__ import annotations

import signal

import pytest

FEW_RESIDENT = ["--untrusted", "16MiB", "--resident", "8"]
# A stack has 8 MiB. Most of it is resident, so that it overflows soon.
MOSTLY_RESIDENT = ["--untrusted", "16MiB", "--resident", "1500"]


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
    result = run(FEW_RESIDENT, built("signals"), way)
    assert (result.returncode, result.stdout) == (0, says), result.stderr


def test_a_stack_that_overflows_is_handled_on_another_stack(run, built):
    result = run(MOSTLY_RESIDENT, built("signals"), "stack")
    assert (result.returncode, result.stdout) == (5, "handled\n"), result.stderr


@pytest.mark.parametrize(
    ("way", "by", "says"),
    [
        ("nowhere", signal.SIGSEGV, ""),
        ("abort", signal.SIGABRT, "handled\n"),
        ("lost", signal.SIGSEGV, ""),
    ],
    ids=["nowhere", "abort", "lost"],
)
def test_a_program_whose_handler_cannot_help_exits(run, built, way, by, says):
    result = run(MOSTLY_RESIDENT if way == "nowhere" else FEW_RESIDENT, built("signals"), way)
    assert (result.returncode, result.stdout) == (128 + by, says), result.stderr
    assert f"ended by signal {by.value}" in result.stderr
