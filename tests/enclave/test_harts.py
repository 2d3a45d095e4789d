"""Harts of the enclave in unusual interleavings, which a debugger causes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from debugger import A1, PC, Debugger, debugger_environment
from host import EnclaveProgram

HARTS = 3
WAIT_FOR_INTERRUPT = bytes.fromhex("73005010")


def entry(runtime: Path) -> int:
    """Returns the address of the runtime's first instruction."""
    return int.from_bytes(runtime.read_bytes()[24:32], "little")


def output(words: list[str | Path]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def symbol(runtime: Path, compiler: Path, name: str) -> int:
    """Returns the address of a symbol of the runtime."""
    nm = output([compiler, "-print-prog-name=nm"]).strip()
    listed = output([nm, runtime])
    return next(int(place, 16) for place, _, symbol_name in map(str.split, listed.splitlines()) if symbol_name == name)


@pytest.fixture
def debugged(start, runtime, built, uncounted, tmp_path):
    """Starts a program with several harts, under a debugger."""

    def debugged(*rounds: str) -> tuple[EnclaveProgram, Debugger]:
        environment, server = debugger_environment(tmp_path)
        flags = ["--scheme", "parallel", "--harts", str(HARTS), "--untrusted", "4MiB", *uncounted]
        running = start(flags, built("steps"), "40", *rounds, env=environment)
        return running, Debugger(server, HARTS + 1)

    return debugged


@pytest.mark.parametrize("hart", range(1, HARTS))
def test_a_hart_that_boots_the_firmware_waits_for_its_place(debugged, runtime, hart):
    running, debugger = debugged("2")
    debugger.start_firmware_on(hart, entry(runtime))
    debugger.detach()
    code, output, errors = running.wait_for_exit()
    assert (code, output) == (0, "begun\nright\n"), errors


def test_a_hart_that_gets_its_place_just_before_it_waits_is_woken(debugged, runtime, compiler):
    running, debugger = debugged("2")
    debugger.start_firmware_on(2, entry(runtime))
    late = debugger.run_to(entry(runtime) + debugger.read(entry(runtime), 256).index(WAIT_FOR_INTERRUPT))

    place = symbol(runtime, compiler, "ameles_enclave_places") + 8 * late
    while not any(debugger.read(place, 8)):
        debugger.resume(without=late)
        debugger.halt()
    # The first hart interrupts it meanwhile, and runs as far as it can alone.
    for _ in range(5):
        debugger.resume(without=late)
        debugger.halt()
    debugger.detach()
    code, output, errors = running.wait_for_exit()
    assert (code, output) == (0, "begun\nright\n"), errors


def test_a_hart_that_starts_at_the_place_of_the_first_finds_its_own(debugged, runtime, compiler):
    running, debugger = debugged("2")
    hart = debugger.run_to(symbol(runtime, compiler, "ameles_enclave_hart_start"))
    # OpenSBI 1.1 does this if the hart is faster than the one that starts it.
    debugger.set_register(hart, PC, entry(runtime))
    debugger.set_register(hart, A1, 0)
    debugger.detach()
    code, output, errors = running.wait_for_exit()
    assert (code, output) == (0, "begun\nright\n"), errors


@pytest.mark.parametrize("hart", range(1, HARTS))
def test_a_hart_that_traps_ends_the_run_with_an_error(debugged, runtime, hart):
    running, debugger = debugged("0")
    debugger.resume()
    assert running.process.stdout.readline() == b"begun\n"
    debugger.halt()
    # The hart may be in the firmware.
    while debugger.register(hart, PC) < entry(runtime):
        debugger.resume()
        debugger.halt()
    debugger.set_register(hart, PC, 0)
    debugger.detach()
    code, _, errors = running.wait_for_exit()
    assert code == 1
    assert "the runtime was trapped, with cause 1, at 0x0" in errors
