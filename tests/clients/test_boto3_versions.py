"""Versions of objects, as an application that uses boto3 handles them."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from content import content
from programs import Endpoint, Gateway
from test_boto3_objects import BLOCK, get, refusal

KILLS = 3


@pytest.fixture
def versioned(s3, bucket) -> Iterator[str]:
    """A bucket with versioning. All versions are removed afterwards."""
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    yield bucket
    empty(s3, bucket)


def empty(s3, bucket: str) -> None:
    """Removes all versions as tools that empty buckets do: many versions of one key in one request."""
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        listed = page.get("Versions", []) + page.get("DeleteMarkers", [])
        if listed:
            named = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in listed]
            answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": named})
            assert "Errors" not in answer, answer


def listed(s3, bucket: str, **named) -> list[tuple[str, str, bool]]:
    """Returns key, version, and whether it is a delete marker; the two kinds are not in one order."""
    answer = s3.list_object_versions(Bucket=bucket, **named)
    versions = [(entry["Key"], entry["VersionId"], False) for entry in answer.get("Versions", [])]
    return versions + [(entry["Key"], entry["VersionId"], True) for entry in answer.get("DeleteMarkers", [])]


def test_a_bucket_says_whether_it_keeps_versions(s3, bucket):
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    assert "VersionId" not in s3.put_object(Bucket=bucket, Key="key", Body=b"first")
    assert "VersionId" not in s3.get_object(Bucket=bucket, Key="key")
    for status in ["Enabled", "Suspended", "Enabled"]:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})
        assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == status
    assert s3.get_object(Bucket=bucket, Key="key")["VersionId"] == "null"
    for configuration, code in [({"Status": "Off"}, "MalformedXML"), ({}, "MalformedXML")]:
        answer = refusal(s3.put_bucket_versioning, Bucket=bucket, VersioningConfiguration=configuration)
        assert answer == (400, code)
    with_device = {"Status": "Enabled", "MFADelete": "Enabled"}
    answer = refusal(s3.put_bucket_versioning, Bucket=bucket, VersioningConfiguration=with_device)
    assert answer == (501, "NotImplemented")
    empty(s3, bucket)


@pytest.mark.parametrize("length", [10, BLOCK + 1])
def test_replaced_and_deleted_content_can_be_read_by_its_version(s3, versioned, length):
    bodies = [content(length, number) for number in range(3)]
    names = [s3.put_object(Bucket=versioned, Key="key", Body=body)["VersionId"] for body in bodies]
    assert len(set(names)) == 3
    deleted = s3.delete_object(Bucket=versioned, Key="key")
    assert deleted["DeleteMarker"]
    assert refusal(s3.get_object, Bucket=versioned, Key="key") == (404, "NoSuchKey")
    for name, body in zip(names, bodies, strict=True):
        assert get(s3, versioned, "key", VersionId=name) == body
        assert get(s3, versioned, "key", VersionId=name, Range="bytes=2-5") == body[2:6]
        head = s3.head_object(Bucket=versioned, Key="key", VersionId=name)
        assert (head["VersionId"], head["ContentLength"]) == (name, length)
        attributes = s3.get_object_attributes(
            Bucket=versioned, Key="key", VersionId=name, ObjectAttributes=["ObjectSize"]
        )
        assert (attributes["VersionId"], attributes["ObjectSize"]) == (name, length)
    answer = s3.list_object_versions(Bucket=versioned)
    assert [entry["VersionId"] for entry in answer["Versions"]] == names[::-1]
    assert [entry["IsLatest"] for entry in answer["Versions"]] == [False] * 3
    assert [entry["VersionId"] for entry in answer["DeleteMarkers"]] == [deleted["VersionId"]]
    assert answer["DeleteMarkers"][0]["IsLatest"]
    # Without the delete marker the newest version is current again, and without that one the version before it.
    s3.delete_object(Bucket=versioned, Key="key", VersionId=deleted["VersionId"])
    assert get(s3, versioned, "key") == bodies[2]
    s3.delete_object(Bucket=versioned, Key="key", VersionId=names[2])
    assert get(s3, versioned, "key") == bodies[1]
    missing = refusal(s3.get_object, Bucket=versioned, Key="key", VersionId=names[2])
    assert missing == (404, "NoSuchVersion")
    assert refusal(s3.get_object, Bucket=versioned, Key="key", VersionId="nonsense") == (400, "InvalidArgument")


def test_a_bucket_with_old_versions_is_not_removed(s3, versioned):
    s3.put_object(Bucket=versioned, Key="key", Body=b"x")
    s3.delete_object(Bucket=versioned, Key="key")
    assert "Contents" not in s3.list_objects_v2(Bucket=versioned)
    assert refusal(s3.delete_bucket, Bucket=versioned) == (409, "BucketNotEmpty")
    for key, version, is_marker in listed(s3, versioned):
        assert refusal(s3.delete_bucket, Bucket=versioned) == (409, "BucketNotEmpty")
        gone = s3.delete_object(Bucket=versioned, Key=key, VersionId=version)
        assert gone.get("DeleteMarker", False) == is_marker
    s3.delete_bucket(Bucket=versioned)
    s3.create_bucket(Bucket=versioned)
    assert "Status" not in s3.get_bucket_versioning(Bucket=versioned)


def test_with_versioning_suspended_there_is_one_null_version(s3, bucket):
    s3.put_object(Bucket=bucket, Key="key", Body=b"before")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    numbered = s3.put_object(Bucket=bucket, Key="key", Body=b"numbered")["VersionId"]
    assert get(s3, bucket, "key", VersionId="null") == b"before"
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    for body in [b"after", b"again"]:
        assert "VersionId" not in s3.put_object(Bucket=bucket, Key="key", Body=body)
        assert get(s3, bucket, "key") == get(s3, bucket, "key", VersionId="null") == body
        assert get(s3, bucket, "key", VersionId=numbered) == b"numbered"
        assert [name for _, name, _ in listed(s3, bucket)] == ["null", numbered]
    deleted = s3.delete_object(Bucket=bucket, Key="key")
    assert (deleted["DeleteMarker"], deleted["VersionId"]) == (True, "null")
    assert listed(s3, bucket) == [("key", numbered, False), ("key", "null", True)]
    s3.delete_object(Bucket=bucket, Key="key", VersionId="null")
    assert get(s3, bucket, "key") == b"numbered"
    empty(s3, bucket)


def test_copies_and_uploads_in_parts_are_versions(s3, versioned):
    old = s3.put_object(Bucket=versioned, Key="key", Body=b"old", Tagging="a=b")["VersionId"]
    new = s3.put_object(Bucket=versioned, Key="key", Body=b"new")["VersionId"]
    source = {"Bucket": versioned, "Key": "key", "VersionId": old}
    copied = s3.copy_object(Bucket=versioned, Key="copy", CopySource=source)
    assert (copied["CopySourceVersionId"], get(s3, versioned, "copy")) == (old, b"old")
    # A copy of an old version onto its key makes it current.
    back = s3.copy_object(Bucket=versioned, Key="key", CopySource=source)
    assert get(s3, versioned, "key") == b"old"
    assert s3.get_object_tagging(Bucket=versioned, Key="key")["TagSet"] == [{"Key": "a", "Value": "b"}]
    names = [name for key, name, _ in listed(s3, versioned, Prefix="key")]
    assert names == [back["VersionId"], new, old]
    begun = s3.create_multipart_upload(Bucket=versioned, Key="key")["UploadId"]
    upload = {"Bucket": versioned, "Key": "key", "UploadId": begun}
    part = s3.upload_part_copy(**upload, PartNumber=1, CopySource={**source, "VersionId": new})
    assert part["CopySourceVersionId"] == new
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["CopyPartResult"]["ETag"]}]}
    done = s3.complete_multipart_upload(**upload, MultipartUpload=parts)
    assert s3.head_object(Bucket=versioned, Key="key")["VersionId"] == done["VersionId"]
    assert get(s3, versioned, "key") == b"new"
    # A repeated request, after a lost answer, gives the same version, even if a newer one exists.
    for _ in range(2):
        again = s3.complete_multipart_upload(**upload, MultipartUpload=parts)
        assert (again["VersionId"], again["ETag"]) == (done["VersionId"], done["ETag"])
        s3.put_object(Bucket=versioned, Key="key", Body=b"newer")
    marker = s3.delete_object(Bucket=versioned, Key="key")["VersionId"]
    assert refusal(
        s3.copy_object, Bucket=versioned, Key="copy", CopySource={**source, "VersionId": marker}
    ) == (400, "InvalidRequest")
    assert refusal(
        s3.copy_object, Bucket=versioned, Key="copy", CopySource={"Bucket": versioned, "Key": "key"}
    ) == (404, "NoSuchKey")


def test_each_version_has_tags_of_its_own(s3, versioned):
    names = [s3.put_object(Bucket=versioned, Key="key", Body=b"x")["VersionId"] for _ in range(2)]
    tags = [[{"Key": "n", "Value": str(number)}] for number in range(2)]
    for name, tag in zip(names, tags, strict=True):
        s3.put_object_tagging(Bucket=versioned, Key="key", VersionId=name, Tagging={"TagSet": tag})
    for name, tag in zip(names, tags, strict=True):
        found = s3.get_object_tagging(Bucket=versioned, Key="key", VersionId=name)
        assert (found["TagSet"], found["VersionId"]) == (tag, name)
    s3.delete_object_tagging(Bucket=versioned, Key="key", VersionId=names[0])
    assert s3.get_object_tagging(Bucket=versioned, Key="key", VersionId=names[0])["TagSet"] == []
    assert s3.get_object_tagging(Bucket=versioned, Key="key")["TagSet"] == tags[1]
    assert s3.get_object_acl(Bucket=versioned, Key="key", VersionId=names[0])["Grants"]
    assert [name for _, name, _ in listed(s3, versioned)] == names[::-1]
    marker = s3.delete_object(Bucket=versioned, Key="key")["VersionId"]
    answer = refusal(s3.get_object_tagging, Bucket=versioned, Key="key", VersionId=marker)
    assert answer == (405, "MethodNotAllowed")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pages_of_versions_together_are_the_whole_list(s3, versioned, size):
    keys = ["a", "a b/\u00e9", "b/1", "b/2", "c"]
    made = {}
    for number in range(3):
        for key in keys:
            made.setdefault(key, []).insert(0, s3.put_object(Bucket=versioned, Key=key, Body=b"x")["VersionId"])
        made["c"].insert(0, s3.delete_object(Bucket=versioned, Key="c")["VersionId"])
    paginator = s3.get_paginator("list_object_versions")
    found, prefixes = [], []
    for page in paginator.paginate(Bucket=versioned, Delimiter="/", PaginationConfig={"PageSize": size}):
        entries = page.get("Versions", []) + page.get("DeleteMarkers", [])
        groups = [group["Prefix"] for group in page.get("CommonPrefixes", [])]
        assert len(entries) + len(groups) <= size
        found += [(entry["Key"], entry["VersionId"]) for entry in entries]
        prefixes += groups
    assert prefixes == ["a b/", "b/"]
    assert sorted(found) == sorted((key, name) for key in ["a", "c"] for name in made[key])
    if size == 1:
        assert [name for key, name in found if key == "c"] == made["c"]
    below = s3.list_object_versions(Bucket=versioned, Prefix="a b/")
    assert [entry["VersionId"] for entry in below["Versions"]] == made["a b/\u00e9"]
    after = s3.list_object_versions(Bucket=versioned, KeyMarker="c", VersionIdMarker=made["c"][0])
    assert made["c"][0] not in str(after["DeleteMarkers"])
    assert len(after["DeleteMarkers"] + after["Versions"]) == 5


def turns(endpoint: Endpoint, bucket: str, seed: int, acknowledged: list, in_flight: list) -> None:
    """Puts and deletes one key until the gateway is killed. Records which requests were acknowledged."""
    s3 = endpoint.client(connect_timeout=5, read_timeout=30)
    rng = random.Random(seed)
    number = 0
    while True:
        number += 1
        body = None if rng.random() < 0.3 else content(rng.choice([1, 1000, 2 * BLOCK]), (seed, number))
        in_flight[:] = [body]
        try:
            if body is None:
                name = s3.delete_object(Bucket=bucket, Key="key")["VersionId"]
            else:
                name = s3.put_object(Bucket=bucket, Key="key", Body=body)["VersionId"]
        except (ClientError, BotoCoreError):
            return
        acknowledged.append((name, body))
        in_flight.clear()


def test_acknowledged_versions_and_delete_markers_survive_kill_9(new_gateway):
    gateway: Gateway = new_gateway()
    gateway.start()
    gateway.endpoint.client().create_bucket(Bucket="kept")
    enabled = {"Status": "Enabled"}
    gateway.endpoint.client().put_bucket_versioning(Bucket="kept", VersioningConfiguration=enabled)
    known: list[tuple[str, bytes | None]] = []
    for turn in range(KILLS):
        enough = len(known) + 8
        in_flight: list[bytes | None] = []
        worker = threading.Thread(target=turns, args=(gateway.endpoint, "kept", turn, known, in_flight))
        worker.start()
        while len(known) < enough:
            worker.join(0.01)
            assert worker.is_alive(), "the load ended by itself"
        gateway.kill()
        worker.join()
        gateway.start()
        s3 = gateway.endpoint.client()
        assert s3.get_bucket_versioning(Bucket="kept")["Status"] == "Enabled"
        order = []
        for page in s3.get_paginator("list_object_versions").paginate(
            Bucket="kept", PaginationConfig={"PageSize": 1}
        ):
            order += [entry["VersionId"] for entry in page.get("Versions", []) + page.get("DeleteMarkers", [])]
        order.reverse()
        assert order[: len(known)] == [name for name, _ in known]
        # The request that the kill interrupted has happened completely or not at all.
        for name in order[len(known) :]:
            known.append((name, in_flight.pop()))
        for name, body in known:
            if body is None:
                answer = refusal(s3.get_object, Bucket="kept", Key="key", VersionId=name)
                assert answer == (405, "MethodNotAllowed")
            else:
                assert get(s3, "kept", "key", VersionId=name) == body
    empty(gateway.endpoint.client(), "kept")
    gateway.endpoint.client().delete_bucket(Bucket="kept")
    gateway.stop()
