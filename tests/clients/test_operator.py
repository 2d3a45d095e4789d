"""What an operator is told, and what an operator does."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError
from content import content
from programs import Gateway, environment
from test_kill import BUCKET, Ledger, compare, load, wait_for

VERSIONING = "versioning on"
PATIENCE = 300.0
"""Seconds after which a successor that is not filled counts as stuck."""


def status(gateway: Gateway) -> str:
    """What `ameles status` says."""
    command = [str(gateway.binary), "status", "--data", str(gateway.data)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout


def test_versioning_at_the_provider_is_warned_of(new_gateway):
    gateway: Gateway = new_gateway()
    for switched, warned in [(None, False), ("Enabled", True), ("Suspended", False)]:
        if switched:
            gateway.untrusted.set_versioning(switched)
        gateway.log.unlink(missing_ok=True)
        gateway.start()
        assert (VERSIONING in status(gateway)) == warned, switched
        gateway.stop()
        log = gateway.log.read_text()
        assert (f"WARNING: the provider's bucket has {VERSIONING}" in log) == warned, log
        # In the log itself once, however often the figures are looked at.
        assert len(re.findall(f" WARN .*{VERSIONING}", log)) == int(warned), log


def test_a_client_of_another_region_is_told_the_right_one_and_goes_on(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.serve_flags = ["--region", "eu-west-3"]
    gateway.start()
    right = dataclasses.replace(gateway.endpoint, region="eu-west-3").client()
    right.create_bucket(Bucket="first")
    wrong = gateway.endpoint.client()
    wrong.put_object(Bucket="first", Key="key", Body=b"body")
    assert wrong.get_object(Bucket="first", Key="key")["Body"].read() == b"body"
    assert wrong.head_bucket(Bucket="first")["BucketRegion"] == "eu-west-3"
    with pytest.raises(ClientError, match="the region 'us-east-1' is wrong; expecting 'eu-west-3'"):
        wrong.list_buckets()
    gateway.stop()


def test_orphans_are_found_and_removed_and_the_vault_is_whole(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket="first")
    for number in range(30):
        s3.put_object(Bucket="first", Key=str(number), Body=content(200_000, number))
    gateway.stop()
    provider = gateway.untrusted.endpoint.client()
    where, prefix = gateway.untrusted.BUCKET, f"{gateway.vault}/"
    pages = provider.get_paginator("list_objects_v2").paginate(Bucket=where, Prefix=f"{prefix}buckets/")
    held = [entry["Key"] for page in pages for entry in page["Contents"]]
    # As if a bucket's version had been left that no state knows any more.
    orphan = re.sub(r"-[0-9a-f]{8}-[0-9a-f]{16}$", f"-{0:08x}-{1:016x}", held[0])
    assert orphan not in held
    for name in [orphan, f"{prefix}notes.txt", f"{prefix}buckets/notes"]:
        provider.put_object(Bucket=where, Key=name, Body=b"left behind")
    found = gateway.run("gc")
    assert found.returncode == 0, found.stderr
    assert "dead buckets    1 objects, 11 B" in found.stdout, found.stdout
    assert "foreign         2 objects" in found.stdout and '"notes.txt"' in found.stdout, found.stdout
    assert "takes 1 deletions" in found.stdout, found.stdout
    removed = gateway.run("gc", "--remove")
    assert removed.returncode == 0 and "Removed 1 buckets" in removed.stdout, removed.stdout + removed.stderr
    listed = provider.list_objects_v2(Bucket=where, Prefix=f"{prefix}buckets/notes")
    assert listed["KeyCount"] == 1, "what is foreign stays"
    assert "dead buckets    0 objects" in gateway.run("gc").stdout
    gateway.start()
    s3 = gateway.endpoint.client()
    for number in range(30):
        assert s3.get_object(Bucket="first", Key=str(number))["Body"].read() == content(200_000, number)
    gateway.stop()
    # An open vault cannot be looked through.
    gateway.start()
    assert gateway.run("gc").returncode == 4
    gateway.stop()


def test_a_paced_gateway_serves_and_says_how_much_of_it_was_useful(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.serve_flags = ["--pace", "100ms"]
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket="first")
    body = content(500_000, 7)
    s3.put_object(Bucket="first", Key="k", Body=body)
    assert s3.get_object(Bucket="first", Key="k")["Body"].read() == body
    gateway.stop()
    told = status(gateway)
    asked, dummies = map(int, re.search(r"(\d+) requested accesses, (\d+) dummies", told).groups())
    turns = int(re.search(r"turns +(\d+) since", told).group(1))
    # Eight blocks each way, and then idle turns until the end.
    assert asked >= 16 and turns * 16 == asked + dummies, told
    # It is a property of the start, not of the vault.
    gateway.serve_flags = []
    gateway.start()
    assert gateway.endpoint.client().get_object(Bucket="first", Key="k")["Body"].read() == body
    gateway.stop()
    assert "turns" not in status(gateway)


def successor_has(gateway: Gateway, wanted: int) -> None:
    """Waits until the successor has as many blocks as `wanted`."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/metrics", timeout=5) as answer:
            told = answer.read().decode()
        if int(float(re.search(r"^ameles_successor_blocks (\S+)", told, re.MULTILINE).group(1))) >= wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"the successor has no {wanted} blocks:\n{told}\n{gateway.log.read_text()}")


