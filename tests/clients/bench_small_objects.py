"""Prints how long rclone takes to copy many small objects up and down, through `ameles serve` and through versitygw.

Both serve a folder of this machine with their default settings, and take turns. Run it by hand on an idle machine
(docs/reference/gateway-figures.md):

    cargo xtask test --only clients
    cargo build --release -p ameles
    .test-env/python/bin/python tests/clients/bench_small_objects.py target/release/ameles
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from programs import Endpoint, Program, first_key, free_ports

TEST_ENV = Path(__file__).parents[2] / ".test-env"


class TimedServer:
    """A server that is measured. `metrics` is the address of its figures, if it counts accesses."""

    def __init__(self, name: str, program: Program, endpoint: Endpoint, metrics: str | None):
        self.name = name
        self.program = program
        self.environment = endpoint.rclone_environment()
        self.metrics = metrics

    def accesses(self) -> int:
        """Returns the number of accesses so far."""
        if self.metrics is None:
            return 0
        text = urllib.request.urlopen(self.metrics, timeout=10).read().decode()
        line = next(line for line in text.splitlines() if line.startswith("ameles_accesses_total "))
        return int(float(line.split()[1]))

    def processor_seconds(self) -> float:
        """Returns the processor time of the server so far."""
        fields = Path(f"/proc/{self.program.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve_ameles(binary: Path, folder: Path, flags: list[str]) -> TimedServer:
    """Starts `ameles serve` over a folder."""
    port, admin = free_ports(2)
    data = folder / "ameles-data"
    command = [str(binary.resolve()), "serve", "--data", str(data), "--swift", "off"]
    command += ["--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}", *flags]
    program = Program(command, folder / "ameles.log")
    program.wait_for(f"http://127.0.0.1:{admin}/healthz")
    endpoint = Endpoint(f"http://127.0.0.1:{port}", *first_key(data / "trusted"))
    return TimedServer("ameles", program, endpoint, f"http://127.0.0.1:{admin}/metrics")


def serve_versitygw(binary: Path, folder: Path) -> TimedServer:
    """Starts versitygw over a folder."""
    (port,) = free_ports(1)
    (folder / "objects").mkdir()
    endpoint = Endpoint(f"http://127.0.0.1:{port}", "bare", "bare-secret")
    command = [str(binary), "--quiet", "--port", f"127.0.0.1:{port}", "--access", endpoint.access_key]
    command += ["--secret", endpoint.secret_key, "posix", str(folder / "objects")]
    program = Program(command, folder / "versitygw.log")
    program.wait_for(endpoint.url)
    return TimedServer("versitygw", program, endpoint, None)


def measure(rclone: Path, server: TimedServer, clients: int, source: str, target: str) -> tuple[float, float, int]:
    """Copies, and returns the seconds, the server's seconds of processor, and its accesses."""
    before = server.processor_seconds(), server.accesses()
    start = time.monotonic()
    command = [str(rclone), "copy", "--transfers", str(clients), source, target]
    subprocess.run(command, env=server.environment, check=True)
    took = time.monotonic() - start
    return took, server.processor_seconds() - before[0], server.accesses() - before[1]


def run(options: argparse.Namespace, folder: Path) -> None:
    """Measures all rounds and prints a table."""
    source = folder / "source"
    source.mkdir()
    for number in range(options.objects):
        (source / f"object-{number:06}").write_bytes(os.urandom(options.bytes))
    servers = [serve_versitygw(options.versitygw, folder)]
    try:
        servers.append(serve_ameles(options.ameles, folder, options.serve))
        times: dict[tuple[str, str], list[tuple[float, float, int]]] = {}
        for round_number in range(options.rounds):
            for server in servers:
                bucket, downloaded = f"ameles:round-{round_number}", folder / "back"
                subprocess.run([str(options.rclone), "mkdir", bucket], env=server.environment, check=True)
                for verb, start, end in (("up", str(source), bucket), ("down", bucket, str(downloaded))):
                    figure = measure(options.rclone, server, options.clients, start, end)
                    times.setdefault((server.name, verb), []).append(figure)
                subprocess.run(["diff", "--recursive", "--brief", str(source), str(downloaded)], check=True)
                shutil.rmtree(downloaded)
    finally:
        for server in servers:
            server.program.stop()
    report(options, times)


def report(options: argparse.Namespace, times: dict[tuple[str, str], list[tuple[float, float, int]]]) -> None:
    """Prints the median of the rounds and the figure of each round."""
    print(f"{options.objects} objects of {options.bytes} bytes, {options.clients} at a time, {options.rounds} rounds")
    print("| | ameles s | its processor s | accesses | versitygw s | ratio | ameles, each | versitygw, each |")
    print("|---|--:|--:|--:|--:|--:|---|---|")
    for verb in ("up", "down"):
        ameles, versitygw = times["ameles", verb], times["versitygw", verb]
        medians = [statistics.median(column) for column in zip(*ameles)]
        base = statistics.median(took for took, _, _ in versitygw)
        each = [" ".join(f"{took:.2f}" for took, _, _ in figures) for figures in (ameles, versitygw)]
        print(
            f"| {verb} | {medians[0]:.2f} | {medians[1]:.2f} | {medians[2]:.0f} | {base:.2f} |"
            f" {medians[0] / base:.2f} | {each[0]} | {each[1]} |"
        )


def main() -> None:
    """Parses the command line."""
    default = next(TEST_ENV.glob("versitygw-*/versitygw"), Path("versitygw"))
    fetched = TEST_ENV / "rclone/usr/bin/rclone"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ameles", type=Path, help="the program under test")
    parser.add_argument("--versitygw", type=Path, default=default)
    parser.add_argument("--rclone", type=Path, default=fetched if fetched.exists() else Path("rclone"))
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=4096)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where to make the folders of both, on the disk that is measured")
    parser.add_argument("--serve", action="append", default=[], help="a further flag for `ameles serve`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run(options, Path(folder))


if __name__ == "__main__":
    main()
