"""The trusted folder's disk is full: refused with the cause, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from content import content
from programs import Gateway

BUCKET = "kept"


@pytest.fixture
def small_disk(tmp_path: Path):
    """A disk of 24 MiB."""
    disk = tmp_path / "small"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_refused_with_its_cause_and_loses_nothing(new_gateway, small_disk):
    gateway: Gateway = new_gateway()
    gateway.data = small_disk / "data"
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    kept = {f"k{number}": content(200_000, number) for number in range(4)}
    for key, data in kept.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=data)
    filling = small_disk / "filling"
    with filling.open("wb", buffering=0) as fill, pytest.raises(OSError):
        while True:
            fill.write(bytes(4096))
    refusals = []
    for number in range(100):
        try:
            s3.put_object(Bucket=BUCKET, Key=f"late-{number}", Body=content(200_000, number))
            kept[f"late-{number}"] = content(200_000, number)
        except ClientError as error:
            refusals.append(error.response)
            break
        except BotoCoreError:
            break
    assert gateway.program.process.wait(timeout=240) == 1, gateway.program.output()
    assert "disk is full: free some space" in gateway.program.output()
    for refusal in refusals:
        assert refusal["ResponseMetadata"]["HTTPStatusCode"] == 503
        assert "disk is full" in refusal["Error"]["Message"]
    gateway.kill()
    full = gateway.run("check")
    assert full.returncode == 1, full.stderr
    assert f"{gateway.data}/trusted: the trusted folder's disk is full" in full.stderr

    filling.unlink()
    gateway.start()
    for key, data in kept.items():
        assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == data
    s3.put_object(Bucket=BUCKET, Key="again", Body=content(200_000))
    gateway.stop()
    checked = gateway.run("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
