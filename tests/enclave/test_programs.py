"""Programs give the same results in the enclave as outside, under every scheme."""

from __future__ import annotations

import random
import re
import subprocess

import pytest
from conftest import SCHEMES, SEVERAL_HARTS, flag_values

OWN = ["random_writes", "sha_256", "avl_tree", "lbm", "recommender"]


@pytest.mark.parametrize("scheme", SCHEMES, ids=flag_values)
@pytest.mark.parametrize("name", OWN)
def test_a_program_answers_as_outside(run, programs, outside, name, scheme):
    expected = subprocess.run([outside, "small", name], capture_output=True, text=True, check=True)
    # Fewer faults for slow schemes: per fault Path ORAM moves fifty times as much as others, and OPAM four times.
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


@pytest.mark.parametrize("way", WAYS, ids=flag_values)
def test_a_program_answers_as_outside_with_intermediary_pages_and_with_another_page_table(run, programs, outside, way):
    expected = subprocess.run([outside, "small", "sha_256"], capture_output=True, text=True, check=True)
    inside = run([*way, "--untrusted", "8MiB", "--resident", "100"], programs, "small", "sha_256")
    assert (inside.returncode, inside.stdout) == (0, expected.stdout), inside.stderr


CIPHERS = ["aes-256-gcm", "aegis-256x2", "aegis-256x4"]


@pytest.mark.parametrize("cipher", CIPHERS)
@pytest.mark.parametrize("scheme", [*SCHEMES[:2], SCHEMES[3], SEVERAL_HARTS[0]], ids=flag_values)
def test_memory_is_right_with_four_levels_under_every_cipher(run, small, scheme, cipher):
    flags = [*scheme, "--cipher", cipher, "--page-table", "sv48", "--untrusted", "8MiB", "--resident", "12"]
    result = run(flags, small("memory"))
    assert (result.returncode, result.stdout) == (7, "right\n"), result.stderr
    assert int(re.search(r"(\d+) faults with", result.stderr)[1]) > 200 and cipher in result.stderr


def formula(clauses: int) -> str:
    """Returns a random formula with 60 variables: satisfiable with few clauses, unsatisfiable with many."""
    draw = random.Random(7)
    lines = []
    for _ in range(clauses):
        variables = draw.sample(range(1, 61), 3)
        lines.append(" ".join(str(draw.choice([-1, 1]) * variable) for variable in variables) + " 0\n")
    return f"p cnf 60 {clauses}\n" + "".join(lines)


@pytest.mark.parametrize("scheme", [*SCHEMES, SEVERAL_HARTS[1]], ids=flag_values)
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
    # Nearly all pages are resident: this tests the size, and the program computes for long.
    expected = subprocess.run([outside, name], capture_output=True, text=True, check=True)
    resident = {"sha_256": 1200, "lbm": 2640, "random_writes": 1100}.get(name, 600)
    inside = run(["--resident", str(resident)], programs, name)
    assert (inside.returncode, inside.stdout) == (0, expected.stdout), inside.stderr


def verdict(output: str) -> list[str]:
    """Returns the verdict and the assignment, without comments."""
    return [line for line in output.splitlines() if line[:2] in ("s ", "v ")]


def test_counts_are_the_same_in_every_run(run, programs):
    reports = {
        re.sub(r"[\d.]+ s in the emulator", "", run(["--seed", "1"], programs, "small", "random_writes").stderr) for _ in range(2)
    }
    assert len(reports) == 1, reports
    assert re.search(r"\d{6,} instructions", reports.pop())


def test_counts_of_several_harts_are_the_same_in_every_run_and_add_up(run, small):
    reports = {
        re.sub(r"[\d.]+ s in the emulator", "", run(["--seed", "1", *SEVERAL_HARTS[2]], small("steps"), "40", "3").stderr)
        for _ in range(2)
    }
    assert len(reports) == 1, reports
    text = reports.pop()
    whole = int(re.search(r"(\d+) instructions per fault: ", text)[1])
    shared, longest, handing_over = map(int, re.search(r"(\d+) shared, .* are (\d+); (\d+) to hand over", text).groups())
    side_by_side = int(re.search(r"(\d+) instructions per fault when", text)[1])
    assert longest <= shared <= 4 * longest and shared + handing_over < whole
    # Four pages are sealed, one on each hart. Most of the opened pages were never written, which costs nothing.
    assert 3.9 < shared / longest <= 4
    assert abs(side_by_side - (whole - shared + longest)) <= 2
    # Each share costs two interrupts, and a share of a page costs a hundred times as much.
    assert 0 < handing_over < shared / 50


def test_a_comparison_runs_the_program_twice_and_prints_its_output_once(run, built):
    result = run(["--compare"], built("echo"), "a", input="one\ntwo\n")
    lines = result.stdout.splitlines()
    assert (result.returncode, lines[1:]) == (0, ["argument 1: a", "one", "two"]), result.stderr
    slower = float(re.search(r"with plain encrypted paging: ([\d.]+) times", result.stderr)[1])
    assert 1 < slower < 10


def test_the_whole_program_is_paged(run, built):
    # Fewer pages are resident than its code has: code, data, heap and stack are all evicted.
    result = run(["--resident", "4"], built("steps"), "64", "3")
    assert (result.returncode, result.stdout) == (0, "begun\nright\n"), result.stderr
    assert int(re.search(r"(\d+) faults with", result.stderr)[1]) > 3 * 64
