"""Objects that count up, and clients that ask for them. No answer may be older than its question."""

from __future__ import annotations

import random
import threading
from collections import Counter

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
from content import content, md5

BUCKET = "registers"
LENGTHS = (100, 70_000)
"""The lengths of the two objects: one shares a block with others, one has blocks of its own."""


class Registers:
    """Two objects whose contents are numbers that grow.

    A number that was acknowledged is a lower bound for each question that is asked afterwards, by anybody.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.newest = 0
        self.acknowledged = [0] * len(LENGTHS)
        self.numbers: dict[str, int] = {}
        """The number that each ETag stands for."""
        self.answers = 0
        self.refused = 0

    def create(self, s3) -> None:
        """Creates the bucket and the objects."""
        s3.create_bucket(Bucket=BUCKET)
        for register in range(len(LENGTHS)):
            self.advance(s3, register)

    def advance(self, s3, register: int) -> None:
        """Writes a greater number."""
        with self.lock:
            self.newest += 1
            number = self.newest
            body = content(LENGTHS[register], number)
            self.numbers[md5(body)] = number
        s3.put_object(Bucket=BUCKET, Key=str(register), Body=body)
        with self.lock:
            self.acknowledged[register] = max(self.acknowledged[register], number)
        self.answers += 1

    def run(self, s3, stop: threading.Event) -> None:
        """Writes greater numbers until `stop` is set, one thread at each gateway.

        After an error the next number is another one: it is not known whether the last one was written.
        """
        while not stop.wait(0.05):
            try:
                self.advance(s3, self.newest % len(LENGTHS))
            except (ClientError, BotoCoreError) as error:
                check_refusal(error)
                self.refused += 1
                stop.wait(0.1)


class Asker:
    """A client that asks for the registers, in each way, until it is stopped."""

    def __init__(self, registers: Registers, seed: object):
        self.registers, self.rng = registers, random.Random(f"asker {seed}")
        self.answers = 0
        self.refused = 0

    def run(self, s3, stop: threading.Event) -> None:
        """Asks until `stop` is set."""
        while not stop.is_set():
            try:
                self.ask(s3)
                stop.wait(0.05)
            except (ClientError, BotoCoreError) as error:
                check_refusal(error)
                self.refused += 1
                stop.wait(0.05)

    def ask(self, s3) -> None:
        """Asks once, and checks that the answer is not older than the question."""
        register = self.rng.randrange(len(LENGTHS))
        with self.registers.lock:
            least = self.registers.acknowledged[register]
        way = self.rng.choice(["get", "head", "list"])
        if way == "get":
            got = s3.get_object(Bucket=BUCKET, Key=str(register))
            etag = got["ETag"]
            assert md5(got["Body"].read()) == etag.strip('"'), "the content is not that of the ETag"
        elif way == "head":
            etag = s3.head_object(Bucket=BUCKET, Key=str(register))["ETag"]
        else:
            listed = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
            etag = next(entry["ETag"] for entry in listed if entry["Key"] == str(register))
        number = self.registers.numbers[etag.strip('"')]
        assert number >= least, f"{way} answered {number}, when {least} had been acknowledged before the question"
        self.answers += 1


def check_refusal(error: Exception) -> None:
    """A gateway that may not answer says so, or is gone: it does not refuse a good request for another reason."""
    assert not isinstance(error, ReadTimeoutError), error
    if isinstance(error, ClientError):
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500, error


def count_answers(askers: list[Asker], counts: Counter) -> None:
    """Adds the answers to the counts."""
    counts["answers compared with the newest acknowledged number"] += sum(asker.answers for asker in askers)
    counts["questions that were refused"] += sum(asker.refused for asker in askers)
