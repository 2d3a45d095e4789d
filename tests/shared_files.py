"""A file that is made once in a run of tests, whichever of its processes is the first to want it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of this run that all of its processes have."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    folder.mkdir(exist_ok=True)
    return folder


def make_once(path: Path, make: Callable[[Path], object]) -> Path:
    """Has a file made where it is not there yet. Who comes meanwhile waits."""
    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            # Under another name until it is whole.
            unfinished = path.with_name(f"unfinished-{path.name}")
            make(unfinished)
            unfinished.rename(path)
    return path
