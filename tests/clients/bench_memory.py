"""Prints the memory that `ameles init` states for the whole process, and the peak that was measured.

The bench fills each vault to nine tenths and overwrites it twice, by puts of 1 MiB. Run it by hand. The disk needs room
for six times the largest vault (docs/reference/figures.md):

    cargo xtask test --only clients
    cargo build --release -p ameles
    .test-env/python/bin/python tests/clients/bench_memory.py target/release/ameles 256MiB 1GiB
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from pathlib import Path

from programs import Endpoint, Program, first_key, free_ports

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
PUT = 1 << 20


def parse_size(text: str) -> float:
    """Returns the bytes of a size that Ameles has printed."""
    number, unit = re.fullmatch(r"([\d.]+) ?(\w+)", text).groups()
    return float(number) * UNITS[unit]


def peak(process: int) -> int:
    """Returns the peak resident memory of a process in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) << 10


def measure(binary: Path, capacity: str, flags: list[str]) -> tuple[str, float, int]:
    """Returns the stated memory as text and in bytes, and the measured peak in bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        port, swift, admin = free_ports(3)
        data = folder / "data"
        command = [str(binary.resolve()), "serve", "--data", str(data), "--capacity", capacity, "--log", "warn", *flags]
        command += ["--listen", f"127.0.0.1:{port}", "--swift", f"127.0.0.1:{swift}", "--admin", f"127.0.0.1:{admin}"]
        log = folder / "ameles.log"
        program = Program(command, log)
        try:
            program.wait_for(f"http://127.0.0.1:{admin}/healthz")
            stated = re.search(r"whole process\s+about ([\d.]+ \w+)", log.read_text()).group(1)
            endpoint = Endpoint(f"http://127.0.0.1:{port}", *first_key(data / "trusted"))
            client = endpoint.client()
            client.create_bucket(Bucket="bucket")
            names = int(parse_size(capacity) * 9 // 10) // PUT
            body = os.urandom(PUT)
            for turn in range(3 * names):
                client.put_object(Bucket="bucket", Key=f"{turn % names}", Body=body)
            return stated, parse_size(stated), peak(program.process.pid)
        finally:
            program.stop()


def main() -> None:
    """Measures each capacity on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("capacity", nargs="+")
    parser.add_argument("--serve", action="append", default=[], help="a further flag for `ameles serve`")
    arguments = parser.parse_args()
    print("| capacity | stated | measured, at most | measured ÷ stated |\n|---|--:|--:|--:|")
    for capacity in arguments.capacity:
        stated, stated_bytes, peak_bytes = measure(arguments.binary, capacity, arguments.serve)
        print(f"| {capacity} | {stated} | {peak_bytes / (1 << 20):.0f} MiB | {peak_bytes / stated_bytes:.2f} |", flush=True)


if __name__ == "__main__":
    main()
