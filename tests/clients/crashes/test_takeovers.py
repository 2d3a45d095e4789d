"""Two gateways and a standby that are paused, killed and cut off: nothing is lost, and no answer is old."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable

import pytest
from machines import Cut, Disturbance, Machine, Machines, Pause
from programs import Gateway
from rounds import shares
from standbys import LOCKED, TAKES_OVER, start_standby, wait_for_line, wait_for_takeover, wait_until_served
from writers import Load, make_small, new_rng

STANDBYS = {"standby 1": 1, "standby 2": 0, "standby 3": 0, "etcd 1": 0, "etcd 2": 0}
"""The usual number of rounds of each vault with a standby."""

RESTORED = {"store": 1, "store-first": 0, "standby": 0, "etcd": 0}
"""The usual number of rounds of each vault that another machine restores while its gateway is disturbed."""

LEASE = 15
"""Seconds of silence after which a standby takes over."""

CUT_SILENTLY = Cut(silently=True)
CUT_LOUDLY = Cut(silently=False)


class Rounds:
    """The kinds of rounds. Each begins and ends with a gateway that serves and a standby that follows."""

    def __init__(self, machines: Machines, rng: random.Random, counts: Counter):
        self.machines, self.rng, self.counts = machines, rng, counts

    def kinds(self) -> list[tuple[str, Callable[[Load], None]]]:
        """Returns all kinds with their names, in random order, except that the first one is always the same."""
        first = ("gateway paused", lambda load: self.displace(load, Pause()))
        others = [
            ("gateway cut off, silently", lambda load: self.displace(load, CUT_SILENTLY)),
            ("gateway cut off", lambda load: self.displace(load, CUT_LOUDLY)),
            ("gateway paused for about its lease", lambda load: self.about_the_lease(load, Pause())),
            ("gateway cut off for about its lease", lambda load: self.about_the_lease(load, CUT_SILENTLY)),
            ("both paused for about the lease", lambda load: self.about_the_lease(load, Pause(), Pause())),
            ("both cut off for about the lease", lambda load: self.about_the_lease(load, CUT_SILENTLY, CUT_LOUDLY)),
            ("gateway paused for moments", self.paused_for_moments),
            ("standby paused", lambda load: self.standby_disturbed(load, Pause())),
            ("standby cut off", lambda load: self.standby_disturbed(load, CUT_LOUDLY)),
            ("standby cut off, silently", lambda load: self.standby_disturbed(load, CUT_SILENTLY)),
            ("standby killed", self.standby_killed),
            ("gateway killed", self.killed),
            ("gateway killed and started again", self.killed_and_started_again),
            ("gateway killed, and its standby in the takeover", self.killed_and_standby_killed),
            ("gateway killed, standby paused", lambda load: self.killed_and_standby_disturbed(load, Pause())),
            ("gateway killed, standby cut off", lambda load: self.killed_and_standby_disturbed(load, CUT_SILENTLY)),
        ]
        self.rng.shuffle(others)
        return [first, *others]

    def play(self, name: str, kind: Callable[[Load], None]) -> None:
        """Plays a round under load."""
        began = time.monotonic()
        with self.machines.load(self.machines.active, self.machines.groups[0]) as load:
            self.machines.wait_for_work(load, self.rng.randrange(5, 60))
            # At any instant: also between the check of a lease and an answer.
            time.sleep(self.rng.uniform(0, 0.2))
            kind(load)
        self.machines.count(load)
        self.machines.check()
        self.counts["rounds with a standby"] += 1
        print(f"{name}: {time.monotonic() - began:.0f} s")

    def displace(self, load: Load, disturbance: Disturbance) -> None:
        """The gateway is disturbed until its standby serves, which then has a standby of its own."""
        active, standby = self.machines.active, self.machines.standby
        before = standby.takeovers()
        disturbance.begin(active)
        wait_for_takeover(standby.gateway, before)
        self.machines.finish(self.machines.change_over(), load, disturbance)

    def about_the_lease(self, load: Load, disturbance: Disturbance, of_standby: Disturbance | None = None) -> None:
        """The gateway, or both machines, are disturbed for about as long as the lease lasts. Either may serve then."""
        machines = self.machines
        before = machines.standby.takeovers()
        disturbance.begin(machines.active)
        if of_standby:
            of_standby.begin(machines.standby)
        time.sleep(self.rng.uniform(LEASE - 5, LEASE + 3))
        disturbance.end(machines.active)
        if of_standby:
            of_standby.end(machines.standby)
        self.go_on(load, before, disturbance.codes)

    def go_on(self, load: Load, before: int, codes: tuple[int, ...] = (LOCKED,)) -> None:
        """Goes on with the machine that serves. A busy machine may delay its gateway for longer than the lease."""
        if self.machines.has_changed(load, before, codes):
            self.machines.finish(self.machines.change_over(), load, None)
        else:
            assert not self.machines.standby.has_exited(), self.machines.standby.gateway.program.output()[-5000:]
            self.counts["gateways that continued after a disturbance"] += 1

    def paused_for_moments(self, load: Load) -> None:
        """The gateway is paused many times, too shortly for a takeover."""
        before = self.machines.standby.takeovers()
        for _ in range(15):
            Pause().begin(self.machines.active)
            time.sleep(self.rng.choice([0.01, 0.1, 1, 2]) * self.rng.random())
            Pause().end(self.machines.active)
            time.sleep(self.rng.uniform(0, 0.3))
        self.go_on(load, before)

    def standby_disturbed(self, load: Load, disturbance: Disturbance) -> None:
        """The standby is disturbed, maybe for longer than the lease. It finds the gateway's objects afterwards."""
        before = self.machines.standby.takeovers()
        disturbance.begin(self.machines.standby)
        self.machines.wait_for_work(load)
        time.sleep(self.rng.uniform(3, LEASE + 8))
        disturbance.end(self.machines.standby)
        time.sleep(3)
        self.go_on(load, before)

    def standby_killed(self, load: Load) -> None:
        """The standby is killed while it follows, and started again."""
        machines = self.machines
        before = machines.standby.takeovers()
        machines.standby.gateway.kill()
        self.counts["kill -9"] += 1
        machines.wait_for_work(load)
        start_standby(machines.standby.gateway, machines.active.gateway)
        self.go_on(load, before)

    def kill_active(self) -> int:
        """Kills the gateway. Returns how many takeovers its standby had begun before."""
        before = self.machines.standby.takeovers()
        self.machines.active.gateway.kill()
        self.counts["kill -9"] += 1
        return before

    def killed(self, load: Load) -> None:
        """The gateway is killed, and its standby takes over."""
        before = self.kill_active()
        self.succeed(load, before)

    def succeed(self, load: Load, before: int) -> None:
        """Waits until the standby has taken over from a gateway that is gone."""
        wait_for_takeover(self.machines.standby.gateway, before)
        self.machines.finish(self.machines.change_over(), load, None)

    def killed_and_started_again(self, load: Load) -> None:
        """The gateway is killed, and started again at once: it keeps the vault."""
        before = self.kill_active()
        self.machines.active.gateway.start_without_waiting()
        self.go_on(load, before)

    def killed_and_standby_killed(self, load: Load) -> None:
        """The gateway is killed, and its standby while it takes over. That machine is started again."""
        standby = self.machines.standby
        wait_for_line(standby.gateway, TAKES_OVER, self.kill_active())
        time.sleep(self.rng.uniform(0, 0.6))
        standby.gateway.kill()
        self.counts["kill -9"] += 1
        standby.gateway.start_without_waiting()
        wait_until_served(standby.gateway)
        self.machines.finish(self.machines.change_over(), load, None)

    def killed_and_standby_disturbed(self, load: Load, disturbance: Disturbance) -> None:
        """The gateway is killed, and its standby is disturbed before or in the takeover."""
        standby = self.machines.standby
        before = self.kill_active()
        if self.rng.random() < 0.5:
            wait_for_line(standby.gateway, TAKES_OVER, before)
        disturbance.begin(standby)
        time.sleep(self.rng.uniform(0.1, LEASE + 3))
        disturbance.end(standby)
        self.succeed(load, before)


