"""Finds the programs under test and the files that they need, and prepares the process that starts them."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest


def find_file(variable: str, step: str, fallback: str = "") -> Path:
    """Returns the path in an environment variable. A name without a folder is searched for on PATH.

    If there is no such file, the run exits with a message that names the step of `cargo xtask test`.
    """
    value = os.environ.get(variable) or fallback
    path = Path(shutil.which(value) or value)
    if not path.is_file():
        pytest.exit(f"{variable} names no file: run `cargo xtask test --only {step}`", returncode=2)
    return path.resolve()


def restore_signals() -> None:
    """Restores the default action of signals that a shell ignores for its background jobs: children inherit that."""
    for kind in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(kind) == signal.SIG_IGN:
            signal.signal(kind, signal.SIG_DFL)
