"""A standby on another machine takes over with everything that was acknowledged."""

from __future__ import annotations

import shutil
import signal
import time

from programs import Gateway
from test_kill import check_all_writers, kill_under_load, start_with_writers, stop_and_check

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
    standby.serve_flags = ["--journal", "standby", "--standby"]
    before = times_printed(standby, FOLLOWS)
    standby.start_without_waiting()
    wait_for_line(standby, FOLLOWS, before)


def times_printed(gateway: Gateway, line: str) -> int:
    """Returns how often a gateway has printed a line, in all of its runs."""
    return gateway.log.read_text().count(line) if gateway.log.exists() else 0


def wait_for_line(gateway: Gateway, line: str, before: int) -> None:
    """Waits until a gateway has printed a line once more than before."""
    deadline = time.monotonic() + 60
    while times_printed(gateway, line) == before:
        assert gateway.program.process.poll() is None, gateway.program.output()
        assert time.monotonic() < deadline, gateway.program.output()
        time.sleep(0.2)


def wait_for_takeover(standby: Gateway) -> float:
    """Waits until the standby serves. Returns the seconds."""
    began = time.monotonic()
    wait_for_line(standby, TAKES_OVER, times_printed(standby, TAKES_OVER))
    standby.program.wait_for(f"http://127.0.0.1:{standby.admin_port}/healthz")
    return time.monotonic() - began


def gateway_and_standby(new_gateway) -> tuple[Gateway, Gateway]:
    """Returns a gateway whose vault can have a standby, and a second machine. Neither is started."""
    first, second = new_gateway("first"), new_gateway("second")
    first.capacity = second.capacity = "32MiB"
    first.serve_flags = ["--journal", "standby"]
    return first, second


def test_a_standby_takes_over_from_a_killed_gateway_and_that_machine_becomes_the_standby(new_gateway):
    first, second = gateway_and_standby(new_gateway)
    records, rng = start_with_writers(first)
    start_standby(second, first)
    kill_under_load(first, records, 0, rng.randrange(20, 60))
    took = wait_for_takeover(second)
    print(f"served after {took:.1f} s")
    assert took < TAKEOVER
    check_all_writers(second, records)

    refused = first.run("check")
    assert refused.returncode == LOCKED, refused.stderr
    first.lose_machine()
    start_standby(first, second)
    kill_under_load(second, records, 1, rng.randrange(10, 30))
    wait_for_takeover(first)
    check_all_writers(first, records)
    stop_and_check(first)


def test_a_gateway_that_was_paused_answers_nothing_after_its_standby_has_taken_over(new_gateway):
    first, second = gateway_and_standby(new_gateway)
    records, rng = start_with_writers(first)
    start_standby(second, first)
    second.stop()
    start_standby(second, first)
    paused = first.program
    paused.process.send_signal(signal.SIGSTOP)
    wait_for_takeover(second)
    paused.process.send_signal(signal.SIGCONT)
    code = paused.process.wait(timeout=60)
    assert code == LOCKED, paused.output()
    first.program = None
    kill_under_load(second, records, 0, rng.randrange(10, 20))
    second.start()
    check_all_writers(second, records)
    stop_and_check(second)
