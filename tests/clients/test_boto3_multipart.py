"""Objects that are uploaded in parts."""

from __future__ import annotations

import hashlib

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError
from content import content
from test_boto3_objects import get, refusal

PART = 5 << 20
"""The minimum of S3 for each part but the last."""


@pytest.fixture
def upload(s3, bucket) -> str:
    """A multipart upload of the object `k`."""
    begun = s3.create_multipart_upload(Bucket=bucket, Key="k", ContentType="text/csv", Metadata={"in": "parts"})
    return begun["UploadId"]


def put_part(s3, bucket: str, upload: str, number: int, data: bytes) -> dict:
    answer = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=data)
    return {"PartNumber": number, "ETag": answer["ETag"]}


def complete(s3, bucket: str, upload: str, parts: list[dict]) -> dict:
    return s3.complete_multipart_upload(
        Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": parts}
    )


def test_parts_become_one_object_in_the_order_of_their_numbers(s3, bucket, upload):
    data = [content(PART, 1), content(PART, 2), content(1234, 3)]
    parts = [put_part(s3, bucket, upload, number, data[number - 1]) for number in (3, 1, 2)]
    assert refusal(s3.head_object, Bucket=bucket, Key="k")[0] == 404, "an upload shows before it is complete"
    parts.sort(key=lambda part: part["PartNumber"])
    done = complete(s3, bucket, upload, parts)
    digests = b"".join(hashlib.md5(part, usedforsecurity=False).digest() for part in data)
    assert done["ETag"] == f'"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-3"'
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == b"".join(data)
    assert (got["ContentType"], got["Metadata"]) == ("text/csv", {"in": "parts"})
    across = get(s3, bucket, "k", Range=f"bytes={PART - 3}-{PART + 3}")
    assert across == (data[0] + data[1])[PART - 3 : PART + 4]


def test_a_part_that_is_sent_again_replaces_the_first(s3, bucket, upload):
    put_part(s3, bucket, upload, 1, content(200_000, 1))
    part = put_part(s3, bucket, upload, 1, content(200_000, 2))
    complete(s3, bucket, upload, [part])
    assert get(s3, bucket, "k") == content(200_000, 2)


def test_parts_and_uploads_are_listed_until_the_upload_ends(s3, bucket, upload):
    part = put_part(s3, bucket, upload, 7, content(1000))
    listed = s3.list_parts(Bucket=bucket, Key="k", UploadId=upload)["Parts"]
    assert [(entry["PartNumber"], entry["Size"], entry["ETag"]) for entry in listed] == [(7, 1000, part["ETag"])]
    uploads = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert [(entry["Key"], entry["UploadId"]) for entry in uploads] == [("k", upload)]
    complete(s3, bucket, upload, [part])
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_an_aborted_upload_leaves_nothing(s3, bucket, upload):
    part = put_part(s3, bucket, upload, 1, content(200_000))
    s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload)
    with pytest.raises(ClientError, match="NoSuchUpload"):
        complete(s3, bucket, upload, [part])
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


def test_an_upload_with_a_wrong_part_is_refused(s3, bucket, upload):
    part = put_part(s3, bucket, upload, 1, content(200_000))
    wrong = part | {"ETag": '"00000000000000000000000000000000"'}
    assert refusal(complete, s3, bucket, upload, [wrong]) == (400, "InvalidPart")
    missing = {"PartNumber": 2, "ETag": part["ETag"]}
    assert refusal(complete, s3, bucket, upload, [part, missing]) == (400, "InvalidPart")


def test_a_part_that_is_too_small_is_refused_unless_it_is_the_last(s3, bucket, upload):
    small, large = (put_part(s3, bucket, upload, number, content(size)) for number, size in ((1, PART - 1), (2, 1000)))
    assert refusal(complete, s3, bucket, upload, [small, large]) == (400, "EntityTooSmall")
    complete(s3, bucket, upload, [small])
    assert get(s3, bucket, "k") == content(PART - 1)


def test_parts_out_of_order_and_beyond_the_last_number_are_refused(s3, bucket, upload):
    first, second = (put_part(s3, bucket, upload, number, content(1000)) for number in (1, 2))
    assert refusal(complete, s3, bucket, upload, [second, first]) == (400, "InvalidPartOrder")
    assert refusal(put_part, s3, bucket, upload, 10_001, b"data") == (400, "InvalidArgument")
    beyond = first | {"PartNumber": 10_001}
    assert refusal(complete, s3, bucket, upload, [first, beyond]) == (400, "InvalidArgument")


def test_a_large_file_is_uploaded_and_downloaded_with_parts_in_parallel(s3, bucket, tmp_path):
    config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)
    up, down = tmp_path / "up", tmp_path / "down"
    up.write_bytes(content(2 * PART + 77))
    s3.upload_file(str(up), bucket, "k", Config=config)
    s3.download_file(bucket, "k", str(down), Config=config)
    assert down.read_bytes() == up.read_bytes()


def test_completing_again_is_answered_as_the_first_time(s3, bucket, upload):
    parts = [put_part(s3, bucket, upload, number, content(size, number)) for number, size in ((1, PART), (2, 99))]
    first = complete(s3, bucket, upload, parts)
    again = complete(s3, bucket, upload, parts)
    fields = ("ETag", "Key", "ChecksumCRC64NVME", "ChecksumType")
    assert [first[name] for name in fields] == [again[name] for name in fields]
    s3.put_object(Bucket=bucket, Key="k", Body=b"another")
    with pytest.raises(ClientError, match="NoSuchUpload"):
        complete(s3, bucket, upload, parts)
    assert get(s3, bucket, "k") == b"another"


def test_checksums_of_parts_are_returned_as_s3_returns_them(s3, bucket):
    data = {1: content(PART, 1), 2: content(77, 2)}
    begun = s3.create_multipart_upload(Bucket=bucket, Key="k", ChecksumAlgorithm="SHA256")
    parts = []
    for number, body in data.items():
        answer = s3.upload_part(
            Bucket=bucket, Key="k", UploadId=begun["UploadId"], PartNumber=number, Body=body, ChecksumAlgorithm="SHA256"
        )
        parts.append({"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": answer["ChecksumSHA256"]})
    done = complete(s3, bucket, begun["UploadId"], parts)
    assert (done["ChecksumType"], done["ChecksumSHA256"][-2:]) == ("COMPOSITE", "-2")
    attributes = s3.get_object_attributes(
        Bucket=bucket, Key="k", ObjectAttributes=["ETag", "Checksum", "ObjectParts", "ObjectSize"]
    )
    assert attributes["ETag"] == done["ETag"].strip('"')
    assert attributes["Checksum"]["ChecksumSHA256"] == done["ChecksumSHA256"].removesuffix("-2")
    sums = [part["ChecksumSHA256"] for part in parts]
    assert [part["ChecksumSHA256"] for part in attributes["ObjectParts"]["Parts"]] == sums
    for number, body in data.items():
        # boto3 verifies the checksum of the answer.
        got = s3.get_object(Bucket=bucket, Key="k", PartNumber=number, ChecksumMode="ENABLED")
        assert (got["ChecksumSHA256"], got["ChecksumType"]) == (sums[number - 1], "COMPOSITE")
        assert got["Body"].read() == body
    copied = s3.copy_object(
        Bucket=bucket, Key="c", CopySource={"Bucket": bucket, "Key": "k"}, ChecksumAlgorithm="CRC32C"
    )
    assert copied["CopyObjectResult"]["ChecksumType"] == "FULL_OBJECT"
    assert "ChecksumCRC32C" in copied["CopyObjectResult"]
