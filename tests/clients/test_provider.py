"""What the provider sees, and what happens if it returns other data than it was given."""

from __future__ import annotations

import random
import re
import shutil
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from content import content
from programs import Gateway, UntrustedSide

TAMPERING = 3
"""The exit code of a command that has detected tampering."""

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
        output = path.relative_to(gateway.untrusted.folder).as_posix().encode() + path.read_bytes()
        assert not any(word in output for word in words), path
    # The output at the start lists commands to try, but nothing that was stored.
    log = gateway.log.read_bytes()
    assert log and not any(word in log for word in words)


def test_the_number_of_accesses_does_not_depend_on_which_objects_are_read(new_gateway):
    """Reads of one object cause as many accesses as reads of different objects."""
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client()
    s3.create_bucket(Bucket=BUCKET)
    for number in range(8):
        s3.put_object(Bucket=BUCKET, Key=str(number), Body=content(65536, number))
    keys = {"the same": ["0"] * 64, "all in turn": [str(turn % 8) for turn in range(64)], "none": ["?"] * 64}
    accesses = {}
    for name, asked in keys.items():
        before = metrics(gateway)["ameles_accesses_total"]
        for key in asked:
            with suppress(ClientError):
                s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        accesses[name] = metrics(gateway)["ameles_accesses_total"] - before
    # Each get has an access of its block, and a dummy in the object of the journal that its answer waits for. A missing
    # object causes no access: the gateway looks names up on the trusted side.
    assert accesses == {"the same": 128, "all in turn": 128, "none": 0}


def metrics(gateway: Gateway) -> dict[str, float]:
    """Returns the public figures."""
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.split() for line in lines if not line.startswith("#"))}


def flip(files: list[Path]) -> None:
    """Flips one bit in each block of each file, so that every read detects it.

    A running gateway removes replaced files. Nothing reads them, so a missing file is skipped.
    """
    for path in files:
        try:
            data = bytearray(path.read_bytes())
        except FileNotFoundError:
            continue
        for at in range(random.randrange(min(Gateway.BLOCK, len(data))), len(data), Gateway.BLOCK):
            data[at] ^= 1 << random.randrange(8)
        path.write_bytes(data)


def truncate(files: list[Path]) -> None:
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])


def delete(files: list[Path]) -> None:
    for path in files:
        path.unlink()


def swap(files: list[Path]) -> None:
    """Exchanges the contents of files of equal length."""
    lengths: dict[int, list[Path]] = {}
    for path in files:
        lengths.setdefault(path.stat().st_size, []).append(path)
    for same_length in lengths.values():
        contents = [path.read_bytes() for path in same_length]
        for path, data in zip(same_length, contents[1:] + contents[:1]):
            path.write_bytes(data)


def restore_copy(copy: Path, folder: Path) -> None:
    """Replaces the content of a folder with that of a copy."""
    for child in folder.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    shutil.copytree(copy, folder, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def copies(new_gateway_of_module) -> tuple[Gateway, Path]:
    """A stopped vault, and a folder with copies: `earlier` and `now` of its provider, and `data`."""
    gateway: Gateway = new_gateway_of_module()
    provider_files, copies = gateway.untrusted.folder / UntrustedSide.BUCKET, gateway.untrusted.folder.parent / "copies"
    gateway.start()
    fill(gateway)
    gateway.stop()
    shutil.copytree(provider_files, copies / "earlier")
    gateway.start()
    s3 = gateway.endpoint.client()
    for number in range(24):
        s3.put_object(Bucket=BUCKET, Key=f"{NAME}-{number}", Body=content(65536, number))
    gateway.stop()
    shutil.copytree(provider_files, copies / "now")
    shutil.copytree(gateway.data, copies / "data")
    return gateway, copies


@pytest.fixture
def stopped_vault(copies) -> tuple[Gateway, Path]:
    """The stopped vault, restored, and an older copy of its provider. It is made once, because no test serves it."""
    gateway, folder = copies
    restore_copy(folder / "now", gateway.untrusted.folder / UntrustedSide.BUCKET)
    restore_copy(folder / "data", gateway.data)
    return gateway, folder / "earlier"


@pytest.mark.parametrize("tamper", [flip, truncate, delete, swap])
def test_tampering_with_buckets_is_found_by_check(stopped_vault, tamper: Callable[[list[Path]], None]):
    gateway, _ = stopped_vault
    gateway.check()
    tamper([path for path in gateway.untrusted.files() if "buckets" in path.parts])
    check_finds_tampering(gateway)


def test_a_store_that_was_rolled_back_whole_is_found_by_check(stopped_vault):
    gateway, earlier = stopped_vault
    restore_copy(earlier, gateway.untrusted.folder / UntrustedSide.BUCKET)
    check_finds_tampering(gateway)


def check_finds_tampering(gateway: Gateway) -> None:
    checked = gateway.run("check")
    output = checked.stdout + checked.stderr
    assert checked.returncode == TAMPERING, output
    assert re.search(r"tampering|bucket \d+", output), output


@pytest.mark.parametrize("tamper", [flip, truncate, delete])
def test_a_vault_whose_header_was_tampered_with_does_not_open(stopped_vault, tamper):
    gateway, _ = stopped_vault
    tamper([path for path in gateway.untrusted.files() if path.name == "vault"])
    checked = gateway.run("check")
    assert checked.returncode not in (0, 2), checked.stdout + checked.stderr
    assert checked.stderr.count("error: ") == 1, checked.stderr


def test_tampering_under_a_running_gateway_is_an_error_and_never_an_answer(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    s3 = gateway.endpoint.client(read_timeout=60)
    s3.create_bucket(Bucket=BUCKET)
    objects = {str(number): content(1 << 20, number) for number in range(8)}
    for key, data in objects.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=data)
    flip([path for path in gateway.untrusted.files() if "buckets" in path.parts])
    failed = 0
    for key, data in objects.items():
        try:
            found = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        except (ClientError, BotoCoreError):
            failed += 1
        else:
            assert found == data
    assert failed, "no flipped bit was detected"
    assert gateway.program.process.wait(timeout=240) == TAMPERING, gateway.program.output()
