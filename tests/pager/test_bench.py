"""`ameles page bench` measures every program in every configuration, for the same number of faults."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import SCHEMES

PROGRAMS = ["random_writes", "sha_256", "avl_tree", "picosat", "lbm", "recommender"]
WITH_RATIO = {"detworam", "eager", "parallel", "eager-parallel"}
CONFIGURATIONS = {
    (scheme, k) for scheme in SCHEMES for k in (["3", "7", "15"] if scheme in WITH_RATIO else [""])
}
FAULTS = 200


@pytest.fixture(scope="module")
def measured(ameles: Path, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the output of a bounded bench."""
    folder = tmp_path_factory.mktemp("bench")
    words = [ameles, "page", "bench", "--quick", "--warm", "100", "--faults", str(FAULTS), "--programs", programs]
    more = ["--csv", folder / "figures.csv", "--svg", folder / "pictures"]
    finished = subprocess.run([*words, *more], capture_output=True, text=True, check=False, timeout=280)
    assert finished.returncode == 0, finished.stderr
    (folder / "table.md").write_text(finished.stdout)
    return folder


def test_every_configuration_has_the_same_faults(measured):
    with (measured / "figures.csv").open() as file:
        rows = list(csv.DictReader(file))
    for program in PROGRAMS:
        of_program = [row for row in rows if row["program"] == program]
        found = [(row["scheme"], row["k"]) for row in of_program]
        assert sorted(found) == sorted(CONFIGURATIONS), program
        # The solver runs on two instances.
        faults = {int(row["faults"]) for row in of_program}
        assert faults == {2 * FAULTS if program == "picosat" else FAULTS}, program
    means = [row for row in rows if row["program"] == "geometric mean"]
    assert {(row["scheme"], row["k"]) for row in means} == CONFIGURATIONS
    for row in rows:
        assert float(row["micros_a_fault"]) > 0 and float(row["slowdown"]) > 0, row
        if row["scheme"] == "plain":
            assert float(row["slowdown"]) == 1, row


def test_the_papers_mean_is_printed_with_the_measured_one(measured):
    with (measured / "figures.csv").open() as file:
        means = [row for row in csv.DictReader(file) if row["program"] == "geometric mean"]
    quoted = {(row["scheme"], row["k"]): row["paper_slowdown"] for row in means}
    assert (quoted["path", ""], quoted["opam", ""], quoted["detworam", "15"]) == ("27", "7.4", "3.24")
    assert quoted["plain", ""] == quoted["eager-parallel", "3"] == ""
    table = (measured / "table.md").read_text()
    for scheme in SCHEMES:
        assert f"| {scheme} " in table, table


@pytest.mark.parametrize(
    ("figure", "schemes"),
    [
        ("figure-2.svg", ["path", "opam", "detworam"]),
        ("figure-5.svg", ["detworam", "eager"]),
        ("figure-6.svg", ["detworam", "parallel", "eager-parallel"]),
    ],
)
def test_the_papers_figures_are_drawn(measured, figure, schemes):
    drawn = ElementTree.parse(measured / "pictures" / figure)
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(PROGRAMS) <= set(texts) and "the paper's mean" in texts
    for scheme in schemes:
        assert any(text.startswith(scheme) for text in texts), (scheme, texts)


def test_a_program_with_too_few_faults_is_named(ameles, programs):
    words = [ameles, "page", "bench", "--quick", "--warm", "0", "--faults", "1000000", "--programs", programs]
    finished = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 1, finished.stderr
    assert "random_writes" in finished.stderr and "--faults" in finished.stderr, finished.stderr
