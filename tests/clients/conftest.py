"""Real clients against a running `ameles serve`, with a real S3 server as the untrusted side.

`cargo xtask test --only clients` installs what they need and runs them. These variables are for a run by hand:

AMELES_BIN               the program under test
AMELES_TEST_VERSITYGW    versitygw, the untrusted side
AMELES_BIN_WITH_ETCD     the same with a client of etcd
AMELES_TEST_ETCD         etcd; searched for on PATH if not given
AMELES_TEST_RCLONE       rclone; searched for on PATH if not given
AMELES_TEST_CHROMIUM     headless Chromium; Debian's if not given
AMELES_TEST_ENDPOINT     an S3 server to test instead of `ameles serve`, with AMELES_TEST_ACCESS_KEY and
                        AMELES_TEST_SECRET_KEY. Tests of ameles itself are skipped then. It shows whether a
                        failure is the client's, the test's or that of ameles
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from etcd import Etcd, Tls
from programs import Endpoint, Gateway, UntrustedSide

from browser import launch_chromium
from run_environment import find_file, restore_signals

STEP = "clients"


def pytest_configure() -> None:
    restore_signals()


@pytest.fixture(scope="session")
def ameles() -> Path:
    """The program under test."""
    if "AMELES_TEST_ENDPOINT" in os.environ:
        pytest.skip("tests ameles itself, and AMELES_TEST_ENDPOINT is another server")
    return find_file("AMELES_BIN", STEP)


@pytest.fixture(scope="session")
def versitygw() -> Path:
    """The S3 server that plays the provider."""
    return find_file("AMELES_TEST_VERSITYGW", STEP, "versitygw")


@pytest.fixture(scope="session")
def rclone_program() -> Path:
    """rclone."""
    return find_file("AMELES_TEST_RCLONE", STEP, "rclone")


@pytest.fixture(scope="session")
def etcd_program() -> Path:
    """The server of etcd."""
    return find_file("AMELES_TEST_ETCD", STEP, "etcd")


@pytest.fixture(scope="session")
def ameles_with_etcd() -> Path:
    """The program under test, with a client of etcd."""
    return find_file("AMELES_BIN_WITH_ETCD", STEP)


@pytest.fixture
def new_etcd(etcd_program: Path, tmp_path: Path) -> Iterator[Callable[..., Etcd]]:
    """Starts clusters of etcd for one test."""
    clusters: list[Etcd] = []

    def start(members: int = 1, tls: Tls | None = None) -> Etcd:
        folder = tmp_path / f"etcd-{len(clusters)}"
        folder.mkdir()
        clusters.append(Etcd(etcd_program, folder, members, tls))
        return clusters[-1]

    yield start
    for cluster in clusters:
        cluster.close()


@pytest.fixture
def place_journal(request: pytest.FixtureRequest) -> Callable[..., list[str]]:
    """Gives gateways of one vault the place of its journal. Returns the flags for it."""

    def place(journal: str, *gateways: Gateway) -> list[str]:
        if journal == "etcd":
            etcd = request.getfixturevalue("new_etcd")()
            for gateway in gateways:
                etcd.holds_journal_of(gateway, request.getfixturevalue("ameles_with_etcd"))
        return ["--journal", journal]

    return place


@pytest.fixture
def new_gateway(ameles: Path, versitygw: Path, tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
    """Makes gateways for one test, over one untrusted side. They are not started yet."""
    yield from _new_gateways(ameles, versitygw, tmp_path)


@pytest.fixture(scope="module")
def new_gateway_of_module(
    ameles: Path, versitygw: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Gateway]]:
    """Makes gateways that all tests of a module share, over one untrusted side. They are not started yet."""
    yield from _new_gateways(ameles, versitygw, tmp_path_factory.mktemp("module"))


def _new_gateways(ameles: Path, versitygw: Path, parent: Path) -> Iterator[Callable[..., Gateway]]:
    untrusted = UntrustedSide(versitygw, parent)
    gateways: list[Gateway] = []

    def make(name: str = "gateway", vault: str = "vault") -> Gateway:
        folder = parent / name
        folder.mkdir()
        gateways.append(Gateway(ameles, folder, untrusted, vault))
        return gateways[-1]

    yield make
    for gateway in gateways:
        gateway.kill()
    untrusted.close()


@pytest.fixture(scope="session")
def shared_gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A running gateway for all tests that need no gateway of their own."""
    ameles, versitygw = (request.getfixturevalue(name) for name in ("ameles", "versitygw"))
    folder = request.getfixturevalue("tmp_path_factory").mktemp("shared")
    untrusted = UntrustedSide(versitygw, folder)
    gateway = Gateway(ameles, folder, untrusted)
    try:
        gateway.start()
        yield gateway
        gateway.stop()
    finally:
        gateway.kill()
        untrusted.close()


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    """The S3 endpoint under test."""
    other = os.environ.get("AMELES_TEST_ENDPOINT")
    if other:
        return Endpoint(other, os.environ["AMELES_TEST_ACCESS_KEY"], os.environ["AMELES_TEST_SECRET_KEY"])
    return request.getfixturevalue("shared_gateway").endpoint


