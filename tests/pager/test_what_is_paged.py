"""A program that would run unpaged is refused; what else is preloaded, and what its children do, is left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_programs import faults, python


def compiled(folder: Path, *flags: str) -> Path:
    """A program that prints a line."""
    source, program = folder / "program.c", folder / "program"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("began") < 0; }\n')
    subprocess.run(["cc", *flags, "-o", program, source], check=True)
    return program


def refused(page_run, program: Path, *words: str, **more: object) -> None:
    answer = page_run(["--compare"], program, **more)
    assert answer.returncode == 1, (answer.returncode, answer.stderr)
    assert "began" not in answer.stdout, answer.stdout
    for word in words:
        assert word in answer.stderr, answer.stderr


def test_a_statically_linked_program_is_refused(page_run, tmp_path):
    refused(page_run, compiled(tmp_path, "-static"), "program cannot be paged", "statically")


def test_a_program_for_another_processor_is_refused(page_run, tmp_path):
    program = compiled(tmp_path)
    binary = bytearray(program.read_bytes())
    binary[18:20] = (243).to_bytes(2, "little")  # RISC-V, in the header's field for the machine
    program.write_bytes(binary)
    refused(page_run, program, "another processor")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_program_that_gets_privileges_is_refused(page_run, tmp_path):
    program = compiled(tmp_path)
    os.chown(program, 1, 1)
    program.chmod(0o4755)
    refused(page_run, program, "setuid")


def test_a_script_is_judged_by_its_interpreter(page_run, tmp_path):
    script = tmp_path / "script"
    shebang = compiled(tmp_path, "-static")
    for first, words in [(str(shebang), ["statically"]), ("/usr/bin/env python3", ["env", "interpreter"])]:
        script.write_text(f"#!{first}\nprint('began')\n")
        script.chmod(0o755)
        refused(page_run, script, *words)
    script.write_text(f"#!{python()}\nprint('runs')\n")
    runs = page_run(["--resident", "256"], script)
    assert runs.stdout == "runs\n", runs.stderr
    assert faults(runs.stderr)[0] > 100


def test_what_is_preloaded_already_is_kept_and_handed_on(page_run):
    script = """
import os
print(os.environ["LD_PRELOAD"])
maps = open("/proc/self/maps").read()
print("libBrokenLocale" in maps, "liblethe_preload" in maps)
"""
    theirs = {**os.environ, "LD_PRELOAD": "libBrokenLocale.so.1"}
    paged = page_run(["--resident", "256"], python(), "-c", script, env=theirs)
    assert paged.stdout == "libBrokenLocale.so.1\nTrue True\n", paged.stderr


def test_a_library_whose_path_cannot_be_preloaded_is_refused(page_run, lethe, tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    library = shutil.copy(lethe.parent / "liblethe_preload.so", folder)
    answer = page_run(["--library", str(library)], "echo", "began")
    assert answer.returncode == 1 and answer.stdout == "", answer.stdout
    assert "--library" in answer.stderr and "space" in answer.stderr


def test_a_child_that_cannot_begin_does_not_end_the_count(page_run):
    script = """
import subprocess
try:
    subprocess.run(["/nowhere/at/all"])
except FileNotFoundError:
    print("not found")
kept = [bytes([i % 251]) * 4096 for i in range(2000)]
print(sum(page[7] for page in kept) > 0)
"""
    paged = page_run(["--resident", "256"], python(), "-c", script)
    assert paged.stdout == "not found\nTrue\n", paged.stderr
    assert faults(paged.stderr)[1] > 1700, paged.stderr


def test_pipes_reach_the_program_and_its_children(page_run):
    script = """
import os, sys
print(len(sys.stdin.read()))
with os.popen("tr a-z A-Z", "w") as pipe:
    sys.stdout.flush()
    pipe.write("through a pipe\\n")
"""
    paged = page_run(["--resident", "256"], python(), "-c", script, input="x" * 100_000)
    assert paged.stdout == "100000\nTHROUGH A PIPE\n", paged.stderr


def test_a_program_that_leaves_by_the_shortest_way_is_counted(page_run, tmp_path):
    source, program = tmp_path / "leaves.c", tmp_path / "leaves"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void) { memset(malloc(4096 * 100), 1, 4096 * 100); _Exit(3); }\n"
    )
    subprocess.run(["cc", "-O0", "-o", program, source], check=True)
    paged = page_run(["--resident", "16"], program)
    assert paged.returncode == 3
    assert faults(paged.stderr)[1] > 80


def test_a_library_that_is_not_lethes_is_refused(page_run, tmp_path):
    text = tmp_path / "library.so"
    text.write_text("no library\n")
    for other in [text, Path("/lib/x86_64-linux-gnu/libm.so.6")]:
        answer = page_run(["--library", str(other)], python(), "-c", "print('began')")
        assert answer.returncode == 1 and answer.stdout == "", answer
        assert "is not Lethe's library" in answer.stderr, answer.stderr
