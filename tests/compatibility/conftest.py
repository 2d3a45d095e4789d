"""A public suite of S3 tests against `ameles serve`.

`cargo xtask test --only compatibility` sets up what is needed and runs this. By hand, these variables say where things
are:

AMELES_BIN               the program under test
AMELES_TEST_VERSITYGW    versitygw, whose program holds the suite
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


def program(variable: str) -> Path:
    """The program that a variable names."""
    # A name without a folder is looked for on PATH.
    named = shutil.which(os.environ.get(variable, ""))
    if not named:
        pytest.exit(f"{variable} names no program: run `cargo xtask test --only compatibility`", returncode=2)
    return Path(named).resolve()
