"""The untrusted memory of a program that runs in the enclave, as any other process of the same user has it."""

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
REQUEST_NUMBER_AT = 0x000
REQUEST_AT = 0x040
ANSWER_NUMBER_AT = 0x080
ANSWER_AT = 0x0C0
EXIT_LENGTH_AT = 0x100
PAGES_AT = 0x40000
HOST_BYTES = 0x10000
# The bytes from a sealed page to the next.
STRIDE = 4096 + 64


class EnclaveProgram:
    """A program in the enclave, and its untrusted memory."""

    def __init__(self, words: list[str | Path], **more) -> None:
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")} | more
        self.process = subprocess.Popen(words, **pipes)
        self.memory = self._map()

    def _map(self) -> mmap.mmap:
        """Maps the memory: the file is open in the process, under a name that says what it is."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            for file in self._files():
                try:
                    if "ameles-untrusted" in os.readlink(file):
                        with file.open("r+b") as opened:
                            return mmap.mmap(opened.fileno(), 0)
                # It was closed meanwhile, or it was just made and has no length yet.
                except (OSError, ValueError):
                    continue
            time.sleep(0.002)
        self.process.kill()
        _, said = self.process.communicate()
        raise AssertionError(f"it has no untrusted memory: {said}")

    def _files(self) -> list[Path]:
        try:
            return list(Path(f"/proc/{self.process.pid}/fd").iterdir())
        except OSError:
            return []

    def word(self, at: int) -> int:
        """The eight bytes from there on."""
        return struct.unpack_from("<Q", self.memory, at)[0]

    @property
    def pages_end(self) -> int:
        """The end of what may be sealed pages."""
        return len(self.memory) - HOST_BYTES

    def written_slots(self) -> list[int]:
        """The places of the slots that were written."""
        slots = range(PAGES_AT, self.pages_end - STRIDE, STRIDE)
        return [at for at in slots if any(self.memory[at : at + 16])]

    @property
    def faults(self) -> int:
        """The faults so far, if the command is told of each."""
        return self.word(REQUEST_AT + 16) if self.word(REQUEST_NUMBER_AT) else 0

    @contextmanager
    def at_fault(self, number: int) -> Iterator[None]:
        """Holds the command from about this fault on, so that the machine stands still at the next one."""
        self.wait_for(lambda: self.faults >= number)
        self.process.send_signal(signal.SIGSTOP)
        try:
            self.wait_for(lambda: self.word(REQUEST_NUMBER_AT) > self.word(ANSWER_NUMBER_AT))
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def wait_for(self, what, seconds: float = 180) -> None:
        """Waits until something is true, as long as the program runs."""
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, "it does not come true"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.001)

    def wait_for_exit(self, seconds: float = 180) -> tuple[int, str, str]:
        """The exit code, and the text on both streams, when it has ended by itself."""
        output, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, output.decode(), errors.decode()

    def kill(self) -> None:
        """Ends it, whatever it does."""
        self.process.kill()
        self.process.communicate()
