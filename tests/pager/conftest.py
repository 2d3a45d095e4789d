"""Unmodified programs whose heap is paged, compared with the same programs unpaged.

`cargo xtask test --only pager` installs what they need and runs them. These variables are for a run by hand:

AMELES_BIN              the program under test, with libameles_preload.so in the same folder
AMELES_PROGRAMS_BIN     ameles-programs, the paper's six programs
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from run_environment import find_file, restore_signals
from shared_files import make_once, shared_folder

SCHEMES = ["plain", "detworam", "eager", "parallel", "eager-parallel", "path", "opam"]


def pytest_configure() -> None:
    restore_signals()


@pytest.fixture(scope="session")
def ameles() -> Path:
    """The program under test."""
    return find_file("AMELES_BIN", "pager")


@pytest.fixture(scope="session")
def programs() -> Path:
    """The paper's programs."""
    return find_file("AMELES_PROGRAMS_BIN", "pager")


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """Finds a program of the system, which must be installed."""

    def find(name: str) -> str:
        found = shutil.which(name)
        assert found, f"{name} is missing; CONTRIBUTING.md says what the tests need"
        return found

    return find


@pytest.fixture(scope="session")
def build_checked(tmp_path_factory) -> Callable[[Path], Path]:
    """Builds a program from its source once, and checks that it succeeds unpaged."""
    folder = shared_folder(tmp_path_factory, "built")

    def make(source: Path, program: Path) -> None:
        words = ["cc", "-O1", "-Wall", "-Werror", "-pthread", "-o", program, source]
        subprocess.run(words, check=True)
        unpaged = subprocess.run([program], capture_output=True, text=True, check=False)
        assert (unpaged.stdout, unpaged.returncode) == ("passed\n", 0), unpaged.stderr

    return lambda source: make_once(folder / source.stem, lambda program: make(source, program))


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def page_run(ameles: Path) -> Run:
    """Runs a program under `page run` with these flags."""

    def run(flags: list[str], *program: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
        words = [str(ameles), "page", "run", *flags, "--", *map(str, program)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=280, **more)

    return run
