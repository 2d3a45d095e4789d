"""A vault with its journal in etcd."""

from __future__ import annotations

import signal
import time

from etcd import Tls
from programs import Gateway
from standbys import TAKEOVER, gateway_and_standby, start_standby, wait_for_takeover
from writers import (
    Load,
    check_all,
    kill_under_load,
    make_small,
    new_rng,
    new_writers,
    start_with_bucket,
    stop_and_check,
)

USAGE = 2
"""The exit code of a request that cannot be carried out as it stands."""


def test_a_standby_takes_over_while_a_member_of_etcd_is_lost(new_gateway, new_etcd, ameles_with_etcd):
    etcd = new_etcd(3)
    gateways = first, second = gateway_and_standby(new_gateway, ["--journal", "etcd"])
    for gateway in gateways:
        etcd.holds_journal_of(gateway, ameles_with_etcd)
    start_with_bucket(first)
    writers, rng = new_writers(), new_rng()
    start_standby(second, first)
    etcd.signal(signal.SIGSTOP, [rng.randrange(3)])
    kill_under_load(first, writers, rng.randrange(20, 60))
    took = wait_for_takeover(second)
    print(f"served after {took:.1f} s")
    # A request to the lost member takes its time.
    assert took < 2 * TAKEOVER
    check_all(second, writers)
    etcd.signal(signal.SIGCONT)
    stop_and_check(second)


def test_writes_wait_while_etcd_is_away_and_none_is_lost(new_gateway, new_etcd, ameles_with_etcd):
    gateway: Gateway = new_gateway()
    etcd = new_etcd()
    etcd.holds_journal_of(gateway, ameles_with_etcd)
    make_small(gateway, "--journal", "etcd")
    start_with_bucket(gateway)
    writers = new_writers()
    with Load(gateway.endpoint, writers) as load:
        load.wait_for_answers(20)
        etcd.signal(signal.SIGSTOP)
        time.sleep(1)
        before = sum(len(writer.history) for writer in writers)
        time.sleep(3)
        assert sum(len(writer.history) for writer in writers) == before, "a write is acknowledged without etcd"
        etcd.signal(signal.SIGCONT)
        load.wait_for_answers(20)
        etcd.restart(0)
        load.wait_for_answers(20)
    check_all(gateway, writers)
    stop_and_check(gateway)


def test_etcd_with_certificates_serves_a_vault_that_moves_its_journal(new_gateway, new_etcd, ameles_with_etcd, tmp_path):
    gateway: Gateway = new_gateway()
    make_small(gateway, "--journal", "store")
    gateway.binary = ameles_with_etcd
    start_with_bucket(gateway)
    writers = new_writers()

    def work() -> None:
        with Load(gateway.endpoint, writers) as load:
            load.wait_for_answers(20)
        check_all(gateway, writers)
        gateway.stop()

    work()
    gateway.serve_flags = []
    etcd = new_etcd(tls=Tls(tmp_path))
    etcd.holds_journal_of(gateway, ameles_with_etcd)
    for place in ("etcd", "disk"):
        converted = gateway.run("convert", "--journal", place)
        assert converted.returncode == 0, converted.stdout + converted.stderr
        gateway.start()
        work()
        gateway.check()
    # The keys of the earlier journal must stay: a gateway that still runs finds its next name taken.
    refused = gateway.run("convert", "--journal", "etcd")
    assert refused.returncode == USAGE and "another prefix" in refused.stderr, refused.stderr


def test_what_a_journal_in_etcd_lacks_is_named(new_gateway, ameles, ameles_with_etcd, new_etcd):
    gateway: Gateway = new_gateway()
    gateway.binary = ameles_with_etcd
    refused = gateway.run("init", "--journal", "etcd")
    assert refused.returncode == USAGE and "--etcd" in refused.stderr, refused.stderr
    etcd = new_etcd()
    gateway.etcd_flags = etcd.flags("a/b")
    refused = gateway.run("init")
    assert refused.returncode == USAGE and "http://HOST:PORT/PREFIX" in refused.stderr, refused.stderr
    etcd.holds_journal_of(gateway, ameles)
    refused = gateway.run("init")
    assert refused.returncode == USAGE and "--features etcd" in refused.stderr, refused.stderr
    etcd.holds_journal_of(gateway, ameles_with_etcd)
    made = gateway.run("init", "--capacity", gateway.capacity, "--block-size", str(gateway.block))
    assert made.returncode == 0 and "announcements in etcd" in made.stdout, made.stdout + made.stderr
    gateway.start()
    gateway.stop()
    other = new_gateway("other", "another")
    etcd.holds_journal_of(other, ameles_with_etcd)
    other.etcd_flags = gateway.etcd_flags
    refused = other.run("init")
    assert refused.returncode == USAGE and "another prefix" in refused.stderr, refused.stderr


def test_a_vault_is_not_created_while_etcd_cannot_be_reached(new_gateway, new_etcd, ameles_with_etcd):
    gateway: Gateway = new_gateway()
    etcd = new_etcd()
    etcd.holds_journal_of(gateway, ameles_with_etcd)
    etcd.close()
    began = time.monotonic()
    refused = gateway.run("init")
    assert refused.returncode == 5 and "--etcd" in refused.stderr, refused.stderr
    assert time.monotonic() - began < 60
    assert not (gateway.data / "trusted" / "vault.redb").exists()
