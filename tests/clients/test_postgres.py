"""PostgreSQL: a base backup that is streamed over S3 and started again."""

from __future__ import annotations

import getpass
import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from programs import Endpoint, free_port

PROGRAMS = ("initdb", "pg_ctl", "pg_basebackup", "pg_verifybackup", "pgbench", "psql")


def _server_programs() -> Path:
    """Returns the folder of PostgreSQL's programs: on Debian those of the server are not on PATH."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    folders += [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    for folder in folders:
        if all((folder / program).exists() for program in PROGRAMS):
            return folder
    pytest.exit("PostgreSQL is missing: run `cargo xtask test --only clients`", returncode=2)


class Cluster:
    """A database cluster in a folder, with its socket in the same folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port = str(free_port())
        self.binaries = _server_programs()

    def run(self, program: str, *arguments: str, **more) -> subprocess.CompletedProcess:
        """Runs one of PostgreSQL's programs, not as root: the server refuses that."""
        command = [str(self.binaries / program), *arguments]
        if getpass.getuser() == "root":
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.folder)}
        done = subprocess.run(command, cwd=self.folder, env=environment, timeout=240, **more)
        assert done.returncode == 0, f"`{' '.join(command)}` ended with {done.returncode}"
        return done

    def start(self) -> None:
        """Starts the server."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses= -c fsync=off"
        self.run("pg_ctl", "-D", "data", "-o", options, "-l", "server.log", "-w", "start")

    def stop(self) -> None:
        """Stops the server."""
        self.run("pg_ctl", "-D", "data", "-m", "fast", "-w", "stop")

    def connection_flags(self) -> list[str]:
        """Returns the flags with which a client connects."""
        return ["-h", str(self.folder), "-p", self.port, "-U", "postgres"]

    def sum(self) -> str:
        """Returns a value that depends on every row."""
        query = "select count(*), sum(hashtext(aid::text || abalance::text || filler)) from pgbench_accounts"
        done = self.run("psql", *self.connection_flags(), "-Atc", query, "postgres", capture_output=True, text=True)
        return done.stdout


@pytest.fixture
def new_cluster():
    """Makes folders for clusters, which the server may write to."""
    # Only root can read tmp_path, and the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="pg") as parent:
        os.chmod(parent, 0o755)
        clusters: list[Cluster] = []

        def make(name: str) -> Cluster:
            folder = Path(parent) / name
            (folder / "data").mkdir(parents=True, mode=0o700)
            if getpass.getuser() == "root":
                owner = pwd.getpwnam("postgres")
                for path in (folder, folder / "data"):
                    os.chown(path, owner.pw_uid, owner.pw_gid)
            clusters.append(Cluster(folder))
            return clusters[-1]

        yield make
        for cluster in clusters:
            if (cluster.folder / "data/postmaster.pid").exists():
                cluster.stop()


def test_a_base_backup_is_streamed_out_and_starts_as_the_same_database(s3, endpoint: Endpoint, bucket, new_cluster):
    original = new_cluster("a")
    original.run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync", "--wal-segsize=1", capture_output=True)
    original.start()
    original.run("pgbench", *original.connection_flags(), "-q", "-i", "-s", "1", "postgres", capture_output=True)
    before = original.sum()

    backup = [*original.connection_flags(), "-c", "fast", "-X", "fetch", "-Ft", "-D", "-"]
    made = original.run("pg_basebackup", *backup, capture_output=True)
    with subprocess.Popen(
        [str(Path(sys.executable).parent / "aws"), "s3", "cp", "-", f"s3://{bucket}/base.tar"],
        stdin=subprocess.PIPE,
        env=endpoint.aws_environment(),
    ) as upload:
        upload.communicate(made.stdout, timeout=240)
    assert upload.returncode == 0
    original.stop()

    restored = new_cluster("b")
    # More than one part: the AWS command line uploads a stream of unknown length in parts.
    assert "-" in s3.head_object(Bucket=bucket, Key="base.tar")["ETag"]
    archive = s3.get_object(Bucket=bucket, Key="base.tar")["Body"].read()
    subprocess.run(["tar", "xp", "-C", str(restored.folder / "data")], input=archive, check=True, timeout=240)
    restored.run("pg_verifybackup", "data", capture_output=True)
    restored.start()
    assert restored.sum() == before
