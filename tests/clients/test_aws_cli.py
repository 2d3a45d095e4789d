"""The AWS command line with its default settings, including checksums."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from datetime import datetime

import pytest
from content import content, make_tree, tree

FILES = {"readme.txt": 11, "empty": 0, "deep/er/block": 65536, "deep/large file.bin": 200_001}
PARTS = (8 << 20) + 1
"""The smallest length that the command line sends in several parts."""


@pytest.fixture
def folder(tmp_path):
    """A folder with some files."""
    make_tree(tmp_path / "from", FILES)
    return tmp_path / "from"


def test_a_bucket_is_made_and_removed(aws, s3):
    aws("s3", "mb", "s3://by-command-line")
    assert "by-command-line" in aws("s3", "ls")
    aws("s3", "rb", "s3://by-command-line")
    assert "by-command-line" not in aws("s3", "ls")


def test_a_file_is_copied_up_and_down(aws, bucket, folder, s3, tmp_path):
    make_tree(folder, {"in parts": PARTS})
    for name in [*FILES, "in parts"]:
        aws("s3", "cp", str(folder / name), f"s3://{bucket}/{name}")
        aws("s3", "cp", f"s3://{bucket}/{name}", str(tmp_path / "back"))
        assert (tmp_path / "back").read_bytes() == (folder / name).read_bytes(), name
    assert s3.head_object(Bucket=bucket, Key="in parts")["ETag"].endswith('-2"')


def test_a_folder_is_synchronised_both_ways(aws, bucket, folder, tmp_path):
    aws("s3", "sync", str(folder), f"s3://{bucket}/backup")
    aws("s3", "sync", f"s3://{bucket}/backup", str(tmp_path / "to"))
    assert tree(tmp_path / "to") == tree(folder)
    assert aws("s3", "sync", str(folder), f"s3://{bucket}/backup") == "", "a second run copies again"

    (folder / "readme.txt").unlink()
    (folder / "new").write_bytes(content(100, "new"))
    aws("s3", "sync", "--delete", str(folder), f"s3://{bucket}/backup")
    aws("s3", "sync", "--delete", f"s3://{bucket}/backup", str(tmp_path / "to"))
    assert tree(tmp_path / "to") == tree(folder)


def test_a_list_shows_names_sizes_and_times(aws, bucket, folder):
    aws("s3", "cp", "--recursive", str(folder), f"s3://{bucket}/")
    listed = {}
    for line in aws("s3", "ls", "--recursive", f"s3://{bucket}/").splitlines():
        date, time, size, name = line.split(maxsplit=3)
        datetime.fromisoformat(f"{date} {time}")
        listed[name] = int(size)
    assert listed == FILES
    top = aws("s3", "ls", f"s3://{bucket}/")
    assert "PRE deep/" in top
    assert "large file" not in top


def test_a_folder_is_removed(aws, bucket, folder):
    aws("s3", "cp", "--recursive", str(folder), f"s3://{bucket}/a")
    aws("s3", "cp", "--recursive", str(folder), f"s3://{bucket}/b")
    aws("s3", "rm", "--recursive", f"s3://{bucket}/a")
    left = aws("s3", "ls", "--recursive", f"s3://{bucket}/")
    assert "a/" not in left
    assert left.count("b/") == len(FILES)


def test_a_file_is_moved_within_the_bucket(aws, bucket, folder, s3):
    aws("s3", "cp", str(folder / "readme.txt"), f"s3://{bucket}/old")
    aws("s3", "mv", f"s3://{bucket}/old", f"s3://{bucket}/new")
    answer = json.loads(aws("s3api", "list-objects-v2", "--bucket", bucket, "--output", "json"))
    assert [entry["Key"] for entry in answer["Contents"]] == ["new"]


def test_standard_input_is_stored(aws, bucket):
    data = content(100_000, "pipe")
    aws("s3", "cp", "-", f"s3://{bucket}/pipe", stdin=data)
    answer = json.loads(aws("s3api", "head-object", "--bucket", bucket, "--key", "pipe", "--output", "json"))
    assert answer["ContentLength"] == len(data)


def test_a_range_is_read(aws, bucket, folder, tmp_path):
    name = "deep/large file.bin"
    aws("s3", "cp", str(folder / name), f"s3://{bucket}/k")
    out = tmp_path / "part"
    aws("s3api", "get-object", "--bucket", bucket, "--key", "k", "--range", "bytes=65530-131080", str(out))
    assert out.read_bytes() == (folder / name).read_bytes()[65530:131081]


def test_a_presigned_link_works_without_credentials(aws, bucket, folder):
    """For an endpoint that is not Amazon's the command line signs links with version 2."""
    name = "deep/er/block"
    aws("s3", "cp", str(folder / name), f"s3://{bucket}/{name}")
    link = aws("s3", "presign", f"s3://{bucket}/{name}", "--expires-in", "600").strip()
    assert "AWSAccessKeyId=" in link
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == (folder / name).read_bytes()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.replace("block", "other"))
