"""Stacks of threads are paged, however the threads end."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import SCHEMES
from test_programs import faults

FOLDER = Path(__file__).parent / "threads"


@pytest.fixture
def run_program(page_run, build_checked):
    """Runs one of the C programs of `threads/` paged; it must be content, as it is unpaged."""

    def run(name: str, *flags: str, words: list[str]) -> str:
        paged = page_run(flags, build_checked(FOLDER / f"{name}.c"), *words)
        assert (paged.stdout, paged.returncode) == ("content\n", 0), paged.stderr
        return paged.stderr

    return run


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_lies_on_stacks_is_nowhere_in_the_clear(run_program, scheme):
    report = run_program("stacks", "--resident", "24", "--scheme", scheme, "--untrusted", "32MiB", words=["0"])
    # Three threads go down a MiB, four times.
    assert faults(report)[1] > 3 * 4 * 200, report


def test_stacks_that_do_not_fit_are_told_and_lie_in_the_clear_from_there_on(run_program):
    report = run_program("stacks", "--resident", "16", "--untrusted", "1200KiB", words=["-1"])
    assert "a stack has grown beyond the paged memory" in report, report
    paged, all_of_it = map(float, re.search(r"paged ([\d.]+) of ([\d.]+) MiB", report).groups())
    # Three stacks of more than a MiB each.
    assert paged < 1 and 2.5 < all_of_it < 5, report


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_thousand_threads_end_in_every_way(run_program, scheme):
    report = run_program("endings", "--resident", "32", "--scheme", scheme, "--untrusted", "32MiB", words=["1000"])
    assert faults(report)[1] > 1000, report


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_a_thread_may_ask_for_anything_wherever_its_stack_is_absent(run_program, scheme):
    report = run_program("at_every_depth", "--resident", "24", "--scheme", scheme, "--untrusted", "128MiB", words=[])
    assert faults(report)[1] > 300 * 90, report


def test_nobody_who_serves_faults_waits_for_a_thread_whose_stack_ends_anywhere(run_program):
    run_program("fresh", "--resident", "24000", "--scheme", "detworam", "--untrusted", "192MiB", words=[])


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_where_stacks_were_other_memory_stays_what_it_is(run_program, scheme):
    run_program("unmapped", "--resident", "64", "--scheme", scheme, words=[])


WAYS = ["alone", "returns", "exits", "together", "cancelled", "joins", "standard", "bare", "mixed", "unseen"]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_ends_with_its_last_thread_however_that_ends(page_run, build_checked, way):
    program = build_checked(FOLDER / "last_thread.c")
    unpaged = subprocess.run([program, way], capture_output=True, text=True, check=False, timeout=60)
    paged = page_run(["--resident", "16"], program, way)
    assert (paged.stdout, paged.returncode) == (unpaged.stdout, unpaged.returncode), paged.stderr
    # What lay in the clear is known although the first thread is no more.
    assert way == "unseen" or re.search(r"paged [\d.]+ of [\d.]+ MiB", paged.stderr), paged.stderr
