"""The untrusted memory of a program in the enclave, as any other process of the same user can map it."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The layout of untrusted memory (`paging/enclave-boundary/src/map.rs`).
REQUEST_NUMBER_OFFSET = 0x000
REQUEST_OFFSET = 0x040
ANSWER_NUMBER_OFFSET = 0x080
ANSWER_OFFSET = 0x0C0
EXIT_LENGTH_OFFSET = 0x100
PAGES_OFFSET = 0x40000
HOST_BYTES = 0x10000
# The bytes from one sealed page to the next.
STRIDE = 4096 + 64


class EnclaveProgram:
    """A running program in the enclave, and its untrusted memory."""

    def __init__(self, words: list[str | Path], **more) -> None:
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")} | more
        self.process = subprocess.Popen(words, **pipes)
        self.memory = self._map()

    def _map(self) -> mmap.mmap:
        """Maps the memory. Its file is open in the process and is found by its name."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            for file in self._files():
                try:
                    if "ameles-untrusted" in os.readlink(file):
                        with file.open("r+b") as opened:
                            return mmap.mmap(opened.fileno(), 0)
                # The file was closed meanwhile, or has no length yet.
                except (OSError, ValueError):
                    continue
            time.sleep(0.002)
        self.process.kill()
        _, errors = self.process.communicate()
        raise AssertionError(f"the program has no untrusted memory: {errors}")

    def _files(self) -> list[Path]:
        try:
            return list(Path(f"/proc/{self.process.pid}/fd").iterdir())
        except OSError:
            return []

    def word(self, at: int) -> int:
        """Returns the eight bytes at an offset."""
        return struct.unpack_from("<Q", self.memory, at)[0]

    @property
    def pages_end(self) -> int:
        """The end of the area for sealed pages."""
        return len(self.memory) - HOST_BYTES

    def written_slots(self) -> list[int]:
        """Returns the offsets of the slots that were written."""
        slots = range(PAGES_OFFSET, self.pages_end - STRIDE, STRIDE)
        return [at for at in slots if any(self.memory[at : at + 16])]

    @property
    def faults(self) -> int:
        """The number of faults so far, if the program reports each fault to the command."""
        return self.word(REQUEST_OFFSET + 16) if self.word(REQUEST_NUMBER_OFFSET) else 0

    @contextmanager
    def at_fault(self, number: int) -> Iterator[None]:
        """Stops the command at about this fault, so that the machine waits at the next fault."""
        self.wait_for(lambda: self.faults >= number)
        self.process.send_signal(signal.SIGSTOP)
        try:
            self.wait_for(lambda: self.word(REQUEST_NUMBER_OFFSET) > self.word(ANSWER_NUMBER_OFFSET))
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def wait_for(self, what, seconds: float = 180) -> None:
        """Waits until a condition is true. The program must still run."""
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, "the condition does not become true"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.001)

    def wait_for_exit(self, seconds: float = 180) -> tuple[int, str, str]:
        """Waits until the program exits. Returns its exit code and the text on both streams."""
        output, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, output.decode(), errors.decode()

    def kill(self) -> None:
        """Kills the program."""
        self.process.kill()
        self.process.communicate()
