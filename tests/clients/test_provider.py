"""What the provider sees, and what happens when it does not return what it was given."""

from __future__ import annotations

import random
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from content import content
from programs import Gateway

TAMPERING = 3
"""Exit code of a command that found the store tampered with."""

NAME = "conspicuous-name-of-an-object"
BUCKET = "conspicuous-name-of-a-bucket"
TEXT = b"conspicuous content, "


def fill(gateway: Gateway) -> None:
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    for number in range(24):
        s3.put_object(Bucket=BUCKET, Key=f"{NAME}-{number}", Body=TEXT * 5000, Metadata={"label": NAME})
    for number in range(24):
        s3.get_object(Bucket=BUCKET, Key=f"{NAME}-{number}")["Body"].read()


def test_no_name_and_no_content_reaches_the_provider_or_the_log(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    fill(gateway)
    gateway.stop()
    files = gateway.untrusted.files()
    assert files, "the provider holds nothing"
    words = [word.encode() for word in (NAME, BUCKET)] + [TEXT[:11]]
    for path in files:
        shown = path.relative_to(gateway.untrusted.folder).as_posix().encode() + path.read_bytes()
        assert not any(word in shown for word in words), path
    # What is printed at the start names commands to try, but nothing that was stored.
    log = gateway.log.read_bytes()
    assert log and not any(word in log for word in words)


def test_the_provider_sees_the_same_number_of_requests_whatever_is_asked(new_gateway):
    """Reading one object over and over shows as many requests as reading many: counted by the provider's files."""
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    for number in range(8):
        s3.put_object(Bucket=BUCKET, Key=str(number), Body=content(65536, number))
    before = metric(gateway)
    for _ in range(64):
        s3.get_object(Bucket=BUCKET, Key="0")["Body"].read()
    one = metric(gateway) - before
    for turn in range(64):
        s3.get_object(Bucket=BUCKET, Key=str(turn % 8))["Body"].read()
    many = metric(gateway) - before - one
    # Evictions come every so many accesses, so that two equal runs may differ by the part of a period.
    assert one > 0
    assert abs(one - many) <= 0.25 * one, (one, many)


def metric(gateway: Gateway) -> float:
    """Requests that went to the provider, as the gateway's public metrics tell."""
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    values = [float(line.rsplit(maxsplit=1)[1]) for line in lines if line.startswith("lethe_store_requests_total")]
    assert values, "no metric counts the requests to the store"
    return sum(values)


def flip(files: list[Path], _: Path) -> None:
    """One bit of every file, at a place of its own."""
    for path in files:
        data = bytearray(path.read_bytes())
        if data:
            data[random.Random(path.name).randrange(len(data))] ^= 1
            path.write_bytes(data)


def truncate(files: list[Path], _: Path) -> None:
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])


def delete(files: list[Path], _: Path) -> None:
    for path in files:
        path.unlink()


def swap(files: list[Path], _: Path) -> None:
    """The contents of neighbours of one length."""
    lengths: dict[int, list[Path]] = {}
    for path in files:
        lengths.setdefault(path.stat().st_size, []).append(path)
    for alike in lengths.values():
        contents = [path.read_bytes() for path in alike]
        for path, data in zip(alike, contents[1:] + contents[:1]):
            path.write_bytes(data)


def roll_back(_: list[Path], earlier: Path) -> None:
    """Everything as it was some writes ago."""
    now = earlier.parent / "provider"
    shutil.rmtree(now)
    shutil.copytree(earlier, now)


@pytest.fixture
def stopped(new_gateway) -> tuple[Gateway, Path]:
    """A vault that nobody serves, and what its provider held some writes ago."""
    gateway: Gateway = new_gateway()
    gateway.start()
    fill(gateway)
    gateway.stop()
    earlier = gateway.untrusted.folder.parent / "earlier"
    shutil.copytree(gateway.untrusted.folder, earlier)
    gateway.start()
    s3 = gateway.endpoint.client()
    for number in range(24):
        s3.put_object(Bucket=BUCKET, Key=f"{NAME}-{number}", Body=content(65536, number))
    gateway.stop()
    return gateway, earlier


@pytest.mark.parametrize("tamper", [flip, truncate, delete, swap, roll_back])
def test_tampering_is_found_by_check(stopped, tamper: Callable[[list[Path], Path], None]):
    gateway, earlier = stopped
    untouched = gateway.run("check")
    assert untouched.returncode == 0, untouched.stdout + untouched.stderr
    tamper(gateway.untrusted.files(), earlier)
    checked = gateway.run("check")
    assert checked.returncode == TAMPERING, checked.stdout + checked.stderr
    assert "tamper" in checked.stderr.lower() or "bucket" in checked.stderr.lower(), checked.stderr


def test_tampering_under_a_running_gateway_is_an_error_and_never_an_answer(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client(read_timeout=60)
    s3.create_bucket(Bucket=BUCKET)
    objects = {str(number): content(65536, number) for number in range(24)}
    for key, data in objects.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=data)
    flip(gateway.untrusted.files(), Path())
    failed = 0
    for key, data in objects.items():
        try:
            assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data
        except AssertionError:
            raise
        except Exception:
            failed += 1
    assert failed, "not one of the flipped bits was noticed"
