"""Files that one process of a test run makes and all of its processes use."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Returns a folder of this run that all of its processes share."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    folder.mkdir(exist_ok=True)
    return folder


def make_once(path: Path, make: Callable[[Path], object]) -> Path:
    """Calls `make` if there is no such file yet, and returns its path. Other processes wait meanwhile."""
    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            # The file gets its name when it is complete.
            unfinished = path.with_name(f"unfinished-{path.name}")
            make(unfinished)
            unfinished.rename(path)
    return path
