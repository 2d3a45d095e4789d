"""A program that would run unpaged is refused. Other preloaded libraries and the program's children are not affected."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_programs import faults, python


def compiled(folder: Path, *flags: str) -> Path:
    """Compiles a program that prints a line."""
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
    script.write_text(f"#!{' '.join(python())}\nprint('runs')\n")
    runs = page_run(["--resident", "400"], script)
    assert runs.stdout == "runs\n", runs.stderr
    assert faults(runs.stderr)[0] > 100


def test_other_preloaded_libraries_are_kept_and_passed_on(page_run):
    script = """
import os
print(os.environ["LD_PRELOAD"])
maps = open("/proc/self/maps").read()
print("libBrokenLocale" in maps, "libameles_preload" in maps)
"""
    theirs = {**os.environ, "LD_PRELOAD": "libBrokenLocale.so.1"}
    paged = page_run(["--resident", "400"], *python(), "-c", script, env=theirs)
    assert paged.stdout == "libBrokenLocale.so.1\nTrue True\n", paged.stderr


def test_a_library_whose_path_cannot_be_preloaded_is_refused(page_run, ameles, tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    library = shutil.copy(ameles.parent / "libameles_preload.so", folder)
    answer = page_run(["--library", str(library)], "echo", "began")
    assert answer.returncode == 1 and answer.stdout == "", answer.stdout
    assert "--library" in answer.stderr and "space" in answer.stderr


def test_a_child_that_cannot_start_does_not_stop_the_count(page_run):
    script = """
import subprocess
try:
    subprocess.run(["/nowhere/at/all"])
except FileNotFoundError:
    print("not found")
kept = [bytes([i % 251]) * 4096 for i in range(2000)]
print(sum(page[7] for page in kept) > 0)
"""
    paged = page_run(["--resident", "400"], *python(), "-c", script)
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
    paged = page_run(["--resident", "400"], *python(), "-c", script, input="x" * 100_000)
    assert paged.stdout == "100000\nTHROUGH A PIPE\n", paged.stderr


def test_the_faults_of_a_program_that_exits_by_c_exit_are_counted(page_run, tmp_path):
    source, program = tmp_path / "leaves.c", tmp_path / "leaves"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void) { memset(malloc(4096 * 100), 1, 4096 * 100); _Exit(3); }\n"
    )
    subprocess.run(["cc", "-O0", "-o", program, source], check=True)
    paged = page_run(["--resident", "16"], program)
    assert paged.returncode == 3
    assert faults(paged.stderr)[1] > 80


def test_a_library_that_is_not_ameless_is_refused(page_run, tmp_path):
    text = tmp_path / "library.so"
    text.write_text("no library\n")
    for other in [text, Path("/lib/x86_64-linux-gnu/libm.so.6")]:
        answer = page_run(["--library", str(other)], *python(), "-c", "print('began')")
        assert answer.returncode == 1 and answer.stdout == "", answer
        assert "is not the library" in answer.stderr, answer.stderr


SHARE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MIB (1 << 20)
int main(int count, char **words) {
    int paged = atoi(words[1]), own = atoi(words[2]);
    char *heap = malloc(paged * MIB);
    FILE *file = tmpfile();
    ftruncate(fileno(file), own * MIB);
    char *mapped = mmap(0, own * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    for (int i = 0; i < paged * MIB; i += 4096) heap[i] = 1;
    for (int i = 0; i < own * MIB; i += 4096) mapped[i] = 1;
    if (words[3]) execv(words[3], words + 3);
    return count < 0;
}
"""


@pytest.mark.parametrize(("paged", "unpaged", "warned"), [(8, 4, False), (4, 8, True)])
def test_the_report_says_which_share_of_the_memory_was_paged(page_run, tmp_path, paged, unpaged, warned):
    source, program = tmp_path / "share.c", tmp_path / "share"
    source.write_text(SHARE)
    subprocess.run(["cc", "-O0", "-o", program, source], check=True)
    for more in [[], ["/bin/echo", "other"]]:
        finished = page_run(["--resident", "64"], program, str(paged), str(unpaged), *more)
        assert finished.returncode == 0, finished.stderr
        share = re.search(r"paged ([\d.]+) of ([\d.]+) MiB", finished.stderr)
        assert share, finished.stderr
        assert paged <= float(share[1]) < paged + 0.5 and paged + unpaged <= float(share[2]) < paged + unpaged + 2, share
        assert ("warning: less than half" in finished.stderr) == warned, finished.stderr
        assert ("replaced itself with echo" in finished.stderr) == bool(more), finished.stderr


def test_programs_that_are_started_are_reported(page_run, tool, tmp_path):
    source = tmp_path / "empty.c"
    source.write_text("int one;\n")
    compiler = page_run(["--resident", "256"], tool("gcc"), "-c", "-o", tmp_path / "empty.o", source)
    assert compiler.returncode == 0, compiler.stderr
    assert re.search(r"warning: [12] started programs? ran unpaged \(first: cc1\)", compiler.stderr)
    script = "import os, subprocess; subprocess.run(['true']); os.system('true'); os.popen('true').close()"
    children = page_run(["--resident", "400"], *python(), "-c", script)
    assert re.search(r"warning: 3 started programs ran unpaged \(first: true\)", children.stderr), children
    alone = page_run(["--resident", "400"], *python(), "-c", "pass")
    assert " started program" not in alone.stderr, alone.stderr
