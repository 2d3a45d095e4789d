"""Only one gateway at a time serves a vault."""

from __future__ import annotations

import shutil
from pathlib import Path

from content import content
from programs import Gateway, Program

LOCKED = 4
"""The exit code if another gateway has the vault."""


def run_refused(gateway: Gateway, *flags: str) -> tuple[int, str]:
    """Returns the exit code and the output of a gateway that must not start."""
    program = Program([*gateway.serve_command(), *flags], gateway.log)
    try:
        return program.process.wait(timeout=240), program.output()
    finally:
        program.kill()


def start_with_bucket(new_gateway):
    """Returns a gateway that serves the bucket `kept`, and a client of it."""
    first: Gateway = new_gateway("first")
    first.start()
    s3 = first.endpoint.client()
    s3.create_bucket(Bucket="kept")
    return first, s3


def test_a_second_gateway_on_the_same_folder_is_refused(new_gateway):
    first, s3 = start_with_bucket(new_gateway)
    second: Gateway = new_gateway("second")
    second.data = first.data
    code, output = run_refused(second)
    assert code == LOCKED, output
    assert "another process on this machine" in output
    s3.put_object(Bucket="kept", Key="k", Body=b"still served")
    assert s3.get_object(Bucket="kept", Key="k")["Body"].read() == b"still served"


def test_a_copy_of_the_folder_cannot_serve_as_a_second_gateway(new_gateway):
    """Two copies of one trusted state must never both serve: they would read the same paths again."""
    first, s3 = start_with_bucket(new_gateway)
    s3.put_object(Bucket="kept", Key="k", Body=content(100_000))
    first.stop()
    second: Gateway = new_gateway("second")
    shutil.copytree(first.data, second.data)
    first.start()
    code, output = run_refused(second)
    assert code in (LOCKED, 3), output
    assert s3.get_object(Bucket="kept", Key="k")["Body"].read() == content(100_000)


def copy_while_idle(source: Path, target: Path):
    """Copies a folder again until no file changes meanwhile: the copy of a file under write is damaged."""

    def state():
        files = [path for path in sorted(source.rglob("*")) if path.is_file()]
        return [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in files]

    for _ in range(50):
        before = state()
        shutil.copytree(source, target)
        if state() == before:
            return
        shutil.rmtree(target)
    raise AssertionError(f"{source} is always being written")


def test_a_copy_taken_while_the_gateway_runs_is_refused_and_displaces_no_gateway(new_gateway):
    """A copy that is older than the store is refused before it claims the lease."""
    first, s3 = start_with_bucket(new_gateway)
    second: Gateway = new_gateway("second")
    copy_while_idle(first.data, second.data)
    for number in range(12):
        s3.put_object(Bucket="kept", Key=f"k{number}", Body=content(200_000, number))
    code, output = run_refused(second)
    assert code == LOCKED, output
    assert "the trusted folder is older than the store" in output
    s3.put_object(Bucket="kept", Key="after", Body=content(200_000, 99))
    first.stop()
    first.start()
    assert s3.get_object(Bucket="kept", Key="after")["Body"].read() == content(200_000, 99)
    first.stop()
    first.check()


def test_the_error_about_a_port_in_use_names_the_port_and_the_flag(new_gateway):
    first: Gateway = new_gateway("first")
    first.start()
    second: Gateway = new_gateway("second", vault="another")
    second.port = first.port
    code, output = run_refused(second)
    assert code == 1, output
    assert f"127.0.0.1:{first.port}" in output and "--listen" in output
