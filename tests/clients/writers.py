"""Clients that write, overwrite and delete objects of their own, and know what each of these must hold."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
from content import content
from programs import Endpoint, Gateway

BUCKET = "survivors"
WRITERS = 4
CHECKED_AT_RETURN = 4
"""The keys that a writer reads when the gateway is back, besides that of the interrupted request."""

BLOCK = 16 << 10
"""The bytes of a block of the vaults, which are small: most of the time should go into crashes."""

CAPACITY = "32MiB"

PART = 5 << 20
"""The length of a part that is not the last one."""

PATIENCE = 600.0
"""Seconds without any answer after which the gateway has failed. Its machine may be busy."""


class Change(NamedTuple):
    """A write or a deletion. Its number tells the content apart; None stands for an object that does not exist."""

    key: str
    state: int | None
    began: float
    """The time before the request, by the monotonic clock."""


@dataclass
class Writer:
    """A client that sends one request after the other, and the state of its objects as far as it knows them."""

    number: int
    seed: object
    keys: int = 24
    has_large: bool = False
    """True if the writer also has an object of several parts, which is larger than all others together."""
    history: list[Change] = field(default_factory=list)
    """The acknowledged changes, in their order."""
    ends: list[float] = field(default_factory=list)
    """The times after their answers."""
    acknowledged: dict[str, int | None] = field(default_factory=dict)
    """The state of each object after these changes."""
    in_flight: Change | None = None
    """The change that was interrupted, and may have been made."""
    answers: int = 0
    checked: int = 0
    refused: int = 0
    """The answers, the objects that were read and checked, and the requests that the gateway refused."""
    has_upload: bool = False
    """True if an upload in parts may be unfinished."""

    def __post_init__(self):
        self.rng = random.Random(f"writer {self.number} {self.seed}")
        self.next_state = self.next_checked = 0

    def all_keys(self) -> list[str]:
        """Returns the keys of this writer."""
        keys = [f"{self.number}/{key}" for key in range(self.keys)]
        return [*keys, f"{self.number}/large"] if self.has_large else keys

    def content(self, state: int) -> bytes:
        """Returns the content that a change has written."""
        return content(self.length(state), (self.number, self.seed, state))

    def length(self, state: int) -> int:
        """Returns the length of that content."""
        if self.is_large(state):
            return PART + BLOCK + 1
        return random.Random(f"length {state}").choice([0, 1, 1000, BLOCK, BLOCK + 1, 3 * BLOCK + 1000])

    def is_large(self, state: int) -> bool:
        """Returns whether a change writes an object of several parts."""
        return self.has_large and state % 60 == 23

    def draw(self) -> Change:
        """Returns the next change."""
        self.next_state += 1
        if self.is_large(self.next_state):
            return Change(f"{self.number}/large", self.next_state, time.monotonic())
        key = f"{self.number}/{self.rng.randrange(self.keys)}"
        return Change(key, None if self.rng.random() < 0.15 else self.next_state, time.monotonic())

    def run(self, s3, stop: threading.Event) -> None:
        """Sends requests until `stop` is set. While the gateway is gone, it tries again and again."""
        while not stop.is_set():
            try:
                self.come_back(s3)
                while not stop.is_set():
                    self.send_next(s3)
            except ClientError as error:
                assert error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500, error
                self.refused += 1
                stop.wait(0.1)
            except ReadTimeoutError:
                # The request may still be made later: it was not interrupted.
                raise
            except BotoCoreError:
                stop.wait(0.02)

    def come_back(self, s3) -> None:
        """Checks some objects, first the one whose change was interrupted."""
        keys = self.all_keys()
        chosen = [keys[(self.next_checked + nth) % len(keys)] for nth in range(CHECKED_AT_RETURN)]
        self.check(s3, ([self.in_flight.key] if self.in_flight else []) + chosen)
        self.next_checked += CHECKED_AT_RETURN
        if self.has_upload:
            found = s3.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{self.number}/").get("Uploads", [])
            for upload in found:
                s3.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
            self.has_upload = False

    def send_next(self, s3) -> None:
        """Sends a request, and records its answer."""
        if self.rng.random() < 0.1:
            self.check(s3, [self.rng.choice(self.all_keys())])
        else:
            change = self.in_flight = self.draw()
            self.send(s3, change)
            self.acknowledge(change)
        self.answers += 1

    def send(self, s3, change: Change) -> None:
        """Sends a change."""
        key = {"Bucket": BUCKET, "Key": change.key}
        if change.state is None:
            s3.delete_object(**key)
            return
        body, metadata = self.content(change.state), {"state": str(change.state)}
        if change.state % 12 != 11:
            s3.put_object(**key, Body=body, Metadata=metadata)
            return
        self.has_upload = True
        upload = key | {"UploadId": s3.create_multipart_upload(**key, Metadata=metadata)["UploadId"]}
        parts = [body[at : at + PART] for at in range(0, len(body), PART)] or [b""]
        sent = [
            {"PartNumber": number, "ETag": s3.upload_part(**upload, PartNumber=number, Body=part)["ETag"]}
            for number, part in enumerate(parts, 1)
        ]
        s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": sent})
        self.has_upload = False

    def acknowledge(self, change: Change) -> None:
        """Records a change that was made."""
        self.history.append(change)
        self.ends.append(time.monotonic())
        self.acknowledged[change.key] = change.state
        self.in_flight = None

    def go_back_to(self, changes: int) -> None:
        """Continues from the state after so many changes. The interrupted one counts as the last."""
        if self.in_flight and changes > len(self.history):
            self.acknowledge(self.in_flight)
        self.in_flight = None
        del self.history[changes:], self.ends[changes:]
        self.acknowledged = {change.key: change.state for change in self.history}

    def check(self, s3, keys: list[str] | None = None) -> None:
        """Reads objects, all by default. Each must hold its acknowledged state, or that of the interrupted change."""
        for key in self.all_keys() if keys is None else keys:
            found, last = self.read(s3, key), self.acknowledged.get(key)
            pending = self.in_flight if self.in_flight and self.in_flight.key == key else None
            assert found == last or (pending and found == pending.state), (
                f"{key} is in state {found}; acknowledged is {last}, in flight {self.in_flight}"
            )
            if pending and found == pending.state:
                self.acknowledge(pending)
            elif pending:
                self.in_flight = None
            self.checked += 1

    def read(self, s3, key: str) -> int | None:
        """Reads an object, and returns its state. Its content must be that of a change."""
        try:
            got = s3.get_object(Bucket=BUCKET, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchKey":
                raise
            return None
        state = int(got["Metadata"]["state"])
        assert got["Body"].read() == self.content(state), f"{key} does not hold the content of its state {state}"
        return state


class Load:
    """Runs writers, or others that have the method `run`, from its beginning to its end."""

    def __init__(self, endpoint: Endpoint, clients: list):
        self.clients, self.stop = clients, threading.Event()
        self.s3 = patient_client(endpoint)

    def __enter__(self) -> Load:
        self.pool = ThreadPoolExecutor(len(self.clients))
        self.running: list[Future] = [self.pool.submit(client.run, self.s3, self.stop) for client in self.clients]
        return self

    def __exit__(self, *error) -> None:
        self.stop.set()
        self.pool.shutdown()
        if error[0] is None:
            self.raise_errors()

    def answers(self) -> int:
        """Returns the number of answers to the clients so far."""
        return sum(client.answers for client in self.clients)

    def raise_errors(self) -> None:
        """Raises the error of a client that has failed."""
        for client in self.running:
            if client.done():
                client.result()

    def wait_for_answers(self, wanted: int) -> None:
        """Waits until the clients have had so many more answers."""
        before, deadline = self.answers(), time.monotonic() + PATIENCE
        while self.answers() < before + wanted:
            self.raise_errors()
            assert time.monotonic() < deadline, f"{self.answers() - before} of {wanted} answers came"
            time.sleep(0.005)


def patient_client(endpoint: Endpoint):
    """Returns a client that waits: a paused gateway answers only when it continues, and one on a busy machine late."""
    return endpoint.client(connect_timeout=5, read_timeout=PATIENCE)


def new_writers(keys: int = 24) -> list[Writer]:
    """Returns writers with a new seed. The first one has a large object too."""
    seed = random.randrange(1 << 32)
    print(f"seed of the writers {seed}")
    return [Writer(number, seed, keys, has_large=number == 0) for number in range(WRITERS)]


def new_rng() -> random.Random:
    """Returns random numbers, and prints their seed."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    return random.Random(seed)


def check_all(gateway: Gateway, writers: list[Writer]) -> None:
    """Reads and checks every object of the writers."""
    s3 = patient_client(gateway.endpoint)
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda writer: writer.check(s3), writers))


def make_small(gateway: Gateway, *flags: str) -> None:
    """Gives a gateway that is not started yet a small vault, and flags."""
    gateway.capacity, gateway.block, gateway.serve_flags = CAPACITY, BLOCK, list(flags)


def start_with_bucket(gateway: Gateway) -> None:
    """Starts a gateway with a bucket for the writers."""
    gateway.start()
    gateway.endpoint.client().create_bucket(Bucket=BUCKET)


def kill_under_load(gateway: Gateway, writers: list[Writer], answers: int) -> None:
    """Kills the gateway when the writers have had so many answers."""
    with Load(gateway.endpoint, writers) as load:
        load.wait_for_answers(answers)
        gateway.kill()


def stop_and_check(gateway: Gateway) -> None:
    """Stops the gateway and checks its vault."""
    gateway.stop()
    gateway.check()
