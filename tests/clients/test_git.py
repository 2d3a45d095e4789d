"""Git: repositories in the gateway, by dulwich's backend for Swift and the real `git`."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from content import content
from programs import READY_TIMEOUT, Gateway, Program, environment, free_port

SERVER = Path(__file__).resolve().parents[2] / "examples" / "git_server.py"


class GitServer:
    """dulwich's server for clients of Git, which stores in the gateway."""

    def __init__(self, gateway: Gateway, folder: Path):
        self.folder = folder
        self.configuration = folder / "git.conf"
        login = gateway.swift
        self.configuration.write_text(
            "[swift]\n"
            f"auth_url = {login.url}/auth/v1.0\n"
            "auth_ver = 1\n"
            f"username = {login.account};{login.user}\n"
            f"password = {login.password.replace('%', '%%')}\n"
            "region_name = RegionOne\nendpoint_type = publicURL\n"
            "concurrency = 10\nhttp_pool_length = 10\nhttp_timeout = 60\n"
            "chunk_length = 65536\ncache_length = 20\n"
        )
        self.program: Program | None = None
        self.start()

    def start(self) -> None:
        """Starts serving, and returns once connections are accepted."""
        self.port = free_port()
        command = [sys.executable, str(SERVER), str(self.configuration), str(self.port)]
        self.program = Program(command, self.folder / "git-server.log")
        deadline = time.monotonic() + READY_TIMEOUT
        while True:
            assert self.program.process.poll() is None and time.monotonic() < deadline, self.program.output()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)

    def stop(self) -> None:
        """Kills the server: all of its state is in the gateway."""
        self.program.kill()

    def new_repository(self) -> str:
        """Makes a repository and returns its name."""
        name = f"git-{uuid.uuid4().hex[:12]}"
        command = [sys.executable, "-m", "dulwich.contrib.swift", "init", "-c", str(self.configuration), name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return name

    def url(self, name: str) -> str:
        """Returns the address of a repository."""
        return f"git://127.0.0.1:{self.port}/{name}"


@pytest.fixture(scope="module")
def server(shared_gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """A Git server over the gateway."""
    server = GitServer(shared_gateway, tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs git in a folder, and returns its output."""
    person = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    home = tmp_path_factory.mktemp("home")
    settings = environment(HOME=str(home), GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", **person)

    def run(folder: Path, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, f"`{' '.join(command)}`:\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    return run


@pytest.fixture(scope="module")
def history(git, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with some commits: growing texts, a few larger files, and folders."""
    folder = tmp_path_factory.mktemp("history")
    git(folder, "init", "--quiet", "--initial-branch=master")
    for commit in range(12):
        for number in range(10):
            path = folder / f"source/part {number % 3}/file-{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as text:
                text.writelines(f"line {line} of commit {commit} in {number}\n" for line in range(40))
        (folder / "picture.png").write_bytes(content(90_000, commit))
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"Commit {commit}")
    git(folder, "tag", "first-release")
    return folder


@pytest.fixture
def project(history: Path, tmp_path: Path) -> Path:
    """A copy of that repository for one test."""
    return shutil.copytree(history, tmp_path / "project")


def test_a_repository_is_pushed_cloned_changed_and_pulled(server: GitServer, git, project: Path, tmp_path: Path):
    name = server.new_repository()
    git(project, "remote", "add", "origin", server.url(name))
    git(project, "push", "--quiet", "--tags", "origin", "master")

    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", server.url(name), str(clone))
    assert git(clone, "rev-parse", "HEAD", "first-release") == git(project, "rev-parse", "HEAD", "first-release")
    git(clone, "fsck", "--full", "--strict")
    assert (clone / "picture.png").read_bytes() == (project / "picture.png").read_bytes()

    (project / "source/part 1/file-1.txt").write_text("replaced\n")
    git(project, "commit", "--quiet", "--all", "--message", "One more")
    git(project, "push", "--quiet", "origin", "master")

    git(clone, "pull", "--quiet", "--ff-only")
    assert git(clone, "rev-parse", "HEAD") == git(project, "rev-parse", "HEAD")
    assert (clone / "source/part 1/file-1.txt").read_text() == "replaced\n"
    git(clone, "fsck", "--full", "--strict")


def test_all_state_is_in_the_gateway_and_none_in_the_git_server(server: GitServer, git, project: Path, tmp_path: Path):
    name = server.new_repository()
    git(project, "push", "--quiet", server.url(name), "master")
    server.stop()
    server.start()
    git(tmp_path, "clone", "--quiet", server.url(name), "again")
    assert git(tmp_path / "again", "log", "--format=%H") == git(project, "log", "--format=%H")
    git(project, "push", "--quiet", server.url(name), ":master", "HEAD:other")
    listed = git(project, "ls-remote", "--heads", server.url(name)).splitlines()
    assert [line.split()[1] for line in listed] == ["refs/heads/other"]


CONCURRENT_UPDATES = """
import sys, threading
from git_server import Repository, ZERO_SHA, load_conf

configuration, container, commit = load_conf(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
one, other = (Repository(container, configuration).refs for _ in range(2))
overtaking = threading.Thread(target=other.set_if_equals, args=(b"refs/heads/overtaking", ZERO_SHA, commit))
put = one.scon.put_object

def put_late(*arguments):
    # This update has read the branches. The other one runs before this one writes, or times out if it must wait.
    overtaking.start()
    overtaking.join(timeout=2)
    put(*arguments)

one.scon.put_object = put_late
one.set_if_equals(b"refs/heads/overtaken", ZERO_SHA, commit)
overtaking.join()
try:
    one.set_if_equals(b"refs/heads/overtaking", ZERO_SHA, commit)
except OSError:
    print("refused")
"""
"""Two updates of branches, the second in the middle of the first, and a third that must be refused."""


def test_no_update_of_a_branch_is_lost_and_a_late_one_is_refused(server, git, project: Path):
    name = server.new_repository()
    git(project, "push", "--quiet", server.url(name), "master")
    commit = git(project, "rev-parse", "HEAD")
    command = [sys.executable, "-c", CONCURRENT_UPDATES, str(server.configuration), name, commit]
    settings = environment(PYTHONPATH=str(SERVER.parent), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=120)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    listed = git(project, "ls-remote", "--heads", server.url(name)).splitlines()
    assert [line.split()[1].rpartition("/")[2] for line in listed] == ["master", "overtaken", "overtaking"]


def test_no_concurrent_push_is_lost(server: GitServer, git, project: Path, tmp_path: Path):
    name = server.new_repository()
    git(project, "push", "--quiet", server.url(name), "master")
    branches = [f"branch-{number}" for number in range(6)]
    for branch in branches:
        git(tmp_path, "clone", "--quiet", server.url(name), branch)
        (tmp_path / branch / "own.txt").write_text(branch)
        git(tmp_path / branch, "add", ".")
        git(tmp_path / branch, "commit", "--quiet", "--message", branch)
    pushes = [
        subprocess.Popen(
            ["git", "push", "--quiet", server.url(name), f"HEAD:{branch}"],
            cwd=tmp_path / branch,
            env=environment(HOME=str(tmp_path), GIT_CONFIG_NOSYSTEM="1"),
            stderr=subprocess.PIPE,
        )
        for branch in branches
    ]
    for push in pushes:
        errors = push.communicate(timeout=120)[1]
        assert push.returncode == 0, errors.decode()
    listed = dict(reversed(line.split()) for line in git(project, "ls-remote", "--heads", server.url(name)).splitlines())
    for branch in branches:
        assert listed[f"refs/heads/{branch}"] == git(tmp_path / branch, "rev-parse", "HEAD")
    # A push that is not a fast-forward is refused and changes nothing.
    with pytest.raises(AssertionError, match="rejected"):
        git(tmp_path / branches[0], "push", server.url(name), f"HEAD:{branches[1]}")
    git(tmp_path, "clone", "--quiet", "--mirror", server.url(name), "mirror")
    git(tmp_path / "mirror", "fsck", "--full", "--strict")
