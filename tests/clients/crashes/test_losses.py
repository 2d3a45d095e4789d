"""Lost trusted folders: what was acknowledged is restored from the store and the key."""

from __future__ import annotations

import random
import re
import subprocess
import urllib.request
from collections import Counter
from typing import NamedTuple

import pytest
from programs import Gateway, Program
from rounds import shares
from writers import (
    BLOCK,
    Change,
    Load,
    Writer,
    check_all,
    make_small,
    new_rng,
    new_writers,
    patient_client,
    start_with_bucket,
    stop_and_check,
)

VAULTS = {
    "disk memory": 0,
    "disk disk": 0,
    "store memory": 1,
    "store disk": 0,
    "store-first memory": 1,
    "store-first disk": 0,
    "standby memory": 0,
    "standby disk": 0,
    "etcd memory": 0,
    "etcd disk": 0,
}
"""The places of journal and tree top, and the usual number of lost folders."""

RESTORE_TIME = 65.0
"""Seconds that a restore takes: those of the old gateway's lease, and some more."""


class Reported(NamedTuple):
    """What a gateway says a lost machine would take along, and the changes that were acknowledged before that."""

    accesses: int
    changes: list[int]


def report_of(gateway: Gateway, writers: list[Writer]) -> Reported:
    """Asks the gateway for its recovery point."""
    changes = [len(writer.history) for writer in writers]
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return Reported(int(re.search(r"^ameles_recovery_point_accesses (\d+)", text, re.M).group(1)), changes)


class Survivors(NamedTuple):
    """The numbers of changes after which a writer's objects were as they are now: the least one and the greatest."""

    least: int
    greatest: int


def survivors_of(writer: Writer, s3) -> Survivors:
    """Reads the objects of a writer. They must be as they were after one of its changes, or before all of them."""
    found = {key: writer.read(s3, key) for key in writer.all_keys()}
    writer.checked += len(found)
    state = dict.fromkeys(found)
    different = {key for key in found if found[key] is not None}
    fits = [] if different else [0]
    for number, change in enumerate(writer.history + ([writer.in_flight] if writer.in_flight else []), 1):
        state[change.key] = change.state
        if found[change.key] == change.state:
            different.discard(change.key)
        else:
            different.add(change.key)
        if not different:
            fits.append(number)
    assert fits, f"the objects of writer {writer.number} were never like this: {found}"
    return Survivors(fits[0], fits[-1])


def blocks_of(writer: Writer, change: Change) -> int:
    """Returns the least number of accesses that a change has made: small contents share theirs."""
    length = 0 if change.state is None else writer.length(change.state)
    return length // BLOCK + (length % BLOCK > BLOCK // 2)


def check_recovery_point(gateway: Gateway, writers: list[Writer], reported: Reported, counts: Counter) -> None:
    """Checks that the vault is as it was at one moment, and that what is lost since is within the bounds.

    Afterwards the writers continue from that state.
    """
    s3 = patient_client(gateway.endpoint)
    survivors = [survivors_of(writer, s3) for writer in writers]
    kept_began, lost_ended = [0.0], [float("inf")]
    lost, after = 0, 0
    for writer, survived, before in zip(writers, survivors, reported.changes, strict=True):
        kept_began += [change.began for change in writer.history[: survived.least]]
        lost_ended += writer.ends[survived.greatest :]
        counts["changes lost with the journal on the disk, within its bound"] += len(writer.ends[survived.greatest :])
        # The first lost change may have been begun before the checkpoint, with most of its accesses.
        lost += sum(blocks_of(writer, change) for change in writer.history[survived.greatest + 1 :])
        after += sum(blocks_of(writer, change) for change in writer.history[before:])
        writer.go_back_to(survived.greatest)
    assert max(kept_began) <= min(lost_ended), "a change survived that began after the end of one that did not"
    counts["accesses of blocks lost with the journal on the disk"] += lost
    assert lost <= reported.accesses + after, f"{lost} accesses of blocks are lost; reported were {reported}"
    stated = int(re.search(r"loses at most the writes of about the last (\d+) accesses", gateway.program.output())[1])
    assert lost <= stated * 5 // 4 + after, f"{lost} accesses of blocks are lost, and {stated} is what is stated"


class Owner:
    """Loses a gateway's trusted folder, and restores it. Some restores are interrupted."""

    def __init__(self, gateway: Gateway, rng: random.Random, counts: Counter):
        self.gateway, self.rng, self.counts = gateway, rng, counts
        self.losses = 0

    def lose(self) -> None:
        """Loses the folder."""
        self.gateway.lose_machine()
        self.losses += 1
        self.counts["lost trusted folders"] += 1

    def restore(self, most: int) -> None:
        """Loses the folder and restores it. It may be lost again, during the restore or just after it."""
        self.lose()
        while True:
            is_complete = self.restore_or_kill(self.rng.random() < 0.4)
            may_lose = self.losses < most
            if is_complete and not (may_lose and self.rng.random() < 0.2):
                return
            if is_complete:
                self.counts["folders lost right after a restore"] += 1
            elif may_lose and self.rng.random() < 0.5:
                self.counts["folders lost during a restore"] += 1
            else:
                continue
            self.lose()

    def restore_or_kill(self, is_killed: bool) -> bool:
        """Restores the vault, or kills the restore at some time. Returns whether it was complete."""
        program = Program(self.gateway.command("restore", "--takeover"), self.gateway.log)
        # Early and late, where most happens: the rest is the wait for the lease.
        times = (self.rng.uniform(0, 2), self.rng.uniform(0, RESTORE_TIME), self.rng.uniform(59, RESTORE_TIME))
        try:
            code = program.process.wait(timeout=self.rng.choice(times) if is_killed else 240)
        except subprocess.TimeoutExpired:
            program.kill()
            self.counts["kill -9 of a restore"] += 1
            return False
        output = program.output()
        # A restore that was killed at its very end has left a complete vault.
        was_complete = code == 2 and "there is already a vault" in output[-2000:]
        assert code == 0 or was_complete, f"the restore ended with {code}:\n{output}"
        self.counts["restores"] += 1
        return True


@pytest.mark.parametrize(("vault", "losses"), shares("AMELES_LOSSES", VAULTS))
def test_a_lost_machine_takes_along_no_more_than_stated(new_gateway, place_journal, counts, vault, losses):
    gateway: Gateway = new_gateway()
    journal, tree_top = vault.split()
    ship_after = ["--ship-after", "10s"] if vault == "disk memory" else []
    make_small(gateway, *place_journal(journal, gateway), "--tree-top-on", tree_top, *ship_after)
    start_with_bucket(gateway)
    # The clean stop ships a checkpoint: from now on a lost machine does not take along the bucket.
    gateway.stop()
    gateway.start()
    writers, rng = new_writers(keys=12), new_rng()
    owner = Owner(gateway, rng, counts)
    while owner.losses < losses:
        with Load(gateway.endpoint, writers) as load:
            load.wait_for_answers(rng.randrange(10, 400 if losses > 1 else 120))
            reported = report_of(gateway, writers)
            load.wait_for_answers(rng.randrange(1, 10))
            gateway.kill()
            counts["kill -9"] += 1
        owner.restore(losses)
        gateway.start()
        if journal == "disk":
            check_recovery_point(gateway, writers, reported, counts)
        else:
            assert reported.accesses == 0
            check_all(gateway, writers)
            counts["lost"] += 0
    stop_and_check(gateway)
    counts["acknowledged changes"] += sum(len(writer.history) for writer in writers)
    counts["objects read and compared"] += sum(writer.checked for writer in writers)
