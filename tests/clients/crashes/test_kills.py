"""kill -9 under load, in every phase of a gateway's life: every acknowledged write survives intact."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter

import pytest
from programs import Gateway
from rounds import shares
from writers import Load, check_all, make_small, new_rng, new_writers, start_with_bucket, stop_and_check

BETWEEN_FULL_CHECKS = 10
"""The kills after which every object is read. At other times a part of them is."""

VAULTS = {
    "disk memory": 3,
    "disk disk": 2,
    "store memory": 0,
    "store disk": 0,
    "store-first memory": 0,
    "store-first disk": 0,
    "standby memory": 0,
    "standby disk": 0,
    "etcd memory": 1,
    "etcd disk": 0,
}
"""The places of journal and tree top, and the usual number of kills."""


class Killer:
    """Starts a gateway and kills it in a random phase."""

    def __init__(self, gateway: Gateway, load: Load, rng: random.Random, counts: Counter):
        self.gateway, self.load, self.rng, self.counts = gateway, load, rng, counts
        self.opening = 1.0
        """The seconds that the last complete opening took."""

    def start(self) -> None:
        """Starts the gateway, and waits until clients get answers."""
        began = time.monotonic()
        self.gateway.start()
        self.opening = time.monotonic() - began
        self.counts["complete openings"] += 1
        self.load.wait_for_answers(self.rng.randrange(1, 40))

    def kill(self) -> None:
        """Kills the gateway. Only a stop may end it earlier."""
        assert self.gateway.program.process.poll() is None, self.gateway.program.output()
        self.gateway.kill()
        self.counts["kill -9"] += 1

    def kill_while_opening(self) -> None:
        """Kills a gateway before it serves, or when it has just begun to."""
        self.gateway.start_without_waiting()
        time.sleep(self.rng.uniform(0, 1.1 * self.opening))
        self.counts["kills during an opening"] += 1
        self.kill()

    def kill_while_serving(self) -> None:
        """Kills a gateway that works."""
        self.start()
        time.sleep(self.rng.uniform(0, 0.1))
        self.counts["kills in service"] += 1
        self.kill()

    def kill_while_stopping(self) -> None:
        """Kills a gateway that finishes its requests, ships its last checkpoint, or has just done so."""
        self.start()
        process = self.gateway.program.process
        process.send_signal(signal.SIGINT)
        time.sleep(self.rng.uniform(0, 0.5))
        if process.poll() is None:
            self.counts["kills while the last checkpoint ships"] += 1
            self.kill()
        else:
            assert process.returncode == 0, self.gateway.program.output()
            self.counts["clean stops"] += 1

    def kill_somewhere(self) -> None:
        """Kills the gateway in one of these phases."""
        killed = self.counts["kill -9"]
        while self.counts["kill -9"] == killed:
            phases = [self.kill_while_opening, self.kill_while_serving, self.kill_while_stopping]
            self.rng.choices(phases, (3, 5, 2))[0]()


@pytest.mark.parametrize(("vault", "kills"), shares("AMELES_KILLS", VAULTS))
def test_what_was_acknowledged_survives_kill_9_in_every_phase(new_gateway, place_journal, counts, vault, kills):
    gateway: Gateway = new_gateway()
    journal, tree_top = vault.split()
    make_small(gateway, *place_journal(journal, gateway), "--tree-top-on", tree_top)
    start_with_bucket(gateway)
    gateway.kill()
    endpoint, writers, rng = gateway.endpoint, new_writers(), new_rng()
    while kills:
        with Load(endpoint, writers) as load:
            killer = Killer(gateway, load, rng, counts)
            for _ in range(min(kills, BETWEEN_FULL_CHECKS)):
                killer.kill_somewhere()
                kills -= 1
            killer.start()
        assert gateway.endpoint == endpoint, "the credentials changed"
        check_all(gateway, writers)
        counts["checks of all objects"] += 1
        if kills:
            gateway.kill()
            counts["kill -9"] += 1
            kills -= 1
    stop_and_check(gateway)
    counts["acknowledged changes"] += sum(len(writer.history) for writer in writers)
    counts["objects read and compared"] += sum(writer.checked for writer in writers)
    counts["requests refused with 5xx"] += sum(writer.refused for writer in writers)
    counts["lost"] += 0
