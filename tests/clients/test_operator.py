"""An operator's commands, and what the operator learns from them."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import time
import urllib.request

import pytest
from botocore.exceptions import ClientError
from content import content
from programs import Gateway, environment
from writers import BUCKET, Load, Writer, check_all

VERSIONING = "versioning on"
COPY_TIMEOUT = 300.0
"""Seconds until a copy to the successor vault has failed."""


def status(gateway: Gateway) -> str:
    """Returns the output of `ameles status`."""
    command = [str(gateway.binary), "status", "--data", str(gateway.data)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout


def test_versioning_at_the_provider_causes_a_warning(new_gateway):
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
        # The log has the warning once, however often the figures are read.
        assert len(re.findall(f" WARN .*{VERSIONING}", log)) == int(warned), log


def test_a_client_of_another_region_learns_the_right_one_and_goes_on(new_gateway):
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
    # An orphan: a version of a bucket that no state refers to.
    orphan = re.sub(r"-[0-9a-f]{8}-[0-9a-f]{16}$", f"-{0:08x}-{1:016x}", held[0])
    assert orphan not in held
    for name in [orphan, f"{prefix}notes.txt", f"{prefix}buckets/notes"]:
        provider.put_object(Bucket=where, Key=name, Body=b"left behind")
    found = gateway.run("gc")
    assert found.returncode == 0, found.stderr
    assert "dead buckets    1 object, 11 B" in found.stdout, found.stdout
    assert "foreign         2 objects" in found.stdout and '"notes.txt"' in found.stdout, found.stdout
    assert "would take 1 deletion," in found.stdout, found.stdout
    removed = gateway.run("gc", "--remove")
    assert removed.returncode == 0 and "Removed 1 bucket," in removed.stdout, removed.stdout + removed.stderr
    listed = provider.list_objects_v2(Bucket=where, Prefix=f"{prefix}buckets/notes")
    assert listed["KeyCount"] == 1, "what is foreign stays"
    assert "dead buckets    0 objects" in gateway.run("gc").stdout
    gateway.start()
    s3 = gateway.endpoint.client()
    for number in range(30):
        assert s3.get_object(Bucket="first", Key=str(number))["Body"].read() == content(200_000, number)
    gateway.stop()
    # The command refuses a vault that is being served.
    gateway.start()
    assert gateway.run("gc").returncode == 4
    gateway.stop()


def test_a_paced_gateway_serves_and_reports_how_many_accesses_were_requested(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.serve_flags = ["--pace", "100ms"]
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket="first")
    body = content(500_000, 7)
    s3.put_object(Bucket="first", Key="k", Body=body)
    assert s3.get_object(Bucket="first", Key="k")["Body"].read() == body
    gateway.stop()
    report = status(gateway)
    asked, dummies = map(int, re.search(r"(\d+) requested accesses, (\d+) dummies", report).groups())
    turns = int(re.search(r"turns +(\d+) since", report).group(1))
    # Eight blocks each way, then idle turns until the stop.
    assert asked >= 16 and turns * 16 == asked + dummies, report
    # The pace belongs to a start, not to the vault.
    gateway.serve_flags = []
    gateway.start()
    assert gateway.endpoint.client().get_object(Bucket="first", Key="k")["Body"].read() == body
    gateway.stop()
    assert "turns" not in status(gateway)


def wait_for_successor(gateway: Gateway, wanted: int) -> None:
    """Waits until the successor vault has `wanted` blocks."""
    deadline = time.monotonic() + COPY_TIMEOUT
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/metrics", timeout=5) as answer:
            report = answer.read().decode()
        if int(float(re.search(r"^ameles_successor_blocks (\S+)", report, re.MULTILINE).group(1))) >= wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"the successor has no {wanted} blocks:\n{report}\n{gateway.log.read_text()}")


@pytest.mark.timeout(900)
def test_a_vault_grows_moves_and_changes_its_key_while_it_is_served(new_gateway, tmp_path):
    gateway: Gateway = new_gateway()
    gateway.capacity = "16MiB"
    blocks = (16 << 20) // gateway.BLOCK
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    # No client writes these again, so only the background copy moves them.
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
    writers = [Writer(number, "before the successor", keys=8) for number in range(3)]
    for wanted in [1, blocks // 2, blocks]:
        gateway.start()
        # Clients write meanwhile: at the beginning, half-way, and when the copy is complete.
        with Load(gateway.endpoint, writers) as load:
            load.wait_for_answers(20)
            wait_for_successor(gateway, wanted)
            gateway.kill()
    # The next start, with the old flags, switches to the successor.
    gateway.start()
    assert "The successor has taken over" in gateway.log.read_text()
    check_all(gateway, writers)
    gateway.kill()
    # After that the old flags are refused, and the error gives the new ones.
    refused = gateway.run("check")
    assert refused.returncode == 2 and f"--key-file {key}" in refused.stderr, refused.stderr
    gateway.vault, gateway.capacity, gateway.serve_flags = "after", "24MiB", ["--key-file", str(key)]
    gateway.start()
    check_all(gateway, writers)
    s3 = gateway.endpoint.client()
    for number in range(6):
        assert s3.get_object(Bucket=BUCKET, Key=f"kept/{number}")["Body"].read() == content(1 << 19, number)
    # More than the old vault had room for.
    for number in range(4):
        s3.put_object(Bucket=BUCKET, Key=f"large/{number}", Body=content(4 << 20, number))
    for number in range(4):
        got = s3.get_object(Bucket=BUCKET, Key=f"large/{number}")["Body"].read()
        assert got == content(4 << 20, number)
    gateway.stop()
    gateway.check("--key-file", str(key))
    other = gateway.run("check", "--key-file", str(gateway.data / "master.key"))
    assert other.returncode == 1 and "the key does not open this vault" in other.stderr, other.stderr
