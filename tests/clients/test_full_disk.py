"""A full disk: writes are refused with the cause, all else continues, and no acknowledged write is lost."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from content import content
from playwright.sync_api import expect
from programs import Gateway, UntrustedSide

BUCKET = "bucket"


@pytest.fixture
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk of 32 MiB, or of the size in the test's parameter."""
    disk = tmp_path / "small"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={getattr(request, 'param', 32)}m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(file: Path) -> None:
    """Writes to a file until the disk is full."""
    with file.open("wb", buffering=0) as filling, pytest.raises(OSError):
        while True:
            filling.write(bytes(4096))


def status_of(refused: pytest.ExceptionInfo[ClientError]) -> int:
    """Returns the status of a refused request."""
    return refused.value.response["ResponseMetadata"]["HTTPStatusCode"]


def put(s3, stored: dict[str, bytes], number: int) -> None:
    """Puts an object, and records it as stored when the put is acknowledged."""
    data = content(200_000, number)
    s3.put_object(Bucket=BUCKET, Key=f"k{number}", Body=data)
    stored[f"k{number}"] = data


def test_a_full_trusted_disk_refuses_writes_and_nothing_else(small_disk, new_gateway, browser):
    gateway: Gateway = new_gateway()
    gateway.data = small_disk / "data"
    gateway.start()
    assert "of the trusted disk: when it is full, writes get 507, and at least" in gateway.program.output()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    stored = {}

    def check_all() -> None:
        for key, data in stored.items():
            assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data
        listed = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
        assert {entry["Key"] for entry in listed} == set(stored)

    for number in range(5):
        put(s3, stored, number)
    filling = small_disk / "filling"
    fill(filling)
    with pytest.raises(ClientError) as refused:
        for number in range(5, 100):
            put(s3, stored, number)
    assert status_of(refused) == 507
    page = browser.new_page()
    page.goto(gateway.page_link.read_text().strip())
    expect(page.locator("#warnings")).to_contain_text("disk is full", timeout=60_000)
    expect(page.locator("#warnings")).to_contain_text("writes get 507")
    page.close()
    check_all()
    s3.delete_object(Bucket=BUCKET, Key="k4")
    del stored["k4"]
    check_all()
    assert "the trusted folder's disk is full: writes are refused" in gateway.program.output()

    # The gateway is killed and starts again on the full disk.
    gateway.kill()
    gateway.start()
    check_all()
    with pytest.raises(ClientError) as refused:
        put(s3, stored, 200)
    assert status_of(refused) == 507

    filling.unlink()
    time.sleep(5)
    put(s3, stored, 201)
    check_all()
    assert "has room again" in gateway.program.output()
    gateway.stop()
    gateway.check()


@pytest.mark.parametrize("small_disk", [256], indirect=True)
def test_with_a_full_provider_writes_are_refused_and_the_gateway_waits_for_room(small_disk, ameles, versitygw, tmp_path):
    provider = UntrustedSide(versitygw, small_disk)
    gateway = Gateway(ameles, tmp_path, provider)
    gateway.capacity = "16MiB"
    try:
        gateway.start()
        s3 = gateway.endpoint.client(read_timeout=10)
        s3.create_bucket(Bucket=BUCKET)
        stored = {}

        put(s3, stored, 0)
        filling = small_disk / "filling"
        fill(filling)
        # The gateway waits for room for a write that has begun. Its client may give up.
        with pytest.raises((ClientError, ReadTimeoutError)):
            for number in range(1, 100):
                put(s3, stored, number)
        with pytest.raises(ClientError) as refused:
            put(s3, stored, 100)
        assert status_of(refused) == 507
        assert "the store is full: writes are refused" in gateway.program.output()
        s3.list_objects_v2(Bucket=BUCKET)

        filling.unlink()
        deadline = time.monotonic() + 60
        while "the store has room again" not in gateway.program.output():
            assert time.monotonic() < deadline, gateway.program.output()
            time.sleep(0.2)
        put(s3, stored, 101)
        for key, data in stored.items():
            assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data
        gateway.stop()
        gateway.check()
    finally:
        gateway.kill()
        provider.close()
