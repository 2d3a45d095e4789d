"""A watcher's view of the untrusted memory of the paper's six programs, fault by fault."""

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
# Enough to write each holding slot of 8 MiB, and to refresh each main slot.
FAULTS = 750
FLAGS = ["--resident", str(RESIDENT), "--faults", str(FAULTS)]
SCHEDULED_SCHEMES = [
    ("detworam", []),
    ("parallel", ["--worker", "process"]),
    ("parallel", ["--worker", "threads"]),
    ("eager", ["--worker", "process"]),
    ("eager", ["--worker", "threads"]),
    ("eager-parallel", ["--worker", "process"]),
    ("eager-parallel", ["--worker", "threads"]),
]


@pytest.fixture(scope="module")
def paper_programs(programs, tool, tmp_path_factory) -> dict[str, list[str | Path]]:
    """The paper's programs. The solver is there once for each formula."""
    own_programs = ["random_writes", "sha_256", "avl_tree", "lbm", "recommender"]
    started: dict[str, list[str | Path]] = {name: [programs, name] for name in own_programs}
    for instance in ["satisfiable", "unsatisfiable"]:
        formula = tmp_path_factory.mktemp("formulas") / f"{instance}.cnf"
        subprocess.run([programs, "dimacs", instance, formula], check=True)
        started[f"picosat {instance}"] = [tool("picosat"), formula]
    return started


def untrusted(name: str) -> list[str]:
    """Returns the flags for the size of untrusted memory, all of which is compared after each fault."""
    return ["--untrusted", "16MiB" if name == "lbm" else "8MiB"]


Trace = dict[int, list[int]]


def watch(ameles: Path, csv_file: Path, flags: list[str], program: list[str | Path]) -> tuple[Trace, str]:
    """Returns the slots that changed at each fault, and the command's report."""
    words = [ameles, "page", "watch", *FLAGS, *flags, "--csv", csv_file, "--", *program]
    finished = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode == 0, finished.stderr
    trace: Trace = defaultdict(list)
    with csv_file.open() as lines:
        for line in csv.DictReader(lines):
            trace[int(line["fault"])].append(int(line["slot"]))
    return trace, finished.stderr


def scheduled(main: int, holding: int):
    """Yields the slots of each write in turn, by the paper's formula."""
    for write in count():
        refreshed = range(write * main // holding, (write + 1) * main // holding)
        yield [main + write % holding, *(slot % main for slot in refreshed)]


@pytest.mark.parametrize(("scheme", "worker_flags"), SCHEDULED_SCHEMES)
def test_every_program_changes_exactly_the_slots_of_the_schedule(ameles, paper_programs, tmp_path, scheme, worker_flags):
    for k, programs in [("3", paper_programs), ("7", {"random_writes": paper_programs["random_writes"]})]:
        for name, program in programs.items():
            flags = [*untrusted(name), "--scheme", scheme, "--k", k, *worker_flags, "--end"]
            trace, report = watch(ameles, tmp_path / "seen.csv", flags, program)
            assert f"watched {FAULTS} faults with {FAULTS - RESIDENT} evictions" in report, (name, report)
            assert "exactly the slots of the deterministic schedule" in report, (name, report)
            areas = re.search(r"(\d+) main and (\d+) holding slots", report)
            assert areas and int(areas[1]) > int(areas[2]) > 100, report
            writes = scheduled(int(areas[1]), int(areas[2]))
            if scheme.startswith("eager"):
                assert_order(name, trace, writes)
            else:
                expected = {fault: sorted(next(writes)) for fault in range(RESIDENT + 1, FAULTS + 1)}
                assert trace == expected, name


def assert_order(name, trace: Trace, writes) -> None:
    """Checks that slots change in the order of the writes: the next write does what an eager write leaves undone."""
    due: list[int] = []
    for fault in range(1, FAULTS + 1):
        before = len(due)
        if fault > RESIDENT:
            due += next(writes)
        changed = trace.get(fault, [])
        assert sorted(due[: len(changed)]) == changed, (name, fault)
        assert len(changed) >= before, (name, fault)
        due = due[len(changed) :]


def test_under_plain_every_program_and_every_input_shows_another_sequence(ameles, paper_programs, tmp_path):
    sequences = {}
    for name, program in paper_programs.items():
        flags = [*untrusted(name), "--scheme", "plain", "--end"]
        trace, report = watch(ameles, tmp_path / "seen.csv", flags, program)
        assert "a watcher learns when" in report, report
        # Each fault changes one slot, that of the evicted page.
        assert set(trace) == set(range(RESIDENT + 1, FAULTS + 1)), name
        assert {len(slots) for slots in trace.values()} == {1}, name
        sequences[name] = [slots[0] for slots in trace.values()]
    for one, other in combinations(paper_programs, 2):
        assert sequences[one] != sequences[other], (one, other)


def test_the_program_runs_on_after_the_watch_with_the_same_answers(ameles, programs, tmp_path):
    unpaged = subprocess.run([programs, "random_writes"], capture_output=True, text=True, check=True)
    picture = tmp_path / "seen.svg"
    words = ["page", "watch", *FLAGS, *untrusted("random_writes"), "--scheme", "detworam", "--svg", picture, "--", programs, "random_writes"]
    watched = subprocess.run([ameles, *words], capture_output=True, text=True, check=False, timeout=120)
    assert (watched.stdout, watched.returncode) == (unpaged.stdout, 0), watched.stderr
    assert re.search(rf"watched {FAULTS} of 1\d{{4}} faults", watched.stderr), watched.stderr
    drawn = ElementTree.parse(picture).getroot()
    paths = {path.get("class"): path.get("d", "") for path in drawn.iter("{http://www.w3.org/2000/svg}path")}
    assert paths["main"].count("M") > 100 and paths["holding"].count("M") > 100


def test_an_impossible_watch_is_refused_in_a_sentence(ameles, tmp_path):
    def run_watch(*words: str) -> subprocess.CompletedProcess[str]:
        called = [ameles, "page", "watch", *words]
        return subprocess.run(called, capture_output=True, text=True, check=False, timeout=60)

    for flag in ["--svg", "--csv"]:
        nowhere = str(tmp_path / "no" / "where")
        refused = run_watch(flag, nowhere, "--", "echo", "began")
        assert refused.returncode == 2 and "began" not in refused.stdout, refused
        assert flag in refused.stderr and nowhere in refused.stderr, refused.stderr
    assert run_watch("--", "sh", "-c", "exit 7").returncode == 7
    resident = run_watch("--scheme", "detworam", "--", "true")
    assert resident.returncode == 0 and "no page was evicted" in resident.stderr, resident.stderr
    small = run_watch("--untrusted", "1KiB", "--", "true")
    assert small.returncode == 2 and "nothing to watch" in small.stderr, small.stderr
