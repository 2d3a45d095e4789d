"""Notes the processor time of each test, with that of the programs that it waited for: xtask/src/record.rs."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest


def used() -> float:
    """The seconds that this process and those that it waited for have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Adds a line to the record, named as those of other tests are: the file, then the test."""
    before = used()
    result = yield
    line = f"test\t{used() - before:.3f}\t{item.path.parent.name}::{item.path.stem} {item.name}\n"
    # In one piece: others write at the same time.
    with Path(os.environ["XTASK_RECORD"]).open("ab", buffering=0) as record:
        record.write(line.encode())
    return result
