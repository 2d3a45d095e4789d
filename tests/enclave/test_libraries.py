"""Programs run in the enclave with every C library."""

from __future__ import annotations

import pytest

LIBRARIES = ["musl", "picolibc"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_arguments_environment_and_streams_work_with_every_c_library(run, built_with, library):
    program = built_with(library, "echo")
    result = run(["--untrusted", "4MiB", "--env", "ONE=one", "--env", "ONE=two"], program, "a", "b c", input="first\nsecond\n")
    words = [f"argument 0: {program}", "argument 1: a", "argument 2: b c", "variable: ONE=two"]
    assert (result.returncode, result.stdout.splitlines()) == (0, [*words, "first", "second"]), result.stderr
    assert result.stderr.startswith("FIRST\nSECOND\n")


@pytest.mark.parametrize("library", LIBRARIES)
def test_memory_is_paged_with_every_c_library(run, built_with, library):
    result = run(["--untrusted", "4MiB", "--resident", "8"], built_with(library, "steps"), "64", "3")
    assert (result.returncode, result.stdout) == (0, "begun\nright\n"), result.stderr