@pytest.mark.timeout(900)
def test_a_vault_grows_moves_and_changes_its_key_while_it_is_served(new_gateway, tmp_path):
    gateway: Gateway = new_gateway()
    gateway.capacity = "16MiB"
    blocks = (16 << 20) // gateway.BLOCK
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    # Nobody writes these again: the copier alone brings them over.
    for number in range(6):
        s3.put_object(Bucket=BUCKET, Key=f"kept/{number}", Body=content(1 << 19, number))
    gateway.stop()
    key, provider = tmp_path / "new.key", gateway.untrusted.endpoint
    options = [f"access_key_id={provider.access_key}", f"secret_access_key={provider.secret_key}"]
    options += [f"region={provider.region}", "allow_http=true"]
    prepared = gateway.run(
        *["migrate", "--prepare", "--capacity", "24MiB", "--new-key-file", str(key)],
        *["--to", f"s3://{gateway.untrusted.BUCKET}/after", "--to-endpoint", provider.url],
        *[word for option in options for word in ("--to-option", option)],
    )
    assert prepared.returncode == 0, prepared.stderr
    ledgers = [Ledger() for _ in range(3)]
    with ThreadPoolExecutor(len(ledgers)) as pool:
        for turn, wanted in enumerate([1, blocks // 2, blocks]):
            gateway.start()
            endpoint, stop = gateway.endpoint, threading.Event()
            writers = [
                pool.submit(load, endpoint, ledger, writer, turn, stop) for writer, ledger in enumerate(ledgers)
            ]
            try:
                successor_has(gateway, wanted)
                wait_for(lambda: sum(ledger.done for ledger in ledgers) >= 20, writers)
            finally:
                # While clients write: at the beginning, half-way, and when the copy is complete.
                gateway.kill()
                stop.set()
            for writer, ledger in zip(writers, ledgers):
                writer.result()
                ledger.done = 0
    # The start after the copy has the successor take over, with the flags of before.
    gateway.start()
    assert "The successor has taken over" in gateway.log.read_text()
    for writer, ledger in enumerate(ledgers):
        compare(gateway.endpoint, ledger, writer)
    gateway.kill()
    # From then on they are refused, with those that are right now.
    refused = gateway.run("check")
    assert refused.returncode == 2 and f"--key-file {key}" in refused.stderr, refused.stderr
    gateway.vault, gateway.capacity, gateway.serve_flags = "after", "24MiB", ["--key-file", str(key)]
    gateway.start()
    for writer, ledger in enumerate(ledgers):
        compare(gateway.endpoint, ledger, writer)
    s3 = gateway.endpoint.client()
    for number in range(6):
        assert s3.get_object(Bucket=BUCKET, Key=f"kept/{number}")["Body"].read() == content(1 << 19, number)
    # More than fitted before.
    for number in range(4):
        s3.put_object(Bucket=BUCKET, Key=f"large/{number}", Body=content(4 << 20, number))
    for number in range(4):
        got = s3.get_object(Bucket=BUCKET, Key=f"large/{number}")["Body"].read()
        assert got == content(4 << 20, number)
    gateway.stop()
    checked = gateway.run("check", "--key-file", str(key))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    other = gateway.run("check", "--key-file", str(gateway.data / "master.key"))
    assert other.returncode == 1 and "the key does not open this vault" in other.stderr, other.stderr
