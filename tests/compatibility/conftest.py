"""A public suite of S3 tests against `ameles serve`.

`cargo xtask test --only compatibility` installs what it needs and runs it. These variables are for a run by hand:

AMELES_BIN               the program under test
AMELES_TEST_VERSITYGW    versitygw, whose program contains the suite
"""

from __future__ import annotations

from pathlib import Path

from run_environment import find_file


def program(variable: str) -> Path:
    """Returns the program in an environment variable."""
    return find_file(variable, "compatibility")
