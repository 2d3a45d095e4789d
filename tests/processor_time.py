"""Notes the processor time of each test, with that of the programs that it runs or asks: xtask/src/record.rs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """The seconds that this process and all below it have used, those that ended and were waited for included."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name, which may have anything in it.
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        process = int(file.parent.name)
        children.setdefault(int(fields[1]), []).append(process)
        ticks[process] = sum(map(int, fields[11:15]))
    tree = [os.getpid()]
    for process in tree:
        tree += children.get(process, [])
    return sum(ticks.get(process, 0) for process in tree) / TICKS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Adds a line to the record, named as those of other tests are: the file, then the test."""
    before = processor_seconds()
    result = yield
    line = f"test\t{max(0.0, processor_seconds() - before):.3f}\t{item.path.parent.name}::{item.path.stem} {item.name}\n"
    # In one piece: others write at the same time.
    with Path(os.environ["XTASK_RECORD"]).open("ab", buffering=0) as record:
        record.write(line.encode())
    return result
