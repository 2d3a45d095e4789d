"""Buckets and lists of their objects."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from test_boto3_objects import refusal

KEYS = ["a.txt", "b/1", "b/2", "b/c/3", "d.txt", "e/4", "e/5"]


@pytest.fixture
def filled(s3, bucket) -> str:
    """A bucket that holds KEYS."""
    for key in KEYS:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    return bucket


def keys(answer: dict) -> list[str]:
    return [entry["Key"] for entry in answer.get("Contents", [])]


def prefixes(answer: dict) -> list[str]:
    return [entry["Prefix"] for entry in answer.get("CommonPrefixes", [])]


def test_a_bucket_is_listed_from_its_making_to_its_removal(s3):
    s3.create_bucket(Bucket="made-and-removed")
    try:
        s3.head_bucket(Bucket="made-and-removed")
        assert "made-and-removed" in [entry["Name"] for entry in s3.list_buckets()["Buckets"]]
    finally:
        s3.delete_bucket(Bucket="made-and-removed")
    assert "made-and-removed" not in [entry["Name"] for entry in s3.list_buckets()["Buckets"]]
    assert refusal(s3.head_bucket, Bucket="made-and-removed")[0] == 404


def test_a_bucket_that_holds_something_is_not_removed(s3, filled):
    assert refusal(s3.delete_bucket, Bucket=filled) == (409, "BucketNotEmpty")
    assert keys(s3.list_objects_v2(Bucket=filled)) == KEYS


def test_a_bucket_that_is_missing_is_named_in_the_error(s3):
    assert refusal(s3.put_object, Bucket="no-such-bucket", Key="k", Body=b"x") == (404, "NoSuchBucket")
    assert refusal(s3.list_objects_v2, Bucket="no-such-bucket") == (404, "NoSuchBucket")


def test_a_list_is_sorted_and_has_sizes_and_etags(s3, filled):
    answer = s3.list_objects_v2(Bucket=filled)
    assert keys(answer) == KEYS
    assert answer["KeyCount"] == len(KEYS)
    assert not answer["IsTruncated"]
    for entry in answer["Contents"]:
        assert entry["Size"] == len(entry["Key"])
        head = s3.head_object(Bucket=filled, Key=entry["Key"])
        assert entry["ETag"] == head["ETag"]


def test_a_prefix_selects(s3, filled):
    assert keys(s3.list_objects_v2(Bucket=filled, Prefix="b/")) == ["b/1", "b/2", "b/c/3"]
    assert keys(s3.list_objects_v2(Bucket=filled, Prefix="z")) == []


def test_a_delimiter_folds_folders(s3, filled):
    top = s3.list_objects_v2(Bucket=filled, Delimiter="/")
    assert (keys(top), prefixes(top)) == (["a.txt", "d.txt"], ["b/", "e/"])
    below = s3.list_objects_v2(Bucket=filled, Delimiter="/", Prefix="b/")
    assert (keys(below), prefixes(below)) == (["b/1", "b/2"], ["b/c/"])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_together_are_the_whole_list(s3, filled, size):
    pages = list(
        s3.get_paginator("list_objects_v2").paginate(Bucket=filled, PaginationConfig={"PageSize": size})
    )
    assert [key for page in pages for key in keys(page)] == KEYS
    assert all(len(keys(page)) <= size for page in pages)


def test_pages_with_a_delimiter_name_each_folder_once(s3, filled):
    paginator = s3.get_paginator("list_objects_v2")
    pages = list(paginator.paginate(Bucket=filled, Delimiter="/", PaginationConfig={"PageSize": 1}))
    assert [key for page in pages for key in keys(page)] == ["a.txt", "d.txt"]
    assert [prefix for page in pages for prefix in prefixes(page)] == ["b/", "e/"]


def test_the_first_version_of_lists_pages_by_marker(s3, filled):
    first = s3.list_objects(Bucket=filled, MaxKeys=3)
    assert (keys(first), first["IsTruncated"]) == (KEYS[:3], True)
    rest = s3.list_objects(Bucket=filled, Marker=KEYS[2])
    assert (keys(rest), rest["IsTruncated"]) == (KEYS[3:], False)


def test_a_list_starts_after_the_key_asked_for(s3, filled):
    assert keys(s3.list_objects_v2(Bucket=filled, StartAfter="b/2")) == KEYS[3:]


def test_two_buckets_keep_their_objects_apart(s3, filled):
    s3.create_bucket(Bucket="another-bucket")
    try:
        assert keys(s3.list_objects_v2(Bucket="another-bucket")) == []
        assert refusal(s3.get_object, Bucket="another-bucket", Key=KEYS[0]) == (404, "NoSuchKey")
    finally:
        s3.delete_bucket(Bucket="another-bucket")


def test_lifecycle_rules_are_set_returned_and_deleted(s3, bucket):
    day = datetime(3012, 12, 21, tzinfo=UTC)
    rules = [
        {
            "ID": "logs",
            "Filter": {"And": {"Prefix": "logs/", "Tags": [{"Key": "kind", "Value": "brief"}], "ObjectSizeLessThan": 99}},
            "Status": "Enabled",
            "Expiration": {"Date": day},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 7, "NewerNoncurrentVersions": 2},
        },
        {
            "ID": "uploads",
            "Filter": {"Prefix": ""},
            "Status": "Disabled",
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3},
        },
    ]
    assert refusal(s3.get_bucket_lifecycle_configuration, Bucket=bucket) == (404, "NoSuchLifecycleConfiguration")
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == rules
    put = s3.put_object(Bucket=bucket, Key="logs/1", Body=b"content", Tagging="kind=brief")
    expiration = 'expiry-date="Mon, 21 Dec 3012 00:00:00 GMT", rule-id="logs"'
    head, got = s3.head_object(Bucket=bucket, Key="logs/1"), s3.get_object(Bucket=bucket, Key="logs/1")
    assert [answer["Expiration"] for answer in (put, head, got)] == [expiration] * 3
    assert "Expiration" not in s3.put_object(Bucket=bucket, Key="logs/2", Body=b"content")
    moves = [{"ID": "cold", "Filter": {}, "Status": "Enabled", "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}]
    answer = refusal(
        s3.put_bucket_lifecycle_configuration, Bucket=bucket, LifecycleConfiguration={"Rules": moves}
    )
    assert answer == (501, "NotImplemented")
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == rules
    s3.delete_bucket_lifecycle(Bucket=bucket)
    assert refusal(s3.get_bucket_lifecycle_configuration, Bucket=bucket) == (404, "NoSuchLifecycleConfiguration")
    assert "Expiration" not in s3.head_object(Bucket=bucket, Key="logs/1")


def test_a_lifecycle_rule_removes_the_objects_that_match_and_no_others(s3, bucket):
    for key in ["logs/1", "logs/2", "kept"]:
        s3.put_object(Bucket=bucket, Key=key, Body=b"content")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="logs/3")["UploadId"]
    past = {"ID": "past", "Filter": {"Prefix": "logs/"}, "Status": "Enabled"}
    past["Expiration"] = {"Date": datetime(2001, 1, 1, tzinfo=UTC)}
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [past]})
    while keys(s3.list_objects_v2(Bucket=bucket)) != ["kept"]:
        time.sleep(0.2)
    assert [entry["UploadId"] for entry in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == [upload]
