"""A public suite of S3 tests against `ameles serve`.

`cargo xtask test --only compatibility` sets up what is needed and runs this. By hand, these variables say where things
are:

AMELES_BIN               the program under test
AMELES_TEST_VERSITYGW    versitygw, whose program holds the suite
"""

from __future__ import annotations

from pathlib import Path

from run_environment import find_file


def program(variable: str) -> Path:
    """The program that a variable names."""
    return find_file(variable, "compatibility")
