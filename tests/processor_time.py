"""Records the processor time of each test and of the programs that it starts, for xtask/src/record.rs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Returns the seconds that this process and its descendants have used, including those that it has waited for."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The fields after the name, which may contain any character.
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has exited
        process = int(file.parent.name)
        children.setdefault(int(fields[1]), []).append(process)
        ticks[process] = sum(map(int, fields[11:15]))
    tree = [os.getpid()]
    for process in tree:
        tree += children.get(process, [])
    return sum(ticks.get(process, 0) for process in tree) / TICKS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Adds a line to the record. Its name is the file and the test, as for tests in Rust."""
    before = processor_seconds()
    result = yield
    line = f"test\t{max(0.0, processor_seconds() - before):.3f}\t{item.path.parent.name}::{item.path.stem} {item.name}\n"
    # One write per line: other processes append at the same time.
    with Path(os.environ["XTASK_RECORD"]).open("ab", buffering=0) as record:
        record.write(line.encode())
    return result