@pytest.fixture(scope="session")
def s3(endpoint: Endpoint):
    """A boto3 client of the endpoint."""
    return endpoint.client()


@pytest.fixture
def bucket(s3) -> Iterator[str]:
    """A bucket for one test. It is removed with its contents afterwards."""
    name = f"test-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name)
    yield name
    for upload in s3.list_multipart_uploads(Bucket=name).get("Uploads", []):
        s3.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name):
        for entry in page.get("Contents", []):
            s3.delete_object(Bucket=name, Key=entry["Key"])
    s3.delete_bucket(Bucket=name)


@pytest.fixture
def aws(endpoint: Endpoint) -> Callable[..., str]:
    """Runs the AWS command line with its default settings, and returns its output."""

    def run(*arguments: str, stdin: bytes | None = None) -> str:
        return _run([_python_script("aws"), *arguments], endpoint.aws_environment(), stdin)

    return run


@pytest.fixture
def rclone(endpoint: Endpoint, rclone_program: Path) -> Callable[..., bytes]:
    """Runs rclone, where the endpoint is the remote `ameles:`, and returns its output."""

    def run(*arguments: str) -> bytes:
        return _run([str(rclone_program), *arguments], endpoint.rclone_environment(), None, text=False)

    return run


@pytest.fixture(scope="session")
def minio_go(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Builds the program that uses MinIO's client for Go, and runs it in a bucket."""
    folder = tmp_path_factory.mktemp("minio-go")
    program = folder / "minio-go"
    source = Path(__file__).parent / "minio-go"
    built = subprocess.run(["go", "build", "-o", program, "."], cwd=source, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr

    def run(bucket: str) -> str:
        address = endpoint.url.removeprefix("http://")
        return _run([str(program), address, endpoint.access_key, endpoint.secret_key, bucket, str(folder)], {}, None)

    return run


@pytest.fixture(scope="module")
def chromium():
    """Debian's Chromium, driven by Playwright."""
    with launch_chromium() as chromium:
        yield chromium


@pytest.fixture
def browser(chromium):
    """Chromium for one test. Its pages are closed afterwards, because an open page continues drawing."""
    yield chromium
    for context in chromium.contexts:
        context.close()


def _python_script(program: str) -> str:
    return str(Path(sys.executable).parent / program)


def _run(command, env, stdin, text=True):
    done = subprocess.run(command, input=stdin or b"", capture_output=True, env=env, timeout=240)
    if done.returncode != 0:
        shown = (done.stdout + done.stderr).decode(errors="replace")
        raise AssertionError(f"`{' '.join(command)}` exited with {done.returncode}:\n{shown}")
    return done.stdout.decode() if text else done.stdout
