"""An outside process changes untrusted memory at a random moment: the program ends with an error, never an answer."""

from __future__ import annotations

import os
import random
import struct
import time

import pytest
from conftest import SCHEMES, SEVERAL_HARTS
from host import ANSWER_AT, ANSWER_NUMBER_AT, PAGES_AT, REQUEST_NUMBER_AT, STRIDE, EnclaveProgram

# A thorough run has 100.
TIMES = int(os.environ.get("AMELES_TAMPERINGS", "24"))
# Room for the program under the scheme that needs most. A larger tree would only be higher.
ROOM = ["--untrusted", "1MiB"]
# Path ORAM takes as long as ten others, so one in twenty is under it.
PATH = ["--scheme", "path"]
OTHERS = [scheme for scheme in SCHEMES if scheme != PATH]
KINDS = ["forge", "swap", "replay", "erase"]
# Fewer faults than load the solver.
LOADING = 110


def forge(running: EnclaveProgram, draw: random.Random) -> None:
    """Changes a bit of every slot that was written."""
    for at in running.written_slots():
        running.memory[at + draw.randrange(STRIDE - 48)] ^= 1 << draw.randrange(8)


def swap(running: EnclaveProgram, _: random.Random) -> None:
    """Puts each slot into the place of the next."""
    written_slots = running.written_slots()
    slots = [running.memory[at : at + STRIDE] for at in written_slots]
    for at, slot in zip(written_slots, slots[1:] + slots[:1], strict=True):
        running.memory[at : at + STRIDE] = slot


def replay(running: EnclaveProgram, draw: random.Random) -> None:
    """Brings all slots back as they were a little earlier."""
    earlier = running.memory[PAGES_AT : running.pages_end]
    time.sleep(draw.random() / 5)

    def changed() -> int:
        now = running.memory[PAGES_AT : running.pages_end]
        return sum(now[at : at + 16] != earlier[at : at + 16] for at in range(0, len(now), STRIDE))

    # Few slots might all be written once more before any of them is read.
    running.wait_for(lambda: changed() > 20)
    running.memory[PAGES_AT : running.pages_end] = earlier


def erase(running: EnclaveProgram, _: random.Random) -> None:
    """Writes zeros over everything."""
    running.memory[PAGES_AT : running.pages_end] = bytes(running.pages_end - PAGES_AT)


@pytest.mark.parametrize("number", range(TIMES))
def test_tampering_at_a_random_moment_is_caught(start, small, number):
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
    # It goes through all of its pages again and again, and would say so if it found one that is wrong.
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
    # It stands still after each fault, so the moment is known.
    running = start([*scheme, "--untrusted", "4MiB", "--faults", "1000000"], picosat, way="watch")
    with running.at_fault(draw.randrange(20, 60)):
        assert running.faults < LOADING
        globals()[draw.choice(["forge", "swap", "erase"])](running, draw)
    code, output, errors = running.wait_for_exit()
    assert code == 3 and output == "", (code, output, errors)
    assert "tampered" in errors


@pytest.mark.parametrize("number", range(12))
def test_a_single_bit_is_caught_or_nothing_that_the_program_reads(start, small, number):
    draw = random.Random(1000 + number)
    scheme = draw.choice(["plain", "detworam", "opam", "path"])
    running = start(["--scheme", scheme, *ROOM], small("steps"), "40", "3" if scheme == "path" else "20")
    running.wait_for(lambda: len(running.written_slots()) > 30)
    written_slots = running.written_slots()
    running.memory[draw.choice(written_slots) + draw.randrange(STRIDE - 48)] ^= 1 << draw.randrange(8)
    code, output, errors = running.wait_for_exit()
    assert code == 3 and output in ("", "begun\n") or (code, output) == (0, "begun\nright\n"), errors


def test_an_answer_that_no_honest_host_gives_ends_the_program(start, built):
    running = start([], built("speaks"))
    # It waits for input, which never comes from the command: the outsider is first.
    running.wait_for(lambda: running.word(REQUEST_NUMBER_AT) > running.word(ANSWER_NUMBER_AT))
    time.sleep(0.3)
    struct.pack_into("<QQQ", running.memory, ANSWER_AT, 1, 1 << 40, 0)
    struct.pack_into("<Q", running.memory, ANSWER_NUMBER_AT, running.word(REQUEST_NUMBER_AT))
    # Its input stays open, so that the command has nothing to answer with.
    running.process.wait(timeout=500)
    code, _, errors = running.wait_for_exit()
    assert code == 3, errors
