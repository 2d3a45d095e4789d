"""Single objects, as an application that uses boto3 handles them."""

from __future__ import annotations

import base64
import hashlib
import io
import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError
from content import content, md5
from programs import Endpoint

BLOCK = 64 << 10


def refusal(call, *arguments, **named) -> tuple[int, str]:
    """Returns the status and the code of a request that must be refused."""
    with pytest.raises(ClientError) as refused:
        call(*arguments, **named)
    answer = refused.value.response
    assert answer["Error"].get("Message", "Unknown") != "Unknown", f"a code without a sentence: {answer['Error']}"
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def get(s3, bucket: str, key: str, **named) -> bytes:
    return s3.get_object(Bucket=bucket, Key=key, **named)["Body"].read()


@pytest.mark.parametrize("length", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, (1 << 20) + 7])
def test_an_object_comes_back_as_it_was_put(s3, bucket, length):
    data = content(length)
    put = s3.put_object(Bucket=bucket, Key="object", Body=data)
    assert put["ETag"] == f'"{md5(data)}"'
    got = s3.get_object(Bucket=bucket, Key="object")
    assert got["Body"].read() == data
    assert got["ContentLength"] == length
    assert got["ETag"] == put["ETag"]


def test_head_returns_what_was_stored(s3, bucket):
    before = datetime.now(UTC) - timedelta(seconds=2)
    s3.put_object(
        Bucket=bucket,
        Key="page.html",
        Body=b"<p>",
        ContentType="text/html; charset=utf-8",
        Metadata={"colour": "blue", "two-words": "one value"},
    )
    head = s3.head_object(Bucket=bucket, Key="page.html")
    assert head["ContentLength"] == 3
    assert head["ContentType"] == "text/html; charset=utf-8"
    assert head["Metadata"] == {"colour": "blue", "two-words": "one value"}
    assert head["ETag"] == f'"{md5(b"<p>")}"'
    assert before <= head["LastModified"] <= datetime.now(UTC) + timedelta(seconds=2)


