"""Bad input gets one clear error, before a machine starts."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def refused(run, flags, program) -> str:
    """Runs a program that must be refused, and returns the line with the reason."""
    result = run(flags, program)
    assert result.returncode in (1, 2) and result.stdout == "", result.stderr
    line = result.stderr.strip().splitlines()[0]
    assert line.startswith("error: "), result.stderr
    return line


def test_files_that_are_no_programs_for_the_enclave(run, compiler, tmp_path):
    source = tmp_path / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run([compiler, source, "-o", tmp_path / "dynamic"], check=True)
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "empty").touch()
    whole = tmp_path / "static"
    subprocess.run([compiler, "-static", source, "-o", whole], check=True)
    (tmp_path / "cut").write_bytes(whole.read_bytes()[:100])
    for name, why in [
        ("missing", "No such file"),
        ("dynamic", "linked dynamically"),
        ("script", "it is a script"),
        ("text", "not an ELF program"),
        ("empty", "not an ELF program"),
        ("cut", "truncated"),
    ]:
        line = refused(run, [], tmp_path / name)
        assert why in line and str(tmp_path / name) in line, line
    line = refused(run, [], shutil.which("true"))
    assert "not built for RISC-V" in line and "riscv64-linux-gnu-gcc -static" in line


def test_files_that_are_no_program_or_no_runtime_are_refused_at_once(run, built, programs, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ["/dev/zero", tmp_path / "pipe", tmp_path]:
        assert "not a regular file" in refused(run, [], path)
        assert "not a regular file" in refused(run, ["--host-program", path], built("steps"))
        assert "not a regular file" in refused(run, ["--runtime", path], built("steps"))
    with (tmp_path / "large").open("wb") as large:
        large.truncate(1 << 40)
    assert "it is larger than" in refused(run, [], tmp_path / "large")
    # Programs for the machine, and another file.
    for path in [built("steps"), programs, __file__]:
        line = refused(run, ["--runtime", path], built("steps"))
        assert "not the enclave's runtime" in line and str(path) in line


def test_a_program_that_is_cut_short_after_its_headers(run, built, tmp_path):
    whole = built("steps").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    assert str(tmp_path / "cut") in refused(run, [], tmp_path / "cut")


def test_too_little_and_too_much_untrusted_memory(run, built):
    line = refused(run, ["--untrusted", "64KiB"], built("steps"))
    assert "untrusted memory" in line, line
    line = refused(run, ["--untrusted", "2GiB"], built("steps"))
    assert "--untrusted" in line and "at most" in line, line


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--resident", "0"], "from 4 to 65536"),
        (["--resident", "3"], "from 4 to 65536"),
        (["--resident", "65537"], "from 4 to 65536"),
        (["--untrusted", "0"], "--untrusted"),
        (["--scheme", "plain", "--k", "5"], "--k: plain has no K"),
        (["--scheme", "plain", "--compare"], "--compare"),
        (["--env", "=x"], "--env"),
        (["--env", ""], "--env"),
        (["--harts", "2"], "detworam uses one hart"),
        (["--scheme", "parallel", "--harts", "9"], "not in 1..=8"),
        (["--scheme", "nonsense"], "unknown scheme"),
        (["--k", "0"], "not in 1.."),
        (["--env", "SURELY_NOT_SET"], "SURELY_NOT_SET"),
        (["--runtime", "/nowhere"], "--runtime"),
        (["--host-program", "/nowhere"], "--host-program"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_invalid_flags(run, built, flags, why):
    assert why in refused(run, flags, built("steps"))
    result = run(flags, built("steps"))
    assert result.returncode == 2
    # The usage follows an unknown flag only. An error of a value is one line, or lists the possible values.
    lines = result.stderr.strip().splitlines()
    usage = [line for line in lines if line.startswith("Usage:")]
    assert usage == [] or usage[0].startswith("Usage: ameles enclave run "), result.stderr
    is_of_value = "a value is required" in lines[0] or "invalid value" in lines[0]
    assert usage != [] or len(lines) == 1 or is_of_value, result.stderr


def test_a_host_program_without_an_instruction(run, built, tmp_path):
    (tmp_path / "empty").touch()
    assert "the file is empty" in refused(run, ["--host-program", tmp_path / "empty"], built("steps"))


def test_a_program_without_a_name(run):
    assert "name of the program is empty" in refused(run, [], "")


def test_a_missing_emulator_is_named_with_its_package(run, built, tmp_path):
    line = refused_without_path(run, built, tmp_path)
    assert "qemu-system-riscv64 is missing" in line and "apt-get install qemu-system-misc" in line


def refused_without_path(run, built, tmp_path) -> str:
    result = run([], built("steps"), "1", "1", env={"PATH": str(tmp_path)})
    assert result.returncode == 1
    return result.stderr
