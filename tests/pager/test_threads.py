"""The stacks of threads are paged, in every way in which threads exit."""

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
    """Runs a C program of `threads/` paged. It must succeed unpaged and paged."""

    def run(name: str, *flags: str, words: list[str]) -> str:
        paged = page_run(flags, build_checked(FOLDER / f"{name}.c"), *words)
        assert (paged.stdout, paged.returncode) == ("passed\n", 0), paged.stderr
        return paged.stderr

    return run


@pytest.mark.parametrize("scheme", SCHEMES)
def test_data_on_stacks_is_nowhere_in_the_clear(run_program, scheme):
    report = run_program("stacks", "--resident", "24", "--scheme", scheme, "--untrusted", "32MiB", words=["0"])
    # Three threads use a MiB of stack, four times.
    assert faults(report)[1] > 3 * 4 * 200, report


def test_stacks_that_do_not_fit_are_reported_and_the_excess_stays_in_the_clear(run_program):
    report = run_program("stacks", "--resident", "16", "--untrusted", "1200KiB", words=["-1"])
    assert "a stack has grown beyond the paged memory" in report, report
    paged, all_of_it = map(float, re.search(r"paged ([\d.]+) of ([\d.]+) MiB", report).groups())
    # Three stacks of more than a MiB each.
    assert paged < 1 and 2.5 < all_of_it < 5, report


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_thousand_threads_exit_in_every_way(run_program, scheme):
    report = run_program("endings", "--resident", "32", "--scheme", scheme, "--untrusted", "32MiB", words=["1000"])
    assert faults(report)[1] > 1000, report


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_a_thread_may_call_anything_wherever_its_stack_is_absent(run_program, scheme):
    report = run_program("at_every_depth", "--resident", "24", "--scheme", scheme, "--untrusted", "128MiB", words=[])
    assert faults(report)[1] > 300 * 90, report


def test_no_fault_handler_waits_for_a_thread_wherever_its_touched_stack_ends(run_program):
    run_program("touched_end", "--resident", "24000", "--scheme", "detworam", "--untrusted", "192MiB", words=[])


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_files_that_are_mapped_where_stacks_were_keep_their_content(run_program, scheme):
    run_program("unmapped", "--resident", "64", "--scheme", scheme, words=[])


WAYS = ["alone", "returns", "exits", "together", "cancelled", "joins", "standard", "bare", "mixed", "unseen"]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_exits_with_its_last_thread_however_that_exits(page_run, build_checked, way):
    program = build_checked(FOLDER / "last_thread.c")
    unpaged = subprocess.run([program, way], capture_output=True, text=True, check=False, timeout=60)
    paged = page_run(["--resident", "16"], program, way)
    assert (paged.stdout, paged.returncode) == (unpaged.stdout, unpaged.returncode), paged.stderr
    # The report has the share of paged memory although the first thread has exited.
    assert way == "unseen" or re.search(r"paged [\d.]+ of [\d.]+ MiB", paged.stderr), paged.stderr
