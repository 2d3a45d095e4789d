"""The numbers of rounds of the tests in this folder."""

from __future__ import annotations

import os

import pytest


def shares(variable: str, usual: dict[str, int]) -> list:
    """Returns a parameter set for each case: its name and its number of rounds.

    These are the usual numbers, or equal shares of the number in the environment variable. Cases without rounds are
    left out.
    """
    total = int(os.environ.get(variable, 0))
    rounds = {case: (total + nth) // len(usual) for nth, case in enumerate(usual)} if total else usual
    return [
        pytest.param(case, number, id=f"{case}-{number}", marks=pytest.mark.timeout(300 + 120 * number))
        for case, number in rounds.items()
        if number
    ]
