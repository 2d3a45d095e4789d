"""The container: its last stage with the program under test, run with the least rights.

No registry is needed. The build omits the stage that compiles; the script of that stage runs here instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import READY_TIMEOUT, Endpoint, environment, first_key, free_port

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging" / "container"
PROGRAMS = ("podman", "buildah", "runc")
MISSING = [program for program in PROGRAMS if shutil.which(program) is None]

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} missing: apt-get install {' '.join(PROGRAMS)}"),
    pytest.mark.skipif(os.getuid() != 0, reason="the test's containers are root's: run it as root"),
]

LEAST_RIGHTS = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--ulimit=core=0"]


@pytest.fixture
def podman(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Runs podman with images and containers of this test, and returns its output."""
    # podman allows at most 50 characters for this path.
    in_use = tempfile.mkdtemp(prefix="ameles-")
    storage = ["--storage-driver=vfs", f"--root={tmp_path / 'storage'}", f"--runroot={in_use}"]

    def run(*arguments: str, program: str = "podman") -> str:
        runtime = ["--cgroup-manager=cgroupfs", "--runtime=runc"] if program == "podman" else []
        command = [program, *storage, *runtime, *arguments]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, f"`{' '.join(command)}`:\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    yield run
    run("rm", "--all", "--force", "--volumes", "--time=0")
    run("rmi", "--all", "--force")
    shutil.rmtree(in_use)


@pytest.fixture
def image(podman, ameles: Path, tmp_path: Path) -> str:
    """The name of an image with the program under test."""
    image_folder = tmp_path / "build" / "image"
    subprocess.run([PACKAGING / "image.sh", ameles, image_folder], check=True)
    source = tmp_path / "source"
    source.mkdir()
    containerfile, build_context = str(PACKAGING / "Containerfile"), f"--build-context=build={image_folder.parent}"
    podman("build", "--isolation=chroot", build_context, "-f", containerfile, "-t", "ameles", str(source), program="buildah")
    return "localhost/ameles"


class Container:
    """`ameles serve` in a container, over a volume."""

    def __init__(self, podman, image: str):
        self.podman, self.image = podman, image
        self.volume = f"data-{uuid.uuid4().hex[:12]}"
        podman("volume", "create", self.volume)

    def start(self) -> None:
        """Starts serving, and returns once requests are served."""
        self.port = free_port()
        flags = [*LEAST_RIGHTS, "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"]
        flags += [f"--volume={self.volume}:/data", f"--publish=127.0.0.1:{self.port}:9317"]
        self.id = self.podman("run", "--detach", *flags, self.image)
        deadline = time.monotonic() + READY_TIMEOUT
        while "Press Ctrl-C to stop." not in self.podman("logs", self.id):
            assert self.inspect("{{.State.Status}}") == "running" and time.monotonic() < deadline, self.podman("logs", self.id)
            time.sleep(0.1)

    def inspect(self, what: str) -> str:
        """Returns a field of podman's description of the container."""
        return self.podman("inspect", "--format", what, self.id)

    def process(self, file: str) -> str:
        """Returns a file of /proc about the container's process."""
        return Path(f"/proc/{self.inspect('{{.State.Pid}}')}/{file}").read_text()

    @property
    def endpoint(self) -> Endpoint:
        """The S3 server, with the credentials in the volume."""
        data = Path(self.podman("volume", "inspect", "--format", "{{.Mountpoint}}", self.volume))
        return Endpoint(f"http://127.0.0.1:{self.port}", *first_key(data / "trusted"))

    def stop(self) -> int:
        """Stops the container and returns its exit code."""
        self.podman("stop", "--time=60", self.id)
        return int(self.inspect("{{.State.ExitCode}}"))


def test_it_serves_without_any_rights_and_objects_survive_a_restart(podman, image: str):
    container = Container(podman, image)
    container.start()
    s3 = container.endpoint.client()
    s3.create_bucket(Bucket="first")
    s3.put_object(Bucket="first", Key="note", Body=b"kept in the volume")

    status = dict(line.split(":\t", 1) for line in container.process("status").splitlines() if ":\t" in line)
    assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65532"}
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    mounts = [line.split() for line in container.process("mountinfo").splitlines()]
    options = {mount[4]: mount[5].split(",") for mount in mounts}
    assert "ro" in options["/"] and "rw" in options["/data"]

    assert container.stop() == 0
    container.start()
    assert container.endpoint.client().get_object(Bucket="first", Key="note")["Body"].read() == b"kept in the volume"
    assert container.stop() == 0


def test_the_image_contains_only_the_program_and_what_it_needs(podman, image: str):
    container = podman("create", image)
    root = Path(podman("mount", container))
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
    libraries = {name for name in files if name.startswith("lib") and ".so" in name}
    podman("umount", container)
    known = {"usr/bin/ameles", "etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt"}
    # Files that podman adds to every container.
    added = {"etc/hosts", "etc/hostname", "etc/resolv.conf", "run/.containerenv", "dev/console"}
    assert files - libraries - added == known
    assert len(libraries) == 4, libraries