@pytest.mark.parametrize(("vault", "rounds"), shares("AMELES_TAKEOVERS", STANDBYS))
def test_two_gateways_and_a_standby_lose_nothing_and_give_no_old_answer(
    new_gateway, place_journal, counts, vault, rounds
):
    gateways = [new_gateway(name) for name in ("first", "second", "third")]
    flags = place_journal(vault.split()[0], *gateways)
    for gateway in gateways:
        make_small(gateway, *flags)
    rng = new_rng()
    machines = Machines(gateways, rng, counts)
    try:
        machines.start_standby()
        play = Rounds(machines, rng, counts)
        kinds = play.kinds()
        for number in range(rounds):
            play.play(*kinds[number % len(kinds)])
        machines.count_all()
    finally:
        machines.close()


class Nothing:
    """The gateway is not disturbed."""

    codes = (LOCKED,)

    def begin(self, machine: Machine) -> None:
        pass

    def end(self, machine: Machine) -> None:
        pass


def restore_elsewhere(machines: Machines, journal: str) -> Machine:
    """Restores the vault on another machine, which serves it then. Returns the old gateway."""
    old, new = machines.active, machines.spares.pop(0)
    restored: Gateway = new.gateway
    restored.data.mkdir(exist_ok=True)
    shutil.copy(old.gateway.data / "master.key", restored.data / "master.key")
    done = restored.run("restore", "--takeover")
    assert done.returncode == 0, done.stderr
    restored.serve_flags = ["--journal", journal]
    restored.start()
    machines.active = new
    machines.counts["takeovers by a restore"] += 1
    return old


@pytest.mark.parametrize(("journal", "rounds"), shares("AMELES_TAKEOVERS_BY_RESTORE", RESTORED))
def test_a_restore_elsewhere_loses_nothing_that_a_displaced_gateway_acknowledged(
    new_gateway, place_journal, counts, journal, rounds
):
    gateways = [new_gateway(name) for name in ("first", "second")]
    flags = place_journal(journal, *gateways)
    for gateway in gateways:
        make_small(gateway, *flags)
    rng = new_rng()
    machines = Machines(gateways, rng, counts)
    disturbances = [Pause(), Nothing(), CUT_SILENTLY]
    try:
        for number in range(rounds):
            with machines.load(machines.active, machines.groups[0]) as load:
                machines.wait_for_work(load, rng.randrange(5, 60))
                disturbance = disturbances[number % len(disturbances)]
                disturbance.begin(machines.active)
                machines.finish(restore_elsewhere(machines, journal), load, disturbance)
            machines.count(load)
            machines.check()
            counts["rounds with a restore"] += 1
        machines.count_all()
    finally:
        machines.close()
