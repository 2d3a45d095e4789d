"""The machine under a debugger: it is stopped at its first instruction, and its harts run one by one.

The emulator serves GDB's remote protocol. Harts are numbered from 0 here, and from 1 in the protocol.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path

# The numbers of registers in the protocol.
A1, PC = 11, 32
# The ROM in which every hart starts.
ROM, ROM_BYTES = 0x1000, 0x400
# The magic word of the information for the firmware in the ROM. Five words after it is the number of the boot hart.
DYNAMIC_INFO_MAGIC = (0x4942534F).to_bytes(8, "little")
WORD_BYTES = 8


def debugger_environment(folder: Path) -> tuple[dict[str, str], Path]:
    """Returns an environment in which the emulator waits for a debugger, and the debugger's socket."""
    server = folder / "debugger"
    emulator = folder / "qemu-system-riscv64"
    emulator.write_text(f'#!/bin/sh\nexec {shutil.which(emulator.name)} "$@" -S -gdb unix:{server},server=on,wait=off\n')
    emulator.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}, server


class Debugger:
    """A connection to the machine. All harts are stopped unless a method says otherwise."""

    def __init__(self, server: Path, harts: int) -> None:
        self.harts = range(harts)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self._connect(server)
        self.received = b""
        # The emulator sends single registers only to a debugger that has requested their description.
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
                # The command has killed the machine, which sent no reply.
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
        """Reads memory."""
        return bytes.fromhex(self._request(f"m{at:x},{count:x}"))

    def write(self, at: int, what: bytes) -> None:
        """Writes memory, also in the machine's ROM."""
        assert self._request(f"M{at:x},{len(what):x}:{what.hex()}") == "OK"

    def register(self, hart: int, number: int) -> int:
        """Returns a register of a hart."""
        assert self._request(f"Hg{hart + 1:x}") == "OK"
        return int.from_bytes(bytes.fromhex(self._request(f"p{number:x}")), "little")

    def set_register(self, hart: int, number: int, value: int) -> None:
        """Changes a register of a hart."""
        assert self._request(f"Hg{hart + 1:x}") == "OK"
        assert self._request(f"P{number:x}={value.to_bytes(8, 'little').hex()}") == "OK"

    def run_to(self, place: int) -> int:
        """Runs all harts until one reaches an instruction, and returns that hart."""
        assert self._request(f"Z1,{place:x},4") == "OK"
        self.resume()
        stopped = self._receive()
        assert stopped.startswith("T05thread:")
        hart = int(stopped.removeprefix("T05thread:").partition(";")[0], 16) - 1
        assert self.register(hart, PC) == place
        assert self._request(f"z1,{place:x},4") == "OK"
        return hart

    def run_to_load(self, place: int) -> bool:
        """Runs all harts until one has loaded a byte. Returns false if the machine exits before that."""
        assert self._request(f"Z3,{place:x},1") == "OK"
        self.resume()
        stopped = self._receive()
        if stopped.startswith("W"):
            return False
        # The hart is stopped before the instruction and would stop there again.
        hart = stopped.removeprefix("T05thread:").partition(";rwatch:")[0]
        assert self._request(f"z3,{place:x},1") == "OK"
        assert self._request(f"vCont;s:{hart}").startswith("T05")
        return True

    def resume(self, without: int | None = None) -> None:
        """Resumes all harts, or all but one."""
        self._send("vCont" + "".join(f";c:{hart + 1:x}" for hart in self.harts if hart != without))

    def halt(self) -> None:
        """Stops all harts after 20 ms."""
        time.sleep(0.02)
        self.socket.sendall(b"\x03")
        assert self._receive().startswith("T")

    def detach(self) -> None:
        """Resumes all harts without a debugger."""
        self._request("D")
        self.socket.close()

    def start_firmware_on(self, hart: int, place: int) -> None:
        """Boots the firmware on this hart, instead of hart 0, and runs that hart alone up to an instruction after it."""
        dynamic_info = ROM + self.read(ROM, ROM_BYTES).index(DYNAMIC_INFO_MAGIC) + 5 * WORD_BYTES
        self.write(dynamic_info, hart.to_bytes(WORD_BYTES, "little"))
        assert self._request(f"Z1,{place:x},4") == "OK"
        assert self._request(f"vCont;c:{hart + 1:x}").startswith("T05")
        assert self.register(hart, PC) == place
        assert self._request(f"z1,{place:x},4") == "OK"
