"""The untrusted memory of a program in the enclave, as its host sees it at each fault, and what can be guessed from it."""

from __future__ import annotations

import csv
import math
import random
import re
import subprocess
from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path
from xml.etree import ElementTree

import pytest

# A test alarms where the two-sided tail of right guesses by a fair coin is below this.
ALARM = 2.0**-32
Round = list[frozenset[int]]


@pytest.fixture
def watch(lethe, runtime, tmp_path):
    """Watches a program: the slots that changed at each fault, and what the command says."""

    def watch(flags: list[str | Path], *program: str | Path) -> tuple[list[frozenset[int]], str]:
        seen = tmp_path / "seen.csv"
        words = [lethe, "enclave", "watch", "--runtime", runtime, "--faults", "1000000", "--csv", seen, *flags]
        ended = subprocess.run(
            [*words, "--", *program], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=500
        )
        assert ended.returncode == 0, ended.stderr
        faults = int(re.search(r"watched (\d+)", ended.stderr)[1])
        changed: dict[int, set[int]] = defaultdict(set)
        with seen.open() as lines:
            for line in csv.DictReader(lines):
                changed[int(line["fault"])].add(int(line["slot"]))
        return [frozenset(changed[fault]) for fault in range(1, faults + 1)], ended.stderr

    return watch


SMALL = ["--untrusted", "4MiB"]


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (["--scheme", "plain"], "whoever watches knows when each of these"),
        (["--scheme", "detworam"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "detworam", "--k", "7"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "eager"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "parallel"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "eager-parallel", "--harts", "4"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "opam"], "OPAM is broken"),
    ],
    ids=lambda value: "-".join(value[1::2]) if isinstance(value, list) else "",
)
def test_a_watcher_sees_what_the_scheme_shows_and_no_more(watch, built, flags, verdict):
    seen, told = watch([*SMALL, *flags], built("steps"), "40", "3")
    assert verdict in told, told
    assert len(seen) > 120 and any(seen)


def test_faults_that_were_asked_for_end_the_machine_and_are_drawn(lethe, runtime, built, tmp_path):
    picture = tmp_path / "seen.svg"
    words = [lethe, "enclave", "watch", "--runtime", runtime, *SMALL, "--faults", "130", "--end", "--svg", picture]
    ended = subprocess.run([*words, "--", built("steps"), "40", "0"], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0 and "watched 130" in ended.stderr, ended.stderr
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def rounds(watch, built, flags: list[str], leak: str, secrets: str) -> list[Round]:
    """What changed while each secret was used, but for a few faults at the beginning and at the end."""
    program = built("victim")
    none, _ = watch([*SMALL, *flags], program, leak, "")
    whole, _ = watch([*SMALL, *flags], program, leak, secrets)
    each = (len(whole) - len(none)) / len(secrets)
    assert each > 40
    starts = [round(len(none) + each * number) for number in range(len(secrets) + 1)]
    return [whole[start:end] for start, end in zip(starts, starts[1:], strict=False)]


def features(seen: Round) -> set[tuple[int, ...]]:
    """What a guesser may learn from: how often a slot changed, and which of two slots did first."""
    first: dict[int, int] = {}
    times: Counter = Counter()
    for fault, slots in enumerate(seen):
        for slot in slots:
            first.setdefault(slot, fault)
            times[slot] += 1
    found: set[tuple[int, ...]] = set(times.items())
    found |= {(one, other, 0) for one, other in permutations(first, 2) if first[one] < first[other]}
    return found


def right_guesses(secrets: str, seen: list[Round], lessons: int) -> tuple[int, int]:
    """Who knows the first secrets keeps the feature that tells them apart best, and guesses the others by it."""
    known = list(zip(secrets, map(features, seen), strict=True))
    counts: dict[str, Counter] = {"1": Counter(), "2": Counter()}
    runs = Counter(secrets[:lessons])
    for secret, found in known[:lessons]:
        counts[secret].update(found)
    said = {
        feature: counts["1"][feature] / runs["1"] - counts["2"][feature] / runs["2"]
        for feature in counts["1"].keys() | counts["2"].keys()
    }
    best = max(said, key=lambda feature: abs(said[feature]))
    right = sum((secret == "1") == ((best in found) == (said[best] > 0)) for secret, found in known[lessons:])
    return right, len(known) - lessons


def by_chance(right: int, trials: int) -> float:
    """The two-sided tail of so many right guesses by a fair coin."""
    tail = sum(math.comb(trials, count) for count in range(max(right, trials - right), trials + 1))
    return min(1.0, 2 * tail / 2**trials)


def coins(count: int, seed: int) -> str:
    draw = random.Random(seed)
    return "".join(draw.choice("12") for _ in range(count))


@pytest.mark.parametrize("leak", ["load", "evict"])
def test_under_plain_paging_nearly_every_guess_is_right(watch, built, leak):
    secrets = coins(96, 1)
    right, trials = right_guesses(secrets, rounds(watch, built, ["--scheme", "plain"], leak, secrets), 24)
    # Rounds are cut by the number of faults alone, so that one or the other is cut wrongly.
    assert right > 0.9 * trials, f"{right} of {trials}"
    assert by_chance(right, trials) < ALARM


KIN = [
    ["--scheme", "detworam"],
    ["--scheme", "detworam", "--k", "7"],
    ["--scheme", "eager"],
    ["--scheme", "parallel", "--harts", "4"],
]


@pytest.mark.parametrize("flags", KIN)
@pytest.mark.parametrize("leak", ["load", "evict"])
def test_under_detworam_and_its_kin_all_secrets_show_the_same(watch, built, leak, flags):
    program = built("victim")
    shown = [watch([*SMALL, *flags], program, leak, secrets)[0] for secrets in ("1" * 10, "2" * 10, coins(10, 2))]
    assert sum(map(len, shown[0])) > 500
    assert shown[0] == shown[1] == shown[2]


def test_under_detworam_guesses_are_chance(watch, built):
    secrets = coins(96, 3)
    right, trials = right_guesses(secrets, rounds(watch, built, ["--scheme", "detworam"], "evict", secrets), 24)
    assert by_chance(right, trials) > ALARM, f"{right} of {trials}"


def test_the_alarm_finds_a_guesser_who_is_nearly_always_right():
    least = next(right for right in range(36, 73) if by_chance(right, 72) < ALARM)
    unseen = sum(math.comb(72, right) * 0.97**right * 0.03 ** (72 - right) for right in range(least))
    assert unseen < 2**-12
