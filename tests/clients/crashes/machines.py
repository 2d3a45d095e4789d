"""Machines with one vault: a gateway, its standby and spare ones, and clients that compare what they say."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from contextlib import ExitStack
from typing import Protocol

from forwarder import Forwarder
from programs import Gateway
from registers import Asker, Registers, count_answers
from standbys import LOCKED, TAKES_OVER, start_standby, times_printed, wait_until_served
from writers import PATIENCE, Load, Writer, check_all, start_with_bucket

ASKERS = 3
WRITERS = 3


class Machine:
    """A gateway or standby, and its link to the provider."""

    def __init__(self, gateway: Gateway):
        self.gateway = gateway
        self.link = Forwarder(gateway.untrusted.endpoint.url)
        gateway.store_url = self.link.url

    def signal(self, kind: signal.Signals) -> None:
        """Sends a signal to the process."""
        self.gateway.program.process.send_signal(kind)

    def has_exited(self) -> bool:
        """Returns whether the process has ended."""
        return self.gateway.program.process.poll() is not None

    def takeovers(self) -> int:
        """Returns how many takeovers this machine has begun."""
        return times_printed(self.gateway, TAKES_OVER)


UNREACHABLE = 5
"""The exit code if the store cannot be reached."""


class Disturbance(Protocol):
    """What happens to a machine for some time."""

    codes: tuple[int, ...]
    """The exit codes of a gateway that was disturbed until its standby had taken over."""

    def begin(self, machine: Machine) -> None:
        """Begins to disturb the machine."""

    def end(self, machine: Machine) -> None:
        """Lets the machine continue."""


class Pause:
    """The process is stopped, at any instruction."""

    codes = (LOCKED,)

    def begin(self, machine: Machine) -> None:
        machine.signal(signal.SIGSTOP)

    def end(self, machine: Machine) -> None:
        machine.signal(signal.SIGCONT)


class Cut:
    """The link to the provider is cut. After half a minute a gateway gives up."""

    codes = (LOCKED, UNREACHABLE)

    def __init__(self, *, silently: bool):
        self.silently = silently

    def begin(self, machine: Machine) -> None:
        machine.link.cut(silently=self.silently)

    def end(self, machine: Machine) -> None:
        machine.link.heal()


class Machines:
    """The machines, whose parts change, and the clients."""

    def __init__(self, gateways: list[Gateway], rng: random.Random, counts: Counter):
        self.rng, self.counts = rng, counts
        self.all = [Machine(gateway) for gateway in gateways]
        self.active, *self.spares = self.all
        self.standby: Machine | None = None
        self.registers = Registers()
        numbers, seed = iter(range(2 * WRITERS)), rng.randrange(1 << 32)
        self.groups = [[Writer(next(numbers), seed, keys=6) for _ in range(WRITERS)] for _ in range(2)]
        """The writers at the gateway, and at its successor."""
        self.askers = 0
        start_with_bucket(self.active.gateway)
        self.registers.create(self.active.gateway.endpoint.client())

    def close(self) -> None:
        """Ends the links."""
        for machine in self.all:
            machine.link.close()

    def new_askers(self) -> list[Asker]:
        """Returns clients that ask for the registers."""
        self.askers += ASKERS
        return [Asker(self.registers, self.askers + nth) for nth in range(ASKERS)]

    def load(self, machine: Machine, writers: list[Writer]) -> Load:
        """Returns clients of a machine: writers, askers, and one that makes the registers advance."""
        return Load(machine.gateway.endpoint, [*writers, *self.new_askers(), self.registers])

    def wait_for_work(self, load: Load, wanted: int = 10, or_end_of: Machine | None = None) -> None:
        """Waits until the writers of a load have had some more answers, or until a process has ended."""
        writers = [client for client in load.clients if isinstance(client, Writer)]
        answers, deadline = sum(writer.answers for writer in writers), time.monotonic() + PATIENCE
        while sum(writer.answers for writer in writers) < answers + wanted:
            load.raise_errors()
            if or_end_of and or_end_of.has_exited():
                return
            assert time.monotonic() < deadline, "the writers get no answers"
            time.sleep(0.02)

    def start_standby(self) -> None:
        """Makes a spare machine the standby of the gateway, if there is none."""
        if self.standby is None:
            self.standby = self.spares.pop(0)
            start_standby(self.standby.gateway, self.active.gateway)

    def change_over(self) -> Machine:
        """Makes the standby, which serves, the gateway, and a spare machine its standby. Returns the old gateway."""
        old, self.active, self.standby = self.active, self.standby, None
        self.counts["takeovers"] += 1
        self.start_standby()
        return old

    def finish(self, old: Machine, load: Load, disturbance: Disturbance | None) -> None:
        """Lets the old gateway continue beside the new one. It must stop, and may not answer wrongly before."""
        with ExitStack() as loads:
            new_load = loads.enter_context(self.load(self.active, self.groups[1]))
            self.wait_for_work(new_load)
            # These requests are on their way before the old gateway continues. What it answers may not be old, and what
            # it acknowledges may not be lost.
            late = loads.enter_context(self.load(old, []))
            time.sleep(self.rng.uniform(0.1, 0.5))
            before = self.answers_of(load) + self.answers_of(late)
            if disturbance:
                disturbance.end(old)
                self.require_end(old, disturbance.codes)
            self.wait_for_work(new_load)
            self.counts["answers of displaced gateways, all of them right"] += (
                self.answers_of(load) + self.answers_of(late) - before
            )
        self.count(new_load)
        self.count(late)
        old.gateway.kill()
        old.gateway.lose_machine()
        self.spares.append(old)

    def answers_of(self, load: Load) -> int:
        """Returns the number of answers to clients that are only at this gateway."""
        return sum(client.answers for client in load.clients if client is not self.registers)

    def require_end(self, old: Machine, codes: tuple[int, ...]) -> None:
        """Waits until a gateway has found that it has been taken over, or has given up before it could find it."""
        code = old.gateway.program.process.wait(timeout=PATIENCE)
        output = old.gateway.program.output()[-5000:]
        assert code in codes, f"the displaced gateway ended with {code}:\n{output}"
        self.counts[f"displaced gateways that ended with code {code}"] += 1

    def has_changed(self, load: Load, before: int, codes: tuple[int, ...]) -> bool:
        """Waits until it is certain whether the standby takes over, which had begun so many takeovers before."""
        deadline = time.monotonic() + PATIENCE
        while not self.active.has_exited():
            assert time.monotonic() < deadline, "the gateway neither works nor ends"
            time.sleep(0.1)
            if self.standby.takeovers() > before:
                continue
            # New answers to writers need new objects in the store, from which the silence begins again.
            self.wait_for_work(load, 2 * WRITERS + 1, or_end_of=self.active)
            time.sleep(2)
            if self.standby.takeovers() == before:
                return False
        self.require_end(self.active, codes)
        wait_until_served(self.standby.gateway)
        return True

    def check(self) -> None:
        """Checks all objects at the gateway that serves now."""
        for group in self.groups:
            check_all(self.active.gateway, group)

    def count(self, load: Load) -> None:
        """Adds what the askers of a load have compared."""
        count_answers([client for client in load.clients if isinstance(client, Asker)], self.counts)

    def count_all(self) -> None:
        """Adds what the writers have done."""
        writers = [writer for group in self.groups for writer in group]
        self.counts["acknowledged changes"] += sum(len(writer.history) for writer in writers)
        self.counts["objects read and compared"] += sum(writer.checked for writer in writers)
        self.counts["lost"] += 0
