"""A host on its own hart can access only untrusted memory."""

from __future__ import annotations

import struct
import subprocess

import pytest
from conftest import PROGRAMS, SEVERAL_HARTS
from host import HOST_BYTES, EnclaveProgram

# The processor's numbers for causes of traps.
FETCH, LOAD, STORE = 1, 5, 7
NONE = 2**64 - 1
# The offset of the table in the host's part.
TABLE_OFFSET = 0x8000

# The offset of the firmware's answers from the start of the table.
ANSWERS_OFFSET = 0x7000
# The firmware's answers: to the caller there is no such hart; this hart runs already.
REFUSED, RUNS_ALREADY = [-3, -3], -6
# Harts of the enclave.
HARTS = [(1, []), (4, SEVERAL_HARTS[2])]

PRIVATE = range(0x8000_0000, 0xC000_0000)


@pytest.fixture(scope="module")
def hostile(compiler, tmp_path_factory):
    """The hostile host as position-independent code."""
    folder = tmp_path_factory.mktemp("hostile")
    flags = "-O2 -march=rv64imac_zicsr -mabi=lp64 -mcmodel=medany -ffreestanding -nostdlib -static -Wl,--build-id=none"
    source = PROGRAMS / "hostile_host.c"
    subprocess.run([compiler, *flags.split(), "-Wall", "-Werror", source, "-o", folder / "host.elf"], check=True)
    objcopy = str(compiler).removesuffix("gcc") + "objcopy" if str(compiler).endswith("gcc") else "riscv64-linux-gnu-objcopy"
    subprocess.run([objcopy, "-O", "binary", folder / "host.elf", folder / "host.bin"], check=True)
    return folder / "host.bin"


def table(running: EnclaveProgram) -> list[tuple[int, int, int, int]]:
    """Waits for the host's table. Each row has an address, and the results of load, store and jump."""
    start = len(running.memory) - HOST_BYTES + TABLE_OFFSET
    running.wait_for(lambda: running.word(start) == 1)
    rows = running.word(start + 8)
    return [struct.unpack_from("<4Q", running.memory, start + 16 + 32 * row) for row in range(rows)]


def answers(running: EnclaveProgram) -> list[list[int]]:
    """Returns the firmware's answers for each hart: to a start, to a query of its state, and to an interrupt."""
    start = len(running.memory) - HOST_BYTES + TABLE_OFFSET + ANSWERS_OFFSET
    harts = running.word(start)
    return [list(struct.unpack_from("<8x5q", running.memory, start + 8 + 48 * hart)) for hart in range(harts)]


@pytest.mark.parametrize(("harts", "flags"), HARTS)
def test_a_hostile_host_gets_an_access_fault_everywhere_but_in_untrusted_memory(start, built, hostile, harts, flags):
    running = start([*flags, "--host-program", hostile, "--untrusted", "4MiB"], built("steps"), "64", "0")
    rows = table(running)
    private = [row for row in rows if row[0] in PRIVATE]
    devices = [row for row in rows if row[0] < PRIVATE.start]
    untrusted = [row for row in rows if row[0] >= PRIVATE.stop]
    assert len(private) > 300 and len(devices) > 10 and len(untrusted) > 100
    for address, *causes in private + devices:
        assert causes == [LOAD, STORE, FETCH], f"{address:#x}: {causes}"
    for address, *causes in untrusted:
        assert causes == [NONE] * 3, f"{address:#x}: {causes}"
    # To the host the enclave's harts do not exist. The firmware answers a request to interrupt one, but does not interrupt.
    starts = answers(running)
    assert [hart[:2] for hart in starts] == [REFUSED] * harts + [[RUNS_ALREADY, 0]] + [REFUSED] * (8 - harts)
    # The program still runs: it is not affected.
    assert running.process.poll() is None


@pytest.mark.parametrize(("harts", "flags"), HARTS)
def test_a_hostile_host_does_not_change_the_programs_answers(run, small, hostile, harts, flags):
    result = run([*flags, "--host-program", hostile, "--untrusted", "4MiB"], small("steps"), "64", "10")
    assert (result.returncode, result.stdout) == (0, "begun\nright\n"), result.stderr