def test_an_overwrite_replaces_content_and_metadata(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=content(3 * BLOCK, 1), Metadata={"version": "1"})
    s3.put_object(Bucket=bucket, Key="k", Body=content(BLOCK // 2, 2), Metadata={"second": "yes"})
    assert get(s3, bucket, "k") == content(BLOCK // 2, 2)
    assert s3.head_object(Bucket=bucket, Key="k")["Metadata"] == {"second": "yes"}


@pytest.mark.parametrize(
    "key",
    ["a/b/c", "with space", "plus+and%percent", "naïve-Ω-日本語", "trailing/", "a" * 1000, "?query&=#", "//double"],
)
def test_a_key_of_any_characters_names_its_object(s3, bucket, key):
    s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    assert get(s3, bucket, key) == key.encode()
    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [key]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=5-9", 5, 10),
        (f"bytes={BLOCK - 1}-{BLOCK}", BLOCK - 1, BLOCK + 1),
        (f"bytes={BLOCK}-{2 * BLOCK - 1}", BLOCK, 2 * BLOCK),
        (f"bytes={BLOCK + 17}-", BLOCK + 17, 3 * BLOCK + 100),
        ("bytes=-7", 3 * BLOCK + 93, 3 * BLOCK + 100),
        ("bytes=100-99999999", 100, 3 * BLOCK + 100),
    ],
)
def test_a_range_is_exactly_the_bytes_asked_for(s3, bucket, asked, start, end):
    data = content(3 * BLOCK + 100)
    s3.put_object(Bucket=bucket, Key="k", Body=data)
    got = s3.get_object(Bucket=bucket, Key="k", Range=asked)
    assert got["Body"].read() == data[start:end]
    assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert got["ContentRange"] == f"bytes {start}-{end - 1}/{len(data)}"


def test_a_range_beyond_the_end_is_refused(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")
    assert refusal(s3.get_object, Bucket=bucket, Key="k", Range="bytes=10-") == (416, "InvalidRange")


@pytest.mark.parametrize("asked", ["bytes=abc", "bytes=5-2", "lines=0-3", "bytes=0-1,4-5"])
def test_an_invalid_range_is_ignored(s3, bucket, asked):
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")
    got = s3.get_object(Bucket=bucket, Key="k", Range=asked)
    assert got["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert got["Body"].read() == b"0123456789"
    assert "ContentRange" not in got


def test_a_name_that_s3_does_not_allow_is_refused_with_a_sentence(s3, bucket):
    assert refusal(s3.put_object, Bucket=bucket, Key="k" * 1025, Body=b"") == (400, "KeyTooLongError")
    assert refusal(s3.get_bucket_policy, Bucket=bucket) == (404, "NoSuchBucketPolicy")
    assert refusal(s3.put_bucket_policy, Bucket=bucket, Policy="{}") == (501, "NotImplemented")


def test_a_deleted_object_is_gone_and_may_be_deleted_again(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    s3.delete_object(Bucket=bucket, Key="k")
    assert refusal(s3.get_object, Bucket=bucket, Key="k") == (404, "NoSuchKey")
    assert refusal(s3.head_object, Bucket=bucket, Key="k")[0] == 404
    s3.delete_object(Bucket=bucket, Key="k")


def test_many_objects_are_deleted_with_one_request(s3, bucket):
    keys = [f"k{number}" for number in range(20)]
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    asked = [{"Key": key} for key in [*keys[1:], "never-there"]]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": asked})
    assert sorted(entry["Key"] for entry in answer["Deleted"]) == sorted(entry["Key"] for entry in asked)
    assert "Errors" not in answer
    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["k0"]


def test_a_copy_is_an_object_of_its_own(s3, bucket):
    data = content(2 * BLOCK + 1)
    s3.put_object(Bucket=bucket, Key="from", Body=data, ContentType="text/plain", Metadata={"kept": "yes"})
    s3.copy_object(Bucket=bucket, Key="to here", CopySource={"Bucket": bucket, "Key": "from"})
    s3.delete_object(Bucket=bucket, Key="from")
    got = s3.get_object(Bucket=bucket, Key="to here")
    assert got["Body"].read() == data
    assert (got["ContentType"], got["Metadata"]) == ("text/plain", {"kept": "yes"})


def test_a_copy_can_replace_metadata(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"data", Metadata={"old": "1"})
    source = {"Bucket": bucket, "Key": "k"}
    s3.copy_object(
        Bucket=bucket, Key="k", CopySource=source, MetadataDirective="REPLACE", Metadata={"new": "2"}
    )
    assert s3.head_object(Bucket=bucket, Key="k")["Metadata"] == {"new": "2"}
    assert get(s3, bucket, "k") == b"data"


def test_a_read_is_conditional_on_the_etag(s3, bucket):
    tag = s3.put_object(Bucket=bucket, Key="k", Body=b"now")["ETag"]
    other = f'"{md5(b"other")}"'
    assert get(s3, bucket, "k", IfMatch=tag) == b"now"
    assert get(s3, bucket, "k", IfNoneMatch=other) == b"now"
    assert refusal(s3.get_object, Bucket=bucket, Key="k", IfMatch=other) == (412, "PreconditionFailed")
    assert refusal(s3.get_object, Bucket=bucket, Key="k", IfNoneMatch=tag)[0] == 304


def test_a_write_is_conditional_on_the_stored_object(s3, bucket):
    tag = s3.put_object(Bucket=bucket, Key="k", Body=b"first", IfNoneMatch="*")["ETag"]
    exists = refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"second", IfNoneMatch="*")
    assert exists == (412, "PreconditionFailed")
    s3.put_object(Bucket=bucket, Key="k", Body=b"third", IfMatch=tag)
    changed = refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"fourth", IfMatch=tag)
    assert changed == (412, "PreconditionFailed")
    assert get(s3, bucket, "k") == b"third"


def test_of_many_creators_exactly_one_wins(s3, bucket):
    def create(number: int) -> bool:
        try:
            s3.put_object(Bucket=bucket, Key="k", Body=str(number).encode(), IfNoneMatch="*")
            return True
        except ClientError as error:
            # S3 answers 412 if the object exists, and may answer 409 while another request creates it.
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] in (409, 412)
            return False

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert get(s3, bucket, "k") == str(won.index(True)).encode()


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_a_checksum_of_the_client_is_stored_and_returned(s3, bucket, algorithm):
    data = content(BLOCK + 5)
    put = s3.put_object(Bucket=bucket, Key="k", Body=data, ChecksumAlgorithm=algorithm)
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert head[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]
    assert get(s3, bucket, "k", ChecksumMode="ENABLED") == data
    if algorithm == "SHA256":
        assert put["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(data).digest()).decode()


# The check values in the catalogue of CRC algorithms: the CRCs of the nine digits.
@pytest.mark.parametrize(("algorithm", "check"), [("CRC32C", "e3069283"), ("CRC64NVME", "ae8b14860a799888")])
def test_a_checksum_that_boto3_cannot_make_itself_is_verified(s3, bucket, algorithm, check):
    name, right = f"Checksum{algorithm}", bytes.fromhex(check)
    wrong = bytes([right[0] ^ 1]) + right[1:]
    sent = {name: base64.b64encode(wrong).decode()}
    assert refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"123456789", **sent)[0] == 400
    sent = {name: base64.b64encode(right).decode()}
    s3.put_object(Bucket=bucket, Key="k", Body=b"123456789", **sent)
    assert s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")[name] == sent[name]


def test_a_wrong_checksum_is_refused_and_nothing_is_stored(s3, bucket):
    wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    status, _ = refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"data", ChecksumSHA256=wrong)
    assert status == 400
    wrong = base64.b64encode(hashlib.md5(b"other", usedforsecurity=False).digest()).decode()
    status, code = refusal(s3.put_object, Bucket=bucket, Key="k", Body=b"data", ContentMD5=wrong)
    assert (status, code) == (400, "BadDigest")
    assert refusal(s3.head_object, Bucket=bucket, Key="k")[0] == 404


