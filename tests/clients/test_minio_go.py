"""MinIO's client for Go, which mc, restic and others use for S3."""

from __future__ import annotations


def test_files_come_back_unchanged_with_every_checksum(minio_go, bucket):
    """The program puts files of one and of two parts. It exits with 1 if one is refused or comes back changed."""
    assert minio_go(bucket) == ""
