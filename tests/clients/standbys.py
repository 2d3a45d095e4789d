"""Pairs of a gateway and a standby."""

from __future__ import annotations

import shutil
import time

from programs import READY_TIMEOUT, Gateway

LOCKED = 4
"""The exit code if another gateway has the vault."""

FOLLOWS = "Standby: following"
"""The start of the line of a standby that has everything."""

TAKES_OVER = "Standby: the gateway is silent"
"""The start of the line of a standby that takes over."""

TAKEOVER = 15 + 4
"""The seconds within which a standby serves: three heartbeats, and some for a busy machine."""


def start_standby(standby: Gateway, of: Gateway) -> None:
    """Starts a standby of a running gateway, with its key and its users. Returns when it follows."""
    (standby.data / "trusted").mkdir(parents=True, exist_ok=True)
    shutil.copy(of.data / "master.key", standby.data / "master.key")
    shutil.copy(of.data / "trusted" / "credentials.toml", standby.data / "trusted" / "credentials.toml")
    standby.serve_flags = [*(flag for flag in of.serve_flags if flag != "--standby"), "--standby"]
    before = times_printed(standby, FOLLOWS)
    standby.start_without_waiting()
    wait_for_line(standby, FOLLOWS, before)


def times_printed(gateway: Gateway, line: str) -> int:
    """Returns how often a gateway has printed a line, in all of its runs."""
    return gateway.log.read_text().count(line) if gateway.log.exists() else 0


def wait_for_line(gateway: Gateway, line: str, before: int) -> None:
    """Waits until a gateway has printed a line once more than before."""
    deadline = time.monotonic() + READY_TIMEOUT
    while times_printed(gateway, line) == before:
        assert gateway.program.process.poll() is None, gateway.program.output()
        assert time.monotonic() < deadline, gateway.program.output()
        time.sleep(0.2)


def wait_for_takeover(standby: Gateway, before: int | None = None) -> float:
    """Waits until the standby serves, which had begun so many takeovers before. Returns the seconds."""
    began = time.monotonic()
    wait_for_line(standby, TAKES_OVER, times_printed(standby, TAKES_OVER) if before is None else before)
    wait_until_served(standby)
    return time.monotonic() - began


def wait_until_served(gateway: Gateway) -> None:
    """Waits until a machine serves that takes over or starts."""
    gateway.program.wait_for(f"http://127.0.0.1:{gateway.admin_port}/healthz")


def gateway_and_standby(new_gateway, flags: list[str]) -> tuple[Gateway, Gateway]:
    """Returns a gateway whose vault can have a standby, and a second machine. Neither is started."""
    first, second = new_gateway("first"), new_gateway("second")
    first.capacity = second.capacity = "32MiB"
    first.serve_flags = flags
    return first, second