def test_a_body_that_ends_early_is_not_stored(s3, bucket, endpoint: Endpoint):
    url = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "k"})
    host, port = endpoint.url.removeprefix("http://").split(":")
    path = url.removeprefix(endpoint.url)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = f"PUT {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {3 * BLOCK}\r\n\r\n"
        connection.sendall(head.encode() + content(BLOCK))
    for _ in range(10):
        assert refusal(s3.head_object, Bucket=bucket, Key="k")[0] == 404
        time.sleep(0.1)


def test_a_presigned_url_reads_and_writes_without_credentials(s3, bucket):
    data = content(BLOCK + 1)
    to = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "k"}, ExpiresIn=60)
    with urllib.request.urlopen(urllib.request.Request(to, data=data, method="PUT")) as answer:
        assert answer.status == 200
    of = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "k"}, ExpiresIn=60)
    with urllib.request.urlopen(of) as answer:
        assert answer.read() == data


def test_a_presigned_url_for_one_key_opens_no_other(s3, bucket):
    s3.put_object(Bucket=bucket, Key="mine", Body=b"x")
    s3.put_object(Bucket=bucket, Key="yours", Body=b"y")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "mine"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url.replace("/mine", "/yours"))
    assert refused.value.code == 403


def test_links_and_forms_of_a_client_with_default_settings_are_accepted(s3, bucket, endpoint: Endpoint):
    """For an endpoint that is not Amazon's boto3 signs them with version 2."""
    plain = endpoint.client(signature_version=None)
    what = {"Bucket": bucket, "Key": "k", "ContentType": "text/csv", "Metadata": {"in": "link"}}
    link = plain.generate_presigned_url("put_object", Params=what, ExpiresIn=60)
    assert "AWSAccessKeyId=" in link
    signed_headers = {"Content-Type": "text/csv", "x-amz-meta-in": "link"}
    urllib.request.urlopen(urllib.request.Request(link, data=b"by link", headers=signed_headers, method="PUT")).close()
    got = s3.get_object(Bucket=bucket, Key="k")
    assert (got["Body"].read(), got["ContentType"], got["Metadata"]) == (b"by link", "text/csv", {"in": "link"})
    link = plain.generate_presigned_url("list_objects_v2", Params={"Bucket": bucket, "Prefix": "k"})
    with urllib.request.urlopen(link) as answer:
        assert b"<Key>k</Key>" in answer.read()

    form = plain.generate_presigned_post(bucket, "f", ExpiresIn=60)
    assert "AWSAccessKeyId" in form["fields"]
    fields = [*form["fields"].items(), ("file", "by form")]
    body = "".join(f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields)
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    urllib.request.urlopen(urllib.request.Request(form["url"], f"{body}--x--\r\n".encode(), kind)).close()
    assert get(s3, bucket, "f") == b"by form"


