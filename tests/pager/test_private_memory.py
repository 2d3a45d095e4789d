"""Memory with pages in the clear, positions or keys stays out of core dumps, and out of swap if that is allowed."""

from __future__ import annotations

import ctypes
import resource
import subprocess
from pathlib import Path

import pytest
from test_programs import python

MIB = 1 << 20

# Prints the anonymous private mappings of a program, each with its size and the kernel's flags.
MAPPINGS = """
import re
for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read())[1:]:
    first, *lines = mapping.splitlines()
    addresses, access, _, _, node, *name = first.split()
    start, end = (int(address, 16) for address in addresses.split("-"))
    if access == "rw-p" and node == "0" and not name:
        print(end - start, *next(line for line in lines if line.startswith("VmFlags:")).split()[1:])
"""


def limit_locked_memory(bytes_: int):
    """Returns a function that limits the memory which a new process may lock, also for root."""

    def limit() -> None:
        bounding_set_drop, ipc_lock = 24, 14
        # A process that may not drop the capability does not have it.
        ctypes.CDLL(None).prctl(bounding_set_drop, ipc_lock, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (bytes_, bytes_))

    return limit


@pytest.mark.parametrize(
    ("limit", "flags", "warnings"),
    [
        (MIB, ["--scheme", "detworam"], ["what the pager holds in the clear"]),
        (8 * MIB, ["--scheme", "detworam"], ["the program maps more than may be locked"]),
        (5 * MIB, ["--scheme", "eager"], ["the second process", "the program maps more than may be locked"]),
        (None, ["--scheme", "eager"], []),
    ],
)
def test_memory_that_is_not_kept_out_of_swap_is_reported_once(page_run, tmp_path, limit, flags, warnings):
    if limit is None and not can_lock_any_amount():
        pytest.skip("the user who runs the tests may not lock any amount of memory")
    source, program = tmp_path / "maps.c", tmp_path / "maps"
    source.write_text(
        """
        #include <string.h>
        #include <sys/mman.h>
        int main(void) {
            for (int one = 0; one < 3; one++)
                memset(mmap(0, 20 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 200000);
            return 0;
        }
        """
    )
    subprocess.run(["cc", "-o", program, source], check=True)
    how = {} if limit is None else {"preexec_fn": limit_locked_memory(limit)}
    paged = page_run(["--resident", "64", "--untrusted", "2MiB", *flags], program, **how)
    lines = [line for line in paged.stderr.splitlines() if "ulimit -l" in line]
    assert paged.returncode == 0 and len(lines) == len(warnings), paged.stderr
    for words in warnings:
        assert sum(words in line for line in lines) == 1, paged.stderr


def can_lock_any_amount() -> bool:
    """Returns whether the user who runs the tests may lock any amount of memory."""
    status = Path("/proc/self/status").read_text().split()
    capabilities = int(status[status.index("CapEff:") + 1], 16)
    ipc_lock = 14
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return bool(capabilities >> ipc_lock & 1) or limit == resource.RLIM_INFINITY


def test_the_pagers_own_memory_is_in_no_core_dump_and_in_no_swap(page_run):
    # Without an ORAM the pager has a version of 8 bytes for each page: 4 MiB, more than the stack of its thread.
    pages = 2048 * MIB // (4096 + 64)
    flags = ["--resident", "256", "--scheme", "plain", "--untrusted", "2GiB"]
    paged = page_run(flags, *python(), "-c", MAPPINGS)
    mappings = [(int(size), kernel) for size, *kernel in map(str.split, paged.stdout.splitlines())]
    region = [kernel for size, kernel in mappings if size >= 4096 * pages]
    pager_memory = [kernel for size, kernel in mappings if 8 * pages <= size < 4096 * pages]
    assert region and pager_memory, (pages, paged.stdout, paged.stderr)
    for kernel in region + pager_memory:
        assert "dd" in kernel, paged.stdout
        if can_lock_any_amount():
            assert "lo" in kernel, paged.stdout
