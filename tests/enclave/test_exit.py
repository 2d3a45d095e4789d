"""A program exits in the enclave as it would outside: with its code, by a signal, or out of memory."""

from __future__ import annotations

import signal

import pytest


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_the_programs_own(run, built, code):
    assert run([], built("exits"), "code", str(code)).returncode == code


@pytest.mark.parametrize(
    ("way", "by"),
    [
        (["abort"], signal.SIGABRT),
        (["signal", "9"], signal.SIGKILL),
        (["signal", "15"], signal.SIGTERM),
        (["null"], signal.SIGSEGV),
        (["text"], signal.SIGSEGV),
        (["jump"], signal.SIGSEGV),
        (["unmapped"], signal.SIGSEGV),
        (["stack"], signal.SIGSEGV),
        (["illegal"], signal.SIGILL),
        (["privileged"], signal.SIGILL),
        # The program may access neither the runtime nor untrusted memory.
        (["kernel"], signal.SIGSEGV),
        (["private"], signal.SIGSEGV),
        (["untrusted"], signal.SIGSEGV),
    ],
    ids=lambda way: "-".join(way) if isinstance(way, list) else "",
)
def test_a_crash_ends_by_its_signal(run, built, way, by):
    # A stack has 8 MiB. Most of it is resident, so that it overflows soon.
    resident = "1500" if way == ["stack"] else "15"
    result = run(["--untrusted", "16MiB", "--resident", resident], built("exits"), *way)
    assert result.returncode == 128 + by, result.stderr
    assert f"ended by signal {by.value}" in result.stderr
    assert result.stdout == ""


def test_a_guard_page_guards(run, built):
    result = run([], built("exits"), "guard")
    assert (result.returncode, result.stdout) == (128 + signal.SIGSEGV, "guarded\n"), result.stderr


@pytest.mark.parametrize("scheme", ["plain", "detworam", "path"])
def test_the_program_gets_an_error_when_memory_is_exhausted(run, built, scheme):
    result = run(["--scheme", scheme, "--untrusted", "2MiB", "--resident", "64"], built("exits"), "memory")
    assert (result.returncode, result.stdout) == (7, "no memory left\n"), result.stderr


def test_a_mapping_that_is_too_large_is_refused(run, built):
    assert run([], built("exits"), "mapping").returncode == 7


def test_a_library_that_gets_no_memory_is_not_reported_as_a_null_pointer(run, built):
    for kib in range(400, 700, 20):
        result = run(["--scheme", "plain", "--untrusted", f"{kib}KiB"], built("exits"), "code", "7")
        # At first there is no room for the program itself, and at the end there is enough for all.
        if result.returncode not in (1, 7):
            assert "out of memory" in result.stderr, result.stderr
            return
    pytest.fail("no size has room for the program and not for its library")