def test_an_unsigned_request_is_refused(s3, bucket, endpoint: Endpoint):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{endpoint.url}/{bucket}/k")
    assert refused.value.code == 403


def test_wrong_credentials_are_refused(bucket, endpoint: Endpoint):
    wrong = Endpoint(endpoint.url, endpoint.access_key, "wrong" * 8).client()
    assert refusal(wrong.list_objects_v2, Bucket=bucket) == (403, "SignatureDoesNotMatch")
    unknown = Endpoint(endpoint.url, "NOSUCHKEYATALL", endpoint.secret_key).client()
    assert refusal(unknown.list_objects_v2, Bucket=bucket) == (403, "InvalidAccessKeyId")


def test_many_clients_at_once_each_read_what_they_wrote(s3, bucket):
    def work(client: int) -> None:
        for turn in range(2):
            # The first seven objects share blocks, and the last has three of its own.
            data = content(client**2 * 701 + turn, (client, turn))
            s3.put_object(Bucket=bucket, Key=f"{client}", Body=data)
            assert get(s3, bucket, f"{client}") == data

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))


def test_a_reader_sees_the_old_object_or_the_new_one_and_no_mixture(s3, bucket):
    versions = [content(4 * BLOCK, version) for version in range(6)]
    s3.put_object(Bucket=bucket, Key="k", Body=versions[0])

    def write() -> None:
        for data in versions[1:]:
            s3.put_object(Bucket=bucket, Key="k", Body=data)

    with ThreadPoolExecutor(5) as pool:
        writer = pool.submit(write)
        while not writer.done():
            for seen in pool.map(lambda _: get(s3, bucket, "k"), range(4)):
                assert seen in versions
        writer.result()
    assert get(s3, bucket, "k") == versions[-1]


def test_a_stream_of_unknown_length_is_stored(s3, bucket):
    data = content(3 << 20)
    s3.upload_fileobj(io.BytesIO(data), bucket, "k")
    got = io.BytesIO()
    s3.download_fileobj(bucket, "k", got)
    assert got.getvalue() == data


@pytest.mark.parametrize(("bucket_of", "length"), [("bucket", 0), ("missing", 0), ("missing", 100_000)])
def test_an_answer_that_skips_100_continue_ends_its_connection(s3, bucket, endpoint: Endpoint, bucket_of, length):
    """On a connection that stays open the AWS command line misreads every later answer and hangs."""
    name = bucket if bucket_of == "bucket" else "no-such-bucket"
    url = s3.generate_presigned_url("put_object", Params={"Bucket": name, "Key": "k"})
    host, port = endpoint.url.removeprefix("http://").split(":")
    head = f"PUT {url.removeprefix(endpoint.url)} HTTP/1.1\r\nHost: {host}:{port}\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"{head}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n".encode())
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 100") or b"\r\nconnection: close\r\n" in answer.lower(), answer
