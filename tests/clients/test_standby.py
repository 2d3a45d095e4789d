"""A standby on another machine takes over with everything that was acknowledged."""

from __future__ import annotations

from standbys import LOCKED, TAKEOVER, gateway_and_standby, start_standby, wait_for_takeover
from writers import check_all, kill_under_load, new_rng, new_writers, start_with_bucket, stop_and_check


def test_a_standby_takes_over_from_a_killed_gateway_and_that_machine_becomes_the_standby(new_gateway):
    first, second = gateway_and_standby(new_gateway, ["--journal", "standby"])
    start_with_bucket(first)
    writers, rng = new_writers(), new_rng()
    start_standby(second, first)
    kill_under_load(first, writers, rng.randrange(20, 60))
    took = wait_for_takeover(second)
    print(f"served after {took:.1f} s")
    assert took < TAKEOVER
    check_all(second, writers)

    refused = first.run("check")
    assert refused.returncode == LOCKED, refused.stderr
    first.lose_machine()
    start_standby(first, second)
    kill_under_load(second, writers, rng.randrange(10, 30))
    wait_for_takeover(first)
    check_all(first, writers)
    stop_and_check(first)
