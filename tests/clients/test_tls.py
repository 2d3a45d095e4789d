"""Clients over TLS, with a certificate that only they trust."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace

import pytest
import requests
import trustme
from botocore.exceptions import SSLError
from content import content
from programs import READY_TIMEOUT, Gateway, Program, free_port
from swiftclient import ClientException

BUCKET = "secured"


def write_pair(gateway: Gateway, authority: trustme.CA) -> None:
    """Writes a certificate of an authority, and its key, to the gateway's files."""
    issued = authority.issue_cert("127.0.0.1")
    cert, key = gateway.tls
    cert.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    key.touch(mode=0o600)
    key.write_bytes(issued.private_key_pem.bytes())


@pytest.fixture
def authority() -> trustme.CA:
    """The authority of the gateway's certificate."""
    return trustme.CA()


@pytest.fixture
def tls_gateway(new_gateway, authority, tmp_path) -> Gateway:
    """A running gateway with TLS."""
    gateway = new_gateway()
    gateway.tls = (tmp_path / "cert.pem", tmp_path / "key.pem")
    write_pair(gateway, authority)
    gateway.start()
    return gateway


def client_that_trusts(gateway: Gateway, authority: trustme.CA, tmp_path):
    """Returns a boto3 client that trusts only this authority."""
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    return gateway.endpoint.client(verify=str(file))


def test_boto3_is_served_when_it_trusts_the_certificate_and_not_otherwise(tls_gateway, authority, tmp_path):
    s3 = client_that_trusts(tls_gateway, authority, tmp_path)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="k", Body=content(3_000_000))
    assert s3.get_object(Bucket=BUCKET, Key="k")["Body"].read() == content(3_000_000)
    created = {"success_action_status": "201"}
    form = s3.generate_presigned_post(BUCKET, "form", Fields=created, Conditions=[created])
    sent = requests.post(
        form["url"], data=form["fields"], files={"file": b"sent"}, verify=str(tmp_path / "ca.pem"), timeout=READY_TIMEOUT
    )
    assert sent.status_code == 201 and sent.headers["Location"] == f"{tls_gateway.endpoint.url}/{BUCKET}/form", sent.text
    with pytest.raises(SSLError):
        client_that_trusts(tls_gateway, trustme.CA(), tmp_path).list_buckets()
    tls_gateway.stop()


def test_a_renewed_certificate_is_used(tls_gateway, authority, tmp_path):
    client_that_trusts(tls_gateway, authority, tmp_path).create_bucket(Bucket=BUCKET)
    other = trustme.CA()
    write_pair(tls_gateway, other)
    deadline = time.monotonic() + READY_TIMEOUT
    while True:
        try:
            names = [bucket["Name"] for bucket in client_that_trusts(tls_gateway, other, tmp_path).list_buckets()["Buckets"]]
            break
        except SSLError:
            assert time.monotonic() < deadline, "the new certificate is not served"
            time.sleep(0.2)
    assert names == [BUCKET]


def test_rclone_is_served(tls_gateway, authority, rclone_program, tmp_path):
    client_that_trusts(tls_gateway, authority, tmp_path).create_bucket(Bucket=BUCKET)
    (tmp_path / "file").write_bytes(content(200_000))
    rclone = [str(rclone_program), "--ca-cert", str(tmp_path / "ca.pem")]
    environment = tls_gateway.endpoint.rclone_environment()
    copy = [*rclone, "copy", str(tmp_path / "file"), f"ameles:{BUCKET}"]
    subprocess.run(copy, env=environment, check=True, timeout=240)
    cat = [*rclone, "cat", f"ameles:{BUCKET}/file"]
    got = subprocess.run(cat, env=environment, check=True, timeout=240, capture_output=True)
    assert got.stdout == content(200_000)


def test_swift_is_served_over_tls_only_to_clients_that_trust_the_certificate_and_returns_https_addresses(
    tls_gateway, authority, tmp_path
):
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    login = replace(tls_gateway.add_user("ameles", "other", "owner"), authority=file)
    login.wait_until_good()
    swift = login.connection()
    assert swift.get_auth()[0].startswith(tls_gateway.url(tls_gateway.swift_port))
    swift.put_container(BUCKET)
    swift.put_object(BUCKET, "k", content(200_000))
    assert swift.get_object(BUCKET, "k")[1] == content(200_000)
    with pytest.raises((requests.exceptions.SSLError, ClientException)):
        replace(login, authority=None).connection().get_auth()


def test_a_key_that_everybody_may_read_is_refused(tls_gateway):
    tls_gateway.stop()
    tls_gateway.tls[1].chmod(0o644)
    ended = tls_gateway.run("serve", "--tls-cert", str(tls_gateway.tls[0]), "--tls-key", str(tls_gateway.tls[1]))
    assert ended.returncode == 2
    assert "has mode 0644" in ended.stderr


def test_a_provider_is_reached_over_tls_when_its_certificate_is_trusted_and_not_otherwise(
    new_gateway, authority, tmp_path, monkeypatch
):
    gateway: Gateway = new_gateway()
    gateway.tls = (tmp_path / "cert.pem", tmp_path / "key.pem")
    write_pair(gateway, authority)
    (cert, key), gateway.tls = gateway.tls, None
    provider = gateway.untrusted
    url = f"https://127.0.0.1:{free_port()}"
    command = [str(provider.binary), "--quiet", "--port", url.removeprefix("https://")]
    command += ["--access", provider.endpoint.access_key, "--secret", provider.endpoint.secret_key]
    command += ["--cert", str(cert), "--key", str(key), "posix", str(provider.folder)]
    over_tls = Program(command, tmp_path / "over-tls.log")
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(trusted)
    provider.endpoint = replace(provider.endpoint, url=url)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    try:
        gateway.start()
        s3 = gateway.endpoint.client()
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="k", Body=content(300_000))
        assert s3.get_object(Bucket=BUCKET, Key="k")["Body"].read() == content(300_000)
        gateway.stop()

        trustme.CA().cert_pem.write_to_path(trusted)
        refused = gateway.run("check")
        assert refused.returncode != 0 and "certificate" in refused.stderr, refused.stderr
    finally:
        over_tls.kill()
