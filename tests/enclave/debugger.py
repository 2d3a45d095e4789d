"""The machine under a debugger: it stands still from its first instruction on, and its harts go on one by one.

The emulator has a server of GDB's remote protocol. Harts are numbered from 0 here, and from 1 there.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path

# Registers by their numbers in the protocol.
A1, PC = 11, 32
# The ROM that every hart begins in.
ROM, ROM_BYTES = 0x1000, 0x400
# What the firmware is told lies there: this word, and five words after it the hart that is to start it.
DYNAMIC_INFO_MAGIC = (0x4942534F).to_bytes(8, "little")
WORD_BYTES = 8


def debugger_environment(folder: Path) -> tuple[dict[str, str], Path]:
    """An environment in which the emulator waits for a debugger, and the debugger's socket."""
    server = folder / "debugger"
    emulator = folder / "qemu-system-riscv64"
    emulator.write_text(f'#!/bin/sh\nexec {shutil.which(emulator.name)} "$@" -S -gdb unix:{server},server=on,wait=off\n')
    emulator.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}, server


class Debugger:
    """A connection to the machine. All harts stand still whenever it says nothing else."""

    def __init__(self, server: Path, harts: int) -> None:
        self.harts = range(harts)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self._connect(server)
        self.received = b""
        # The emulator tells single registers to a debugger that has asked for their description.
        self._request("qXfer:features:read:target.xml:0,ffb")

    def _connect(self, server: Path) -> None:
        while True:
            try:
                return self.socket.connect(str(server))
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.01)

    def _send(self, words: str) -> None:
        self.socket.sendall(f"${words}#{sum(words.encode()) % 256:02x}".encode())

    def _receive(self) -> str:
        while b"#" not in self.received or len(self.received.partition(b"#")[2]) < 2:
            more = self.socket.recv(65536)
            if not more:
                # The command has ended the machine before it could say so.
                return "W00"
            self.received += more
        words, _, rest = self.received.partition(b"#")
        self.received = rest[2:]
        self.socket.sendall(b"+")
        return words.lstrip(b"+").removeprefix(b"$").decode()

    def _request(self, words: str) -> str:
        self._send(words)
        return self._receive()

    def read(self, at: int, count: int) -> bytes:
        """Bytes of memory."""
        return bytes.fromhex(self._request(f"m{at:x},{count:x}"))

    def write(self, at: int, what: bytes) -> None:
        """Changes memory, of which the machine's ROM is part."""
        assert self._request(f"M{at:x},{len(what):x}:{what.hex()}") == "OK"

    def register(self, hart: int, number: int) -> int:
        """A register of a hart."""
        assert self._request(f"Hg{hart + 1:x}") == "OK"
        return int.from_bytes(bytes.fromhex(self._request(f"p{number:x}")), "little")

    def set_register(self, hart: int, number: int, value: int) -> None:
        """Changes a register of a hart."""
        assert self._request(f"Hg{hart + 1:x}") == "OK"
        assert self._request(f"P{number:x}={value.to_bytes(8, 'little').hex()}") == "OK"

    def run_to(self, place: int) -> int:
        """Lets all harts go on until one comes to an instruction, and tells which."""
        assert self._request(f"Z1,{place:x},4") == "OK"
        self.resume()
        stopped = self._receive()
        assert stopped.startswith("T05thread:")
        hart = int(stopped.removeprefix("T05thread:").partition(";")[0], 16) - 1
        assert self.register(hart, PC) == place
        assert self._request(f"z1,{place:x},4") == "OK"
        return hart

    def run_to_load(self, place: int) -> bool:
        """Lets all harts go on until one has loaded a byte, and tells whether one did before the machine ended."""
        assert self._request(f"Z3,{place:x},1") == "OK"
        self.resume()
        stopped = self._receive()
        if stopped.startswith("W"):
            return False
        # It stands before the instruction, and would stop there again.
        hart = stopped.removeprefix("T05thread:").partition(";rwatch:")[0]
        assert self._request(f"z3,{place:x},1") == "OK"
        assert self._request(f"vCont;s:{hart}").startswith("T05")
        return True

    def resume(self, without: int | None = None) -> None:
        """Lets all harts go on, or all but one."""
        self._send("vCont" + "".join(f";c:{hart + 1:x}" for hart in self.harts if hart != without))

    def halt(self) -> None:
        """Lets them stand still again, a moment later."""
        time.sleep(0.02)
        self.socket.sendall(b"\x03")
        assert self._receive().startswith("T")

    def detach(self) -> None:
        """Lets all harts go on, without a debugger."""
        self._request("D")
        self.socket.close()

    def start_firmware_on(self, hart: int, place: int) -> None:
        """Has this hart alone start the firmware, up to an instruction behind it. The emulator has named hart 0 for that."""
        dynamic_info = ROM + self.read(ROM, ROM_BYTES).index(DYNAMIC_INFO_MAGIC) + 5 * WORD_BYTES
        self.write(dynamic_info, hart.to_bytes(WORD_BYTES, "little"))
        assert self._request(f"Z1,{place:x},4") == "OK"
        assert self._request(f"vCont;c:{hart + 1:x}").startswith("T05")
        assert self.register(hart, PC) == place
        assert self._request(f"z1,{place:x},4") == "OK"
