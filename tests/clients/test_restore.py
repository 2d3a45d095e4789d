"""A lost machine: the vault is restored from the provider and the key."""

from __future__ import annotations

import shutil

import pytest
from content import content
from programs import Gateway, UntrustedSide

BUCKET = "restored"
OBJECTS = {f"k{number}": content(length, number) for number, length in enumerate([0, 1, 70_000, 300_000])}


@pytest.fixture
def lost(new_gateway) -> tuple[Gateway, str]:
    """A gateway whose machine was lost after a clean stop, and the receipt that `ameles backup` printed."""
    gateway: Gateway = new_gateway()
    # A restore rewrites every block, so the vault is small.
    gateway.capacity = "16MiB"
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    for key, data in OBJECTS.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=data, Metadata={"of": key})
    gateway.stop()
    backup = gateway.run("backup")
    assert backup.returncode == 0, backup.stderr
    gateway.lose_machine()
    return gateway, backup.stdout.strip()


def contents(gateway: Gateway) -> dict[str, bytes]:
    s3 = gateway.endpoint.client()
    listed = s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return {entry["Key"]: s3.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"].read() for entry in listed}


def test_a_restored_vault_holds_everything_that_was_shipped(lost):
    gateway, receipt = lost
    restored = gateway.run("restore", "--takeover", "--expect", receipt)
    assert restored.returncode == 0, restored.stderr
    gateway.start()
    assert contents(gateway) == OBJECTS
    head = gateway.endpoint.client().head_object(Bucket=BUCKET, Key="k2")
    assert head["Metadata"] == {"of": "k2"}
    gateway.stop()
    gateway.check()


def test_a_restore_without_a_receipt_warns(lost):
    gateway, _ = lost
    restored = gateway.run("restore", "--takeover")
    assert restored.returncode == 0, restored.stderr
    assert "cannot detect that the store was rolled back" in restored.stderr
    gateway.start()
    assert contents(gateway) == OBJECTS


def test_a_restore_that_would_displace_a_gateway_asks_for_takeover(lost):
    gateway, receipt = lost
    restored = gateway.run("restore", "--expect", receipt)
    assert restored.returncode == 4, restored.stdout + restored.stderr
    assert "--takeover" in restored.stderr


def test_a_receipt_finds_a_store_that_was_rolled_back(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.capacity = "16MiB"
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"old")
    gateway.stop()
    provider = gateway.untrusted.folder / UntrustedSide.BUCKET
    earlier = provider.parent.parent / "earlier"
    shutil.copytree(provider, earlier)
    gateway.start()
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"new")
    gateway.stop()
    receipt = gateway.run("backup").stdout.strip()
    gateway.lose_machine()
    for child in provider.iterdir():
        shutil.rmtree(child)
    shutil.copytree(earlier, provider, dirs_exist_ok=True)
    restored = gateway.run("restore", "--takeover", "--expect", receipt)
    assert restored.returncode != 0, restored.stdout
    assert "rolled back" in restored.stderr, restored.stderr


def test_another_key_does_not_open_the_vault(lost):
    gateway, receipt = lost
    (gateway.data / "master.key").write_text("11" * 32 + "\n")
    restored = gateway.run("restore", "--takeover", "--expect", receipt)
    assert restored.returncode == 1, restored.stdout + restored.stderr
    assert "key does not open this vault" in restored.stderr
