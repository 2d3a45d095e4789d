"""Private data stays private, and data that the host may change meanwhile is read only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from debugger import Debugger, debugger_environment
from host import ANSWER_OFFSET, PAGES_OFFSET, REQUEST_NUMBER_OFFSET, REQUEST_OFFSET, STRIDE, EnclaveProgram

PRIVATE_START, UNTRUSTED_START = 0x8000_0000, 0xC000_0000
# The parts of untrusted memory that are written, without the sealed pages (`paging/enclave-boundary/src/map.rs`).
MAILBOX = [(0x000, 8), (0x040, 32), (0x080, 8), (0x0C0, 32), (0x100, 8), (0x1_0000, 0x1_0000), (0x2_0000, 0x1_0000)]
DATA_OFFSET = 0x2_0000
# The first bytes of the launch package (`paging/enclave-boundary/src/launch.rs`).
PACKAGE = b"AMELESP\x01"
PAGE = 4096
# The request to read standard input.
READ = 2


def sealed_pages(running: EnclaveProgram) -> dict[int, bytes]:
    """Returns the contents of the written slots, by offset."""
    return {at: running.memory[at : at + PAGE] for at in running.written_slots()}


@pytest.mark.parametrize("scheme", ["plain", "detworam"])
def test_no_two_runs_seal_a_page_alike(start, built, scheme):
    snapshots = []
    for _ in range(2):
        running = start(["--scheme", scheme, "--untrusted", "4MiB", "--faults", "1000000"], built("steps"), "40", "9", way="watch")
        with running.at_fault(150):
            snapshots.append(sealed_pages(running))
    both = snapshots[0].keys() & snapshots[1].keys()
    assert len(both) > 40
    assert all(snapshots[0][at] != snapshots[1][at] for at in both)
    # Within a run no two slots are equal either, although most of the program's pages are.
    assert all(len(set(slots.values())) == len(slots) for slots in snapshots)


@pytest.mark.parametrize("flags", [["--scheme", "detworam"], ["--scheme", "parallel", "--harts", "3"]], ids=["detworam", "parallel"])
def test_only_the_known_parts_of_untrusted_memory_are_written(start, built, flags):
    program = built("steps")
    running = start([*flags, "--untrusted", "1MiB"], program, "40", "3")
    code, output, errors = running.wait_for_exit()
    assert (code, output) == (0, "begun\nright\n"), errors
    before = bytearray(running.memory[:PAGES_OFFSET])
    for at, count in MAILBOX:
        before[at : at + count] = bytes(count)
    assert not any(before)
    slots = range(PAGES_OFFSET, running.pages_end - STRIDE, STRIDE)
    empty = [at for at in slots if not any(running.memory[at : at + 16])]
    assert not any(any(running.memory[at : at + STRIDE]) for at in empty)
    assert len(slots) - len(empty) > 40
    # None of the bytes belong to the program, although its code is in the sealed pages.
    everything = running.memory[:]
    code = program.read_bytes()
    pieces = {code[at : at + 32] for at in range(0x1000, len(code) - 32, 0x100)}
    distinctive = [piece for piece in pieces if len(set(piece)) > 12]
    assert len(distinctive) > 500
    assert not any(piece in everything for piece in distinctive)


@pytest.fixture
def debugged(start, built, uncounted, tmp_path):
    """Starts a program under a debugger."""

    def debugged(flags: list[str], program: str, *words: str, way: str = "run") -> tuple[EnclaveProgram, Debugger]:
        environment, server = debugger_environment(tmp_path)
        running = start(["--untrusted", "4MiB", *flags], built(program), *words, env=environment, way=way)
        return running, Debugger(server, 2)

    return debugged


def test_the_launch_package_is_gone_when_the_program_begins(debugged, uncounted):
    running, debugger = debugged(uncounted, "steps", "40", "0")
    places = range(PRIVATE_START, UNTRUSTED_START, 1 << 20)
    package = next(at for at in places if debugger.read(at, len(PACKAGE)) == PACKAGE)
    # The seed is among the options after the header. The program's image follows them.
    assert sum(map(bool, debugger.read(package, 256))) > 60
    debugger.resume()
    assert running.process.stdout.readline() == b"begun\n"
    debugger.halt()
    for at in range(package, package + (256 << 10), 1024):
        assert not any(debugger.read(at, 1024)), hex(at)


def loads(running: EnclaveProgram, debugger: Debugger, place: int, when: Callable[[], object]) -> Counter:
    """Counts the loads of a byte of untrusted memory, by the value of `when` at the time."""
    found: Counter = Counter()
    while debugger.run_to_load(UNTRUSTED_START + place):
        found[when()] += 1
    code, _, errors = running.wait_for_exit()
    assert code == 0, errors
    return found


def debugged_speaker(debugged, uncounted) -> tuple[EnclaveProgram, Debugger]:
    """Starts a program that reads its input to the end and repeats it."""
    running, debugger = debugged(uncounted, "echo", "word")
    running.process.stdin.write(b"a line\n" * 10)
    running.process.stdin.close()
    running.process.stdin = None
    return running, debugger


@pytest.mark.parametrize("nth", [0, 8, 15])
def test_each_answer_of_the_host_is_read_once(debugged, uncounted, nth):
    running, debugger = debugged_speaker(debugged, uncounted)
    found = loads(running, debugger, ANSWER_OFFSET + nth, lambda: running.word(REQUEST_NUMBER_OFFSET))
    assert len(found) > 4 and set(found.values()) == {1}, found


def test_input_from_the_host_is_copied_once(debugged, uncounted):
    running, debugger = debugged_speaker(debugged, uncounted)
    found = loads(running, debugger, DATA_OFFSET, lambda: (running.word(REQUEST_OFFSET), running.word(REQUEST_NUMBER_OFFSET)))
    assert found and set(found.values()) == {1}, found
    assert {kind for kind, _ in found} == {READ}


def test_a_sealed_page_is_copied_once_at_a_fault(debugged):
    running, debugger = debugged(["--scheme", "plain", "--faults", "1000000"], "steps", "40", "3", way="watch")
    slot = PAGES_OFFSET + 5 * STRIDE
    found = loads(running, debugger, slot + 64, lambda: running.faults)
    assert len(found) > 2 and set(found.values()) == {1}, found
