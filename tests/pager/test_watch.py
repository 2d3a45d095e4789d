"""What a watcher of the untrusted memory sees of the paper's six programs, fault by fault."""

from __future__ import annotations

import csv
import re
import subprocess
from collections import defaultdict
from itertools import combinations, count
from pathlib import Path
from xml.etree import ElementTree

import pytest

RESIDENT = 15
# In 8 MiB each holding slot is written in that time, and each main slot refreshed.
FAULTS = 750
FLAGS = ["--resident", str(RESIDENT), "--faults", str(FAULTS)]
KIN = [
    ("detworam", []),
    ("parallel", ["--worker", "process"]),
    ("parallel", ["--worker", "threads"]),
    ("eager", ["--worker", "process"]),
    ("eager", ["--worker", "threads"]),
    ("eager-parallel", ["--worker", "process"]),
    ("eager-parallel", ["--worker", "threads"]),
]


@pytest.fixture(scope="module")
def six(programs, tool, tmp_path_factory) -> dict[str, list[str | Path]]:
    """The paper's programs; the solver with each of its formulas."""
    own = ["random_writes", "sha_256", "avl_tree", "lbm", "recommender"]
    started: dict[str, list[str | Path]] = {name: [programs, name] for name in own}
    for instance in ["satisfiable", "unsatisfiable"]:
        formula = tmp_path_factory.mktemp("formulas") / f"{instance}.cnf"
        subprocess.run([programs, "dimacs", instance, formula], check=True)
        started[f"picosat {instance}"] = [tool("picosat"), formula]
    return started


def untrusted(name: str) -> list[str]:
    """Room for the program's heap. All of it is looked at after each fault."""
    return ["--untrusted", "16MiB" if name == "lbm" else "8MiB"]


Seen = dict[int, list[int]]


def watch(ameles: Path, csv_file: Path, flags: list[str], program: list[str | Path]) -> tuple[Seen, str]:
    """The slots that changed at each fault, and what the command says of them."""
    words = [ameles, "page", "watch", *FLAGS, *flags, "--csv", csv_file, "--", *program]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    seen: Seen = defaultdict(list)
    with csv_file.open() as lines:
        for line in csv.DictReader(lines):
            seen[int(line["fault"])].append(int(line["slot"]))
    return seen, ended.stderr


def scheduled(main: int, holding: int):
    """The slots of one write after the other, by the paper's formula."""
    for write in count():
        refreshed = range(write * main // holding, (write + 1) * main // holding)
        yield [main + write % holding, *(slot % main for slot in refreshed)]


@pytest.mark.parametrize(("scheme", "beside"), KIN)
def test_every_program_changes_exactly_the_slots_of_the_schedule(ameles, six, tmp_path, scheme, beside):
    for k, programs in [("3", six), ("7", {"random_writes": six["random_writes"]})]:
        for name, program in programs.items():
            flags = [*untrusted(name), "--scheme", scheme, "--k", k, *beside, "--end"]
            seen, said = watch(ameles, tmp_path / "seen.csv", flags, program)
            assert f"watched {FAULTS} faults with {FAULTS - RESIDENT} evictions" in said, (name, said)
            assert "exactly the slots of the deterministic schedule" in said, (name, said)
            areas = re.search(r"(\d+) main and (\d+) holding slots", said)
            assert areas and int(areas[1]) > int(areas[2]) > 100, said
            writes = scheduled(int(areas[1]), int(areas[2]))
            if scheme.startswith("eager"):
                assert_order(name, seen, writes)
            else:
                expected = {fault: sorted(next(writes)) for fault in range(RESIDENT + 1, FAULTS + 1)}
                assert seen == expected, name


def assert_order(name, seen: Seen, writes) -> None:
    """The slots change in the order of the writes; what an eager write leaves undone is done by the next one."""
    due: list[int] = []
    for fault in range(1, FAULTS + 1):
        before = len(due)
        if fault > RESIDENT:
            due += next(writes)
        changed = seen.get(fault, [])
        assert sorted(due[: len(changed)]) == changed, (name, fault)
        assert len(changed) >= before, (name, fault)
        due = due[len(changed) :]


def test_under_plain_every_program_and_every_input_shows_another_sequence(ameles, six, tmp_path):
    sequences = {}
    for name, program in six.items():
        flags = [*untrusted(name), "--scheme", "plain", "--end"]
        seen, said = watch(ameles, tmp_path / "seen.csv", flags, program)
        assert "a watcher learns when" in said, said
        # One slot a fault, that of the page which was evicted.
        assert set(seen) == set(range(RESIDENT + 1, FAULTS + 1)), name
        assert {len(slots) for slots in seen.values()} == {1}, name
        sequences[name] = [slots[0] for slots in seen.values()]
    for one, other in combinations(six, 2):
        assert sequences[one] != sequences[other], (one, other)


def test_the_program_runs_on_unwatched_and_answers_as_ever(ameles, programs, tmp_path):
    unpaged = subprocess.run([programs, "random_writes"], capture_output=True, text=True, check=True)
    picture = tmp_path / "seen.svg"
    words = ["page", "watch", *FLAGS, *untrusted("random_writes"), "--scheme", "detworam", "--svg", picture, "--", programs, "random_writes"]
    watched = subprocess.run([ameles, *words], capture_output=True, text=True, check=False, timeout=120)
    assert (watched.stdout, watched.returncode) == (unpaged.stdout, 0), watched.stderr
    assert re.search(rf"watched {FAULTS} of 1\d{{4}} faults", watched.stderr), watched.stderr
    drawn = ElementTree.parse(picture).getroot()
    paths = {path.get("class"): path.get("d", "") for path in drawn.iter("{http://www.w3.org/2000/svg}path")}
    assert paths["main"].count("M") > 100 and paths["holding"].count("M") > 100


def test_what_cannot_be_watched_is_said_in_a_sentence(ameles, tmp_path):
    def ended(*words: str) -> subprocess.CompletedProcess[str]:
        called = [ameles, "page", "watch", *words]
        return subprocess.run(called, capture_output=True, text=True, check=False, timeout=60)

    for flag in ["--svg", "--csv"]:
        nowhere = str(tmp_path / "no" / "where")
        refused = ended(flag, nowhere, "--", "echo", "began")
        assert refused.returncode == 2 and "began" not in refused.stdout, refused
        assert flag in refused.stderr and nowhere in refused.stderr, refused.stderr
    assert ended("--", "sh", "-c", "exit 7").returncode == 7
    resident = ended("--scheme", "detworam", "--", "true")
    assert resident.returncode == 0 and "no page was evicted" in resident.stderr, resident.stderr
    small = ended("--untrusted", "1KiB", "--", "true")
    assert small.returncode == 2 and "nothing to watch" in small.stderr, small.stderr
