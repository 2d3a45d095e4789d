"""python-swiftclient and keystoneauth against the Swift server."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pytest
import swiftclient
from content import content, make_tree, md5, tree
from keystoneauth1 import identity, session
from programs import Gateway
from swiftclient.utils import generate_temp_url


@pytest.fixture
def container() -> str:
    """A name that no other test uses."""
    return f"swift-{uuid.uuid4().hex[:12]}"


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_objects_come_back_with_every_version_of_authentication(shared_gateway: Gateway, container: str, version: str):
    swift = shared_gateway.swift.connection(version)
    swift.put_container(container, {"X-Container-Meta-Colour": "grey"})
    bodies = {f"folder/{length} é": content(length, length) for length in (0, 1, 65536, 200_000)}
    for name, body in bodies.items():
        etag = swift.put_object(container, name, body, content_type="text/x", headers={"X-Object-Meta-Mood": "quiet"})
        assert etag == md5(body)
        headers, got = swift.get_object(container, name)
        assert got == body
        assert headers["content-type"] == "text/x" and headers["x-object-meta-mood"] == "quiet"
        assert int(swift.head_object(container, name)["content-length"]) == len(body)
    part = swift.get_object(container, "folder/200000 é", headers={"Range": "bytes=65530-65545"})[1]
    assert part == bodies["folder/200000 é"][65530:65546]
    headers, listed = swift.get_container(container, prefix="folder/", full_listing=True)
    assert headers["x-container-meta-colour"] == "grey"
    assert {entry["name"]: entry["hash"] for entry in listed} == {name: md5(body) for name, body in bodies.items()}
    assert [entry["subdir"] for entry in swift.get_container(container, delimiter="/")[1]] == ["folder/"]
    for name in bodies:
        swift.delete_object(container, name)
    swift.delete_container(container)
    with pytest.raises(swiftclient.ClientException) as missing:
        swift.head_container(container)
    assert missing.value.http_status == 404


def test_a_wrong_password_is_refused(shared_gateway: Gateway):
    login = shared_gateway.swift
    for version in ("1", "2", "3"):
        wrong = type(login)(login.url, login.account, login.user, "wrong").connection(version)
        with pytest.raises(swiftclient.ClientException):
            wrong.head_account()


def test_keystoneauth_finds_the_store_in_the_catalogue(shared_gateway: Gateway, container: str):
    login = shared_gateway.swift
    auth = identity.V3Password(
        auth_url=f"{login.url}/v3",
        username=login.user,
        password=login.password,
        project_name=login.account,
        user_domain_id="default",
        project_domain_id="default",
    )
    store = session.Session(auth=auth)
    where = {"service_type": "object-store"}
    assert store.put(f"/{container}", endpoint_filter=where).status_code == 201
    assert container in store.get("", endpoint_filter=where).text.splitlines()
    assert store.delete(f"/{container}", endpoint_filter=where).status_code == 204


def test_an_object_is_the_same_over_s3_and_swift(shared_gateway: Gateway, s3):
    swift = shared_gateway.swift.connection()
    name = f"both-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="by/s3", Body=b"by S3", Metadata={"mood": "quiet"})
    swift.put_object(name, "by/swift", b"by Swift", headers={"X-Object-Meta-Mood": "loud"})
    headers, body = swift.get_object(name, "by/s3")
    assert (body, headers["x-object-meta-mood"]) == (b"by S3", "quiet")
    got = s3.get_object(Bucket=name, Key="by/swift")
    assert (got["Body"].read(), got["Metadata"]) == (b"by Swift", {"mood": "loud"})
    for key in ("by/s3", "by/swift"):
        swift.delete_object(name, key)
    s3.delete_bucket(Bucket=name)


def swift_command(gateway: Gateway, *arguments: str, cwd: Path) -> str:
    """Runs the swift command line, and returns its output."""
    command = [str(Path(sys.executable).parent / "swift"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=gateway.swift.environment(), cwd=cwd, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["--use-slo", "--use-dlo"])
def test_a_large_file_is_uploaded_in_segments_and_downloaded_whole(
    shared_gateway: Gateway, container: str, tmp_path: Path, kind: str
):
    up, down = tmp_path / "up", tmp_path / "down"
    make_tree(up, {"large": 1_000_000, "dir/small": 10})
    swift_command(shared_gateway, "upload", "--segment-size", "300000", kind, container, "large", "dir", cwd=up)
    down.mkdir()
    swift_command(shared_gateway, "download", container, cwd=down)
    assert tree(down) == tree(up)
    swift = shared_gateway.swift.connection()
    assert len(swift.get_container(f"{container}_segments")[1]) == 4
    part = swift.get_object(container, "large", headers={"Range": "bytes=299990-600010"})[1]
    assert part == (up / "large").read_bytes()[299990:600011]
    swift_command(shared_gateway, "delete", container, cwd=up)
    swift_command(shared_gateway, "delete", f"{container}_segments", cwd=up)


def test_a_temporary_url_opens_one_object_for_one_method(shared_gateway: Gateway, container: str):
    swift = shared_gateway.swift.connection()
    swift.put_container(container, {"X-Container-Meta-Temp-URL-Key": "some key"})
    swift.put_object(container, "o", b"for whoever has the link")
    base = shared_gateway.swift.url
    path = generate_temp_url(f"/v1/AUTH_ameles/{container}/o", 600, "some key", "GET")
    with urllib.request.urlopen(base + path) as answer:
        assert answer.read() == b"for whoever has the link"
    for request in (
        urllib.request.Request(base + path, method="PUT", data=b"x"),
        urllib.request.Request(base + path.replace("/o?", "/p?")),
        urllib.request.Request(base + generate_temp_url(f"/v1/AUTH_ameles/{container}/o", 600, "other", "GET")),
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 401


def test_a_user_who_is_added_while_the_gateway_runs_sees_what_is_granted(shared_gateway: Gateway, container: str):
    owner = shared_gateway.swift.connection()
    owner.put_container(container)
    owner.put_object(container, "o", b"granted")
    guest = shared_gateway.add_user("guests", f"guest-{container}", "member").connection()
    storage = f"{shared_gateway.swift.url}/v1/AUTH_ameles"
    deadline = time.monotonic() + 240
    while True:
        try:
            _, token = guest.get_auth()
            break
        except swiftclient.ClientException:
            assert time.monotonic() < deadline, "the gateway does not accept the new user"
            time.sleep(0.1)
    with pytest.raises(swiftclient.ClientException) as refused:
        swiftclient.get_object(storage, token, container, "o")
    assert refused.value.http_status == 403
    owner.post_container(container, {"X-Container-Read": f"guests:guest-{container}"})
    assert swiftclient.get_object(storage, token, container, "o")[1] == b"granted"
    with pytest.raises(swiftclient.ClientException) as refused:
        swiftclient.put_object(storage, token, container, "o", b"mine")
    assert refused.value.http_status == 403
