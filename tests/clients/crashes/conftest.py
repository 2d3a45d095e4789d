"""Crashes in numbers: what a run has counted is added up at its end.

The variables give the numbers of all tests together. `cargo xtask test --thorough` sets them:

AMELES_KILLS                   kills of a gateway under load
AMELES_LOSSES                  lost trusted folders
AMELES_TAKEOVERS               rounds with two gateways and a standby
AMELES_TAKEOVERS_BY_RESTORE    rounds in which another machine restores the vault
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

COUNT = "count "
"""The start of the name of a property that is a count."""


@pytest.fixture
def counts(record_property: Callable[[str, object], None]):
    """The counts of a test, which are printed and added to those of the others."""
    counts = Counter()
    yield counts
    print(", ".join(f"{name}: {number}" for name, number in counts.items()))
    for name, number in counts.items():
        record_property(COUNT + name, number)


def pytest_terminal_summary(terminalreporter) -> None:
    """Prints the counts of all tests together."""
    total = Counter()
    # The report of a test's teardown has no category, and its counts.
    for report in [report for reports in terminalreporter.stats.values() for report in reports]:
        for name, number in report.user_properties if getattr(report, "when", None) == "teardown" else ():
            if name.startswith(COUNT):
                total[name.removeprefix(COUNT)] += number
    if total:
        terminalreporter.section("crashes")
        for name, number in total.items():
            terminalreporter.write_line(f"{number:9} {name}")
