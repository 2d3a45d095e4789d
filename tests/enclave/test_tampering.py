"""An outside process changes untrusted memory at a random time: the program exits with an error, without an answer."""

from __future__ import annotations

import os
import random
import struct
import time

import pytest
from conftest import SCHEMES, SEVERAL_HARTS
from host import ANSWER_NUMBER_OFFSET, ANSWER_OFFSET, PAGES_OFFSET, REQUEST_NUMBER_OFFSET, STRIDE, EnclaveProgram

# A thorough run makes 100.
TIMES = int(os.environ.get("AMELES_TAMPERINGS", "24"))
# Enough for the program under every scheme. A larger tree would only be higher.
ROOM = ["--untrusted", "1MiB"]
# Path ORAM takes as long as ten others, so one in twenty is under it.
PATH = ["--scheme", "path"]
OTHERS = [scheme for scheme in SCHEMES if scheme != PATH]
KINDS = ["forge", "swap", "replay", "erase"]
# The solver is still being loaded at this fault.
LOADING = 110


def forge(running: EnclaveProgram, draw: random.Random) -> None:
    """Flips a bit in every written slot."""
    for at in running.written_slots():
        running.memory[at + draw.randrange(STRIDE - 48)] ^= 1 << draw.randrange(8)


def swap(running: EnclaveProgram, _: random.Random) -> None:
    """Rotates the contents of the written slots."""
    written_slots = running.written_slots()
    slots = [running.memory[at : at + STRIDE] for at in written_slots]
    for at, slot in zip(written_slots, slots[1:] + slots[:1], strict=True):
        running.memory[at : at + STRIDE] = slot


def replay(running: EnclaveProgram, draw: random.Random) -> None:
    """Restores an earlier state of all slots."""
    earlier = running.memory[PAGES_OFFSET : running.pages_end]
    time.sleep(draw.random() / 5)

    def changed() -> int:
        now = running.memory[PAGES_OFFSET : running.pages_end]
        return sum(now[at : at + 16] != earlier[at : at + 16] for at in range(0, len(now), STRIDE))

    # If few slots changed, all of them might be overwritten before one is read.
    running.wait_for(lambda: changed() > 20)
    running.memory[PAGES_OFFSET : running.pages_end] = earlier


def erase(running: EnclaveProgram, _: random.Random) -> None:
    """Writes zeros over all slots."""
    running.memory[PAGES_OFFSET : running.pages_end] = bytes(running.pages_end - PAGES_OFFSET)


@pytest.mark.parametrize("number", range(TIMES))
def test_tampering_at_a_random_time_is_caught(start, small, number):
    draw = random.Random(number)
    scheme = PATH if number % 20 == 0 else OTHERS[number % len(OTHERS)]
    kind = KINDS[draw.randrange(len(KINDS))]
    print(f"{scheme}, {kind}, seed {number}")
    assert_caught(start, small, scheme, kind, draw)


@pytest.mark.parametrize("kind", KINDS)
def test_tampering_is_caught_by_whichever_hart_opens_the_page(start, small, uncounted, kind):
    draw = random.Random(kind)
    harts = SEVERAL_HARTS[KINDS.index(kind)]
    assert_caught(start, small, [*harts, *(uncounted if kind != "forge" else [])], kind, draw)


def assert_caught(start, small, flags, kind: str, draw: random.Random) -> None:
    # The program checks all of its pages again and again, and reports a wrong one.
    running = start([*flags, *ROOM], small("steps"), "40", "0")
    assert running.process.stdout.readline() == b"begun\n"
    time.sleep(draw.random() / 5)
    globals()[kind](running, draw)
    code, output, errors = running.wait_for_exit()
    assert code == 3 and output == "", (code, output, errors)
    assert "tampered" in errors


@pytest.mark.parametrize(("number", "scheme"), list(enumerate(SCHEMES)))
def test_tampering_while_the_program_is_being_loaded_is_caught(start, picosat, number, scheme):
    draw = random.Random(2000 + number)
    # The machine waits after each fault, so the time of the change is known.
    running = start([*scheme, "--untrusted", "4MiB", "--faults", "1000000"], picosat, way="watch")
    with running.at_fault(draw.randrange(20, 60)):
        assert running.faults < LOADING
        globals()[draw.choice(["forge", "swap", "erase"])](running, draw)
    code, output, errors = running.wait_for_exit()
    assert code == 3 and output == "", (code, output, errors)
    assert "tampered" in errors


@pytest.mark.parametrize("number", range(12))
def test_a_flipped_bit_is_caught_unless_the_program_does_not_read_it(start, small, number):
    draw = random.Random(1000 + number)
    scheme = draw.choice(["plain", "detworam", "opam", "path"])
    running = start(["--scheme", scheme, *ROOM], small("steps"), "40", "3" if scheme == "path" else "20")
    running.wait_for(lambda: len(running.written_slots()) > 30)
    written_slots = running.written_slots()
    running.memory[draw.choice(written_slots) + draw.randrange(STRIDE - 48)] ^= 1 << draw.randrange(8)
    code, output, errors = running.wait_for_exit()
    assert code == 3 and output in ("", "begun\n") or (code, output) == (0, "begun\nright\n"), errors


def test_an_answer_that_no_honest_host_gives_ends_the_program(start, built):
    running = start([], built("echo"))
    # The program waits for input. The command has none, so the outside process answers first.
    running.wait_for(lambda: running.word(REQUEST_NUMBER_OFFSET) > running.word(ANSWER_NUMBER_OFFSET))
    time.sleep(0.3)
    struct.pack_into("<QQQ", running.memory, ANSWER_OFFSET, 1, 1 << 40, 0)
    struct.pack_into("<Q", running.memory, ANSWER_NUMBER_OFFSET, running.word(REQUEST_NUMBER_OFFSET))
    # The input stays open, so that the command does not answer.
    running.process.wait(timeout=500)
    code, _, errors = running.wait_for_exit()
    assert code == 3, errors
