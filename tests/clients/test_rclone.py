"""rclone: copy, check, range, sync."""

from __future__ import annotations

import json

import pytest
from content import content, make_tree, md5, tree

FILES = {"one": 1, "empty": 0, "sub/two blocks": 131072, "sub/deeper/three.bin": 200_001, "ümläut": 77}


@pytest.fixture
def folder(tmp_path):
    """A folder with some files."""
    make_tree(tmp_path / "from", FILES)
    return tmp_path / "from"


def test_a_folder_is_copied_checked_and_copied_back(rclone, bucket, folder, tmp_path):
    rclone("copy", str(folder), f"ameles:{bucket}/there")
    rclone("check", str(folder), f"ameles:{bucket}/there")
    rclone("check", "--download", str(folder), f"ameles:{bucket}/there")
    rclone("copy", f"ameles:{bucket}/there", str(tmp_path / "to"))
    assert tree(tmp_path / "to") == tree(folder)


def test_check_notices_a_difference(rclone, bucket, folder):
    rclone("copy", str(folder), f"ameles:{bucket}")
    (folder / "one").write_bytes(b"!")
    with pytest.raises(AssertionError, match="1 differences found"):
        rclone("check", "--download", str(folder), f"ameles:{bucket}")


def test_a_range_is_exactly_the_bytes_asked_for(rclone, bucket, folder):
    rclone("copy", str(folder), f"ameles:{bucket}")
    whole = (folder / "sub/deeper/three.bin").read_bytes()
    for offset, count in [(0, 1), (65535, 2), (100_000, 65536), (200_000, 1)]:
        got = rclone(
            *("cat", f"--offset={offset}", f"--count={count}"), f"ameles:{bucket}/sub/deeper/three.bin"
        )
        assert got == whole[offset : offset + count], (offset, count)


def test_a_list_has_names_sizes_hashes_and_times(rclone, bucket, folder):
    rclone("copy", str(folder), f"ameles:{bucket}")
    listed = json.loads(rclone("lsjson", "--recursive", "--hash", "--files-only", f"ameles:{bucket}"))
    assert {entry["Path"]: entry["Size"] for entry in listed} == FILES
    for entry in listed:
        assert entry["Hashes"]["md5"] == md5((folder / entry["Path"]).read_bytes())
        # rclone stores the file's time in the object's metadata.
        second = entry["ModTime"][:19]
        local = rclone("lsjson", str(folder / entry["Path"]))
        assert json.loads(local)[0]["ModTime"][:17] == second[:17]


def test_sync_removes_deleted_files(rclone, bucket, folder):
    rclone("sync", str(folder), f"ameles:{bucket}")
    (folder / "one").unlink()
    (folder / "sub/two blocks").write_bytes(content(5, "changed"))
    rclone("sync", str(folder), f"ameles:{bucket}")
    rclone("check", str(folder), f"ameles:{bucket}")
    listed = rclone("lsf", "--recursive", "--files-only", f"ameles:{bucket}").decode().splitlines()
    assert sorted(listed) == sorted(set(FILES) - {"one"})


def test_a_large_file_goes_in_parts(rclone, bucket, tmp_path):
    (tmp_path / "large").write_bytes(content(6 << 20))
    parts = ("--s3-upload-cutoff=5M", "--s3-chunk-size=5M")
    rclone("copy", *parts, str(tmp_path / "large"), f"ameles:{bucket}")
    rclone("check", "--download", str(tmp_path / "large"), f"ameles:{bucket}")


def test_a_file_is_moved_and_removed(rclone, bucket, folder):
    rclone("copy", str(folder), f"ameles:{bucket}")
    rclone("moveto", f"ameles:{bucket}/one", f"ameles:{bucket}/uno")
    assert rclone("cat", f"ameles:{bucket}/uno") == (folder / "one").read_bytes()
    rclone("purge", f"ameles:{bucket}/sub")
    listed = rclone("lsf", "--recursive", "--files-only", f"ameles:{bucket}").decode().splitlines()
    assert sorted(listed) == ["empty", "uno", "ümläut"]
