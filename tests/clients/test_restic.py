"""restic: a backup whose repository is in the gateway."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest
from content import make_tree, tree
from programs import Endpoint, environment

FILES = {"letter": 1200, "empty": 0, "photos/one": 300_000, "photos/two": 65536, "mail/0001": 700, "mail/0002": 5}


@pytest.fixture
def restic(endpoint: Endpoint, bucket: str, tmp_path) -> Callable[..., str]:
    """Runs restic on a repository of this test, and returns its output."""
    settings = environment(
        AWS_ACCESS_KEY_ID=endpoint.access_key,
        AWS_SECRET_ACCESS_KEY=endpoint.secret_key,
        AWS_DEFAULT_REGION=endpoint.region,
        RESTIC_REPOSITORY=f"s3:{endpoint.url}/{bucket}/repository",
        RESTIC_PASSWORD="of the test",
        RESTIC_CACHE_DIR=str(tmp_path / "cache"),
    )

    def run(*arguments: str, folder=tmp_path) -> str:
        command = [shutil.which("restic") or "restic", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=settings, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"`restic {' '.join(arguments)}`:\n{done.stdout}{done.stderr}"
        return done.stdout

    run("init")
    return run


def test_each_snapshot_is_restored_as_it_was(restic, tmp_path):
    home = tmp_path / "home"
    make_tree(home, FILES)
    restic("backup", "--tag", "first", ".", folder=home)
    first = tree(home)
    (home / "letter").write_bytes(os.urandom(90_000))
    (home / "mail/0002").unlink()
    restic("backup", "--tag", "second", ".", folder=home)
    second = tree(home)
    restic("check", "--read-data")
    for tag, expected in (("first", first), ("second", second)):
        restic("restore", "latest", "--tag", tag, "--target", str(tmp_path / tag))
        assert tree(tmp_path / tag) == expected


def test_forgotten_snapshots_are_pruned_and_the_rest_stays_intact(restic, tmp_path):
    home = tmp_path / "home"
    make_tree(home, FILES)
    for _ in range(3):
        (home / "changing").write_bytes(os.urandom(200_000))
        restic("backup", ".", folder=home)
    last = tree(home)
    restic("forget", "--keep-last", "1", "--prune")
    restic("check", "--read-data")
    restic("restore", "latest", "--target", str(tmp_path / "last"))
    assert tree(tmp_path / "last") == last
