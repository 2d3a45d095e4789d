"""kill -9 under load: every acknowledged write survives intact."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from content import content
from programs import Endpoint, Gateway

KILLS = 3
WRITERS = 4
KEYS_OF_A_WRITER = 8
BUCKET = "survivors"

Seed = tuple[int, int, int] | None
"""Determines the content of an object; None stands for an object that does not exist."""


@dataclass
class WriterRecord:
    """The state of one writer's keys, as far as the writer knows it."""

    acknowledged: dict[str, Seed] = field(default_factory=dict)
    in_flight: dict[str, Seed] = field(default_factory=dict)
    done: int = 0
    """Acknowledged requests since the last kill."""

    def possible_states(self, key: str) -> list[Seed]:
        """Returns the last acknowledged state, and that of a request which the kill interrupted."""
        states = [self.acknowledged.get(key)]
        return states + [self.in_flight[key]] if key in self.in_flight else states


def length(seed: tuple[int, int, int]) -> int:
    return random.Random(f"length {seed}").choice([0, 1, 1000, 65536, 65537, 200_000])


def write_until_gone(endpoint: Endpoint, record: WriterRecord, writer: int, turn: int, stop: threading.Event) -> None:
    """Writes, overwrites and deletes until the gateway is killed."""
    s3 = endpoint.client(connect_timeout=5, read_timeout=30)
    rng = random.Random(f"{writer} {turn}")
    while not stop.is_set():
        key = f"{writer}/{rng.randrange(KEYS_OF_A_WRITER)}"
        seed = None if rng.random() < 0.15 else (writer, turn, record.done)
        record.in_flight[key] = seed
        try:
            if seed is None:
                s3.delete_object(Bucket=BUCKET, Key=key)
            else:
                s3.put_object(Bucket=BUCKET, Key=key, Body=content(length(seed), seed))
        except (ClientError, BotoCoreError):
            return
        record.acknowledged[key] = record.in_flight.pop(key)
        record.done += 1


def wait_for(state: Callable[[], bool], writers: list[Future]) -> None:
    """Waits for a state that the writers cause."""
    while not state():
        assert not all(writer.done() for writer in writers), "the gateway has refused every writer"
        time.sleep(0.01)


def check_writer(endpoint: Endpoint, record: WriterRecord, writer: int) -> None:
    """Reads and checks every key of a writer. The state that is read becomes the acknowledged one."""
    s3 = endpoint.client()
    for number in range(KEYS_OF_A_WRITER):
        key = f"{writer}/{number}"
        try:
            found = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        except ClientError as error:
            assert error.response["Error"]["Code"] == "NoSuchKey", error
            found = None
        states = record.possible_states(key)
        fits = [state for state in states if found == (None if state is None else content(length(state), state))]
        assert fits, f"{key} holds none of {states}"
        record.acknowledged[key] = fits[0]
    record.in_flight.clear()


def kill_under_load(gateway: Gateway, records: list[WriterRecord], turn: int, wanted: int) -> None:
    """Kills the gateway when the writers have had `wanted` answers."""
    endpoint, stop = gateway.endpoint, threading.Event()
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write_until_gone, endpoint, record, writer, turn, stop) for writer, record in enumerate(records)]
        wait_for(lambda: sum(record.done for record in records) >= wanted, writers)
        gateway.kill()
        stop.set()
        for writer in writers:
            writer.result()
    for record in records:
        record.done = 0


def check_all_writers(gateway: Gateway, records: list[WriterRecord]) -> None:
    """Reads and checks the keys of all writers."""
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(check_writer, [gateway.endpoint] * WRITERS, records, range(WRITERS)))


def start_with_writers(gateway: Gateway) -> tuple[list[WriterRecord], random.Random]:
    """Starts the gateway with a bucket. Returns the writers' records, and random numbers whose seed is printed."""
    gateway.start()
    gateway.endpoint.client().create_bucket(Bucket=BUCKET)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    return [WriterRecord() for _ in range(WRITERS)], random.Random(seed)


def stop_and_check(gateway: Gateway) -> None:
    """Stops the gateway and checks its vault."""
    gateway.stop()
    gateway.check()


@pytest.mark.parametrize(("tree_top_on", "kills"), [("memory", KILLS), ("disk", 2)])
def test_what_was_acknowledged_survives_kill_9_in_a_loop(new_gateway, tree_top_on, kills):
    gateway: Gateway = new_gateway()
    gateway.serve_flags = ["--tree-top-on", tree_top_on]
    records, rng = start_with_writers(gateway)
    for turn in range(kills):
        endpoint = gateway.endpoint
        kill_under_load(gateway, records, turn, rng.randrange(10, 80))
        gateway.start()
        assert gateway.endpoint == endpoint, "the credentials changed"
        check_all_writers(gateway, records)
    stop_and_check(gateway)


@pytest.mark.parametrize("journal", ["store", "store-first"])
def test_what_was_acknowledged_survives_the_machine_if_the_journal_is_in_the_store(new_gateway, journal):
    gateway: Gateway = new_gateway()
    gateway.capacity = "32MiB"
    gateway.serve_flags = ["--journal", journal]
    records, rng = start_with_writers(gateway)
    kill_under_load(gateway, records, 0, rng.randrange(60, 120))
    gateway.lose_machine()
    restored = gateway.run("restore", "--takeover")
    assert restored.returncode == 0, restored.stderr
    assert ("moves no bucket" in restored.stderr) == (journal == "store-first"), restored.stderr
    gateway.start()
    check_all_writers(gateway, records)
    stop_and_check(gateway)


def test_a_kill_in_the_middle_of_recovery_loses_nothing(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    objects = {f"k{number}": content(70_000, number) for number in range(12)}
    for key, data in objects.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=data)
    gateway.kill()
    for delay in (0.02, 0.1, 0.2, 0.4):
        gateway.start_without_waiting()
        time.sleep(delay)
        gateway.kill()
    gateway.start()
    for key, data in objects.items():
        assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data


def test_a_clean_stop_and_a_second_start_keep_everything(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="k", Body=content(200_000), Metadata={"kept": "yes"})
    gateway.stop()
    gateway.start()
    got = s3.get_object(Bucket=BUCKET, Key="k")
    assert got["Body"].read() == content(200_000)
    assert got["Metadata"] == {"kept": "yes"}


def test_the_provider_may_restart_while_the_gateway_runs(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client(read_timeout=120)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="before", Body=content(200_000, 1))
    gateway.untrusted.close()
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(s3.put_object, Bucket=BUCKET, Key="during", Body=content(200_000, 2))
        time.sleep(1)
        gateway.untrusted.start()
        try:
            write.result()
            during = {content(200_000, 2)}
        except ClientError as error:
            # The gateway may give up, but may not answer wrongly.
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500
            during = {content(200_000, 2), None}
    if gateway.program.process.poll() is not None:
        gateway.kill()
        gateway.start()
    assert s3.get_object(Bucket=BUCKET, Key="before")["Body"].read() == content(200_000, 1)
    try:
        found = s3.get_object(Bucket=BUCKET, Key="during")["Body"].read()
    except ClientError as error:
        assert error.response["Error"]["Code"] == "NoSuchKey"
        found = None
    assert found in during
