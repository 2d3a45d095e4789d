"""The untrusted memory of a program in the enclave, as the host sees it at each fault."""

from __future__ import annotations

import subprocess
from xml.etree import ElementTree

import pytest

SMALL = ["--untrusted", "1MiB"]


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (["--scheme", "plain"], "a watcher learns when each of these"),
        (["--scheme", "detworam"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "detworam", "--k", "7"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "eager"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "parallel"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "eager-parallel", "--harts", "4"], "exactly the slots of the deterministic schedule"),
        (["--scheme", "opam"], "OPAM is broken"),
    ],
    ids=lambda value: "-".join(value[1::2]) if isinstance(value, list) else "",
)
def test_a_watcher_sees_what_the_scheme_shows_and_no_more(watch, small, flags, verdict):
    trace, report = watch([*SMALL, *flags], small("steps"), "40", "3")
    assert verdict in report, report
    assert len(trace) > 120 and any(trace)


def test_the_machine_exits_after_the_requested_faults_which_are_drawn(ameles, runtime, small, tmp_path):
    picture = tmp_path / "seen.svg"
    words = [ameles, "enclave", "watch", "--runtime", runtime, *SMALL, "--faults", "130", "--end", "--svg", picture]
    result = subprocess.run([*words, "--", small("steps"), "40", "0"], capture_output=True, text=True, check=False)
    assert result.returncode == 0 and "watched 130" in result.stderr, result.stderr
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
