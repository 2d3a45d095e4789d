"""Programs answer in the enclave as they do outside, under every scheme."""

from __future__ import annotations

import random
import re
import subprocess

import pytest
from conftest import SCHEMES, SEVERAL_HARTS

OWN = ["random_writes", "sha_256", "avl_tree", "lbm", "recommender"]


def named(flags: list[str]) -> str:
    return "-".join(flags[1::2])


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize("name", OWN)
def test_a_program_answers_as_outside(run, programs, outside, name, scheme):
    expected = subprocess.run([outside, "small", name], capture_output=True, text=True, check=True)
    # As many faults as prove it: Path ORAM moves fifty times as much as any other at each, and OPAM four times.
    few = {"path": 120, "opam": 60}.get(scheme[1], 40)
    resident = max(few, {"recommender": 140}.get(name, 0))
    inside = run([*scheme, "--untrusted", "8MiB", "--resident", str(resident)], programs, "small", name)
    assert (inside.returncode, inside.stdout) == (0, expected.stdout), inside.stderr
    assert int(re.search(r"(\d+) faults with", inside.stderr)[1]) > 50, inside.stderr


@pytest.mark.parametrize(("name", "harts"), list(zip(OWN, [*SEVERAL_HARTS, SEVERAL_HARTS[0]], strict=True)))
def test_a_program_answers_as_outside_on_several_harts(run, programs, outside, uncounted, name, harts):
    expected = subprocess.run([outside, "small", name], capture_output=True, text=True, check=True)
    resident = {"recommender": "100"}.get(name, "50")
    inside = run([*harts, *uncounted, "--untrusted", "8MiB", "--resident", resident], programs, "small", name)
    assert (inside.returncode, inside.stdout) == (0, expected.stdout), inside.stderr
    assert int(re.search(r"(\d+) faults with", inside.stderr)[1]) > 50, inside.stderr


WAYS = [["--pages", "intermediary"], ["--page-table", "sv48"], ["--pages", "intermediary", "--scheme", "plain"]]


@pytest.mark.parametrize("way", WAYS, ids=named)
def test_a_program_answers_as_outside_by_the_papers_other_way_and_with_another_page_table(run, programs, outside, way):
    expected = subprocess.run([outside, "small", "sha_256"], capture_output=True, text=True, check=True)
    inside = run([*way, "--untrusted", "8MiB", "--resident", "100"], programs, "small", "sha_256")
    assert (inside.returncode, inside.stdout) == (0, expected.stdout), inside.stderr


CIPHERS = ["aes-256-gcm", "aegis-256x2", "aegis-256x4"]


@pytest.mark.parametrize("cipher", CIPHERS)
@pytest.mark.parametrize("scheme", [*SCHEMES[:2], SCHEMES[3], SEVERAL_HARTS[0]], ids=named)
def test_memory_is_right_with_four_levels_under_every_cipher(run, small, scheme, cipher):
    flags = [*scheme, "--cipher", cipher, "--page-table", "sv48", "--untrusted", "8MiB", "--resident", "12"]
    ended = run(flags, small("places"))
    assert (ended.returncode, ended.stdout) == (7, "right\n"), ended.stderr
    assert int(re.search(r"(\d+) faults with", ended.stderr)[1]) > 200 and cipher in ended.stderr


def formula(clauses: int) -> str:
    """A random formula of 60 variables: with few clauses it can be satisfied, with many it cannot."""
    draw = random.Random(7)
    lines = []
    for _ in range(clauses):
        variables = draw.sample(range(1, 61), 3)
        lines.append(" ".join(str(draw.choice([-1, 1]) * variable) for variable in variables) + " 0\n")
    return f"p cnf 60 {clauses}\n" + "".join(lines)


@pytest.mark.parametrize("scheme", [*SCHEMES, SEVERAL_HARTS[1]], ids=named)
@pytest.mark.parametrize(("clauses", "code"), [(150, 10), (500, 20)])
def test_the_solver_answers_as_outside(run, picosat, tmp_path, clauses, code, scheme):
    text = formula(clauses)
    (tmp_path / "formula.cnf").write_text(text)
    expected = subprocess.run(["picosat", tmp_path / "formula.cnf"], capture_output=True, text=True, check=False)
    resident = 100 if "path" in scheme else 60
    inside = run([*scheme, "--untrusted", "8MiB", "--resident", str(resident)], picosat, input=text)
    assert (inside.returncode, expected.returncode) == (code, code), inside.stderr
    assert verdict(inside.stdout) == verdict(expected.stdout)


@pytest.mark.parametrize("name", OWN)
def test_a_program_answers_in_full_size_too(run, programs, outside, name):
    # Nearly all pages are resident: its size is what is new, and it computes for long.
    expected = subprocess.run([outside, name], capture_output=True, text=True, check=True)
    resident = {"sha_256": 1200, "lbm": 2640, "random_writes": 1100}.get(name, 600)
    inside = run(["--resident", str(resident)], programs, name)
    assert (inside.returncode, inside.stdout) == (0, expected.stdout), inside.stderr


def verdict(output: str) -> list[str]:
    """The verdict and the assignment, without comments."""
    return [line for line in output.splitlines() if line[:2] in ("s ", "v ")]


def test_counts_are_the_same_in_every_run(run, programs):
    told = {
        re.sub(r"[\d.]+ s in the emulator", "", run(["--seed", "1"], programs, "small", "random_writes").stderr) for _ in range(2)
    }
    assert len(told) == 1, told
    assert re.search(r"\d{6,} instructions", told.pop())


def test_counts_of_several_harts_are_the_same_in_every_run_and_add_up(run, small):
    told = {
        re.sub(r"[\d.]+ s in the emulator", "", run(["--seed", "1", *SEVERAL_HARTS[2]], small("steps"), "40", "3").stderr)
        for _ in range(2)
    }
    assert len(told) == 1, told
    text = told.pop()
    whole = int(re.search(r"(\d+) instructions per fault: ", text)[1])
    shared, longest, handing_over = map(int, re.search(r"(\d+) shared, .* are (\d+); (\d+) to hand over", text).groups())
    side_by_side = int(re.search(r"(\d+) instructions per fault when", text)[1])
    assert longest <= shared <= 4 * longest and shared + handing_over < whole
    # Four pages are sealed, one on each hart. Most of those that are opened were never written, which takes nothing.
    assert 3.9 < shared / longest <= 4
    assert abs(side_by_side - (whole - shared + longest)) <= 2
    # Each share costs two interrupts, and one of a page takes a hundred times as much.
    assert 0 < handing_over < shared / 50


def test_a_comparison_runs_the_program_twice_and_prints_its_output_once(run, built):
    ended = run(["--compare"], built("speaks"), "a", input="one\ntwo\n")
    lines = ended.stdout.splitlines()
    assert (ended.returncode, lines[1:]) == (0, ["argument 1: a", "one", "two"]), ended.stderr
    slower = float(re.search(r"with plain encrypted paging: ([\d.]+) times", ended.stderr)[1])
    assert 1 < slower < 10


def test_the_whole_program_is_paged(run, built):
    # Fewer pages resident than its code has: data, heap and stack go out with it.
    ended = run(["--resident", "4"], built("steps"), "64", "3")
    assert (ended.returncode, ended.stdout) == (0, "begun\nright\n"), ended.stderr
    assert int(re.search(r"(\d+) faults with", ended.stderr)[1]) > 3 * 64
