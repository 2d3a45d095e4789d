"""The bench of the enclave counts the costs of the schemes, and reports why it cannot."""

from __future__ import annotations

import csv
import subprocess
from collections import defaultdict

import pytest


@pytest.fixture
def bench(ameles, runtime, programs, picosat):
    """Runs the bench in little memory, without the wall clock."""

    def bench(*flags) -> subprocess.CompletedProcess[str]:
        words = [ameles, "enclave", "bench", "--runtime", runtime, "--programs", programs, "--picosat", picosat]
        words += ["--rounds", "0", "--no-page-bench", *flags]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=500)

    return bench


def test_a_fault_of_detworam_opens_and_seals_k_plus_1_times_as_many_pages_as_a_plain_one(bench, tmp_path):
    figures = tmp_path / "figures.csv"
    result = bench("--untrusted", "4MiB", "--only", "detworam", "--warm", "2", "--faults", "8", "--csv", figures, "--svg", tmp_path)
    assert result.returncode == 0, result.stderr
    # Only DetWoORAM was measured, so the figures that compare it with other schemes are missing.
    assert "Figure 2" in result.stdout and "Figure 5" not in result.stdout and "Figure 6" not in result.stdout
    assert (tmp_path / "enclave-figure-2.svg").read_text().startswith("<svg")
    assert not (tmp_path / "enclave-figure-6.svg").exists()
    # Without a terminal the bench prints a line per scheme.
    assert [line for line in result.stderr.splitlines() if "now detworam, K = 7" in line]
    ciphers: dict[str, dict[str, int]] = defaultdict(dict)
    with figures.open() as lines:
        for line in csv.DictReader(lines):
            if line["program"] != "geometric mean":
                # The solver runs on two formulas, with 8 faults for each.
                assert line["faults"] == ("16" if line["program"] == "picosat" else "8")
                parts = sum(int(line[part]) for part in ("ciphers", "copies", "system_calls"))
                assert 0 < parts < int(line["instructions"])
                ciphers[line["program"]][line["k"]] = int(line["ciphers"])
    assert len(ciphers) == 6
    for program, of in ciphers.items():
        for k in (3, 7, 15):
            assert of[str(k)] / of[""] == pytest.approx(k + 1, rel=0.02), program


def test_a_program_that_exits_before_the_requested_faults_is_named(bench):
    flags = ["--untrusted", "8MiB", "--resident", "1900", "--only", "eager", "--machines", "1"]
    result = bench(*flags, "--warm", "1000000000", "--faults", "7")
    assert (result.returncode, result.stdout) == (1, ""), result.stderr
    assert "random_writes under plain ended before its fault 1000000007" in result.stderr
