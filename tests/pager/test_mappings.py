"""Programs that make, change and remove mappings of memory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_programs import faults

FOLDER = Path(__file__).parent / "mappings"


@pytest.fixture
def run_program(page_run, build_checked):
    """Runs a C program of `mappings/` paged. It must succeed unpaged and paged."""

    def run(name: str, *flags: str) -> str:
        paged = page_run(["--resident", "16", *flags], build_checked(FOLDER / f"{name}.c"))
        assert (paged.stdout, paged.returncode) == ("passed\n", 0), paged.stderr
        return paged.stderr

    return run


def test_memory_that_is_unmapped_twice_is_reused_only_once(run_program):
    run_program("unmapped_twice")


def test_spans_that_reach_beyond_a_mapping_are_split(run_program):
    run_program("spans")


@pytest.mark.parametrize("flags", [[], ["--second-chance", "5"]])
def test_protections_hold_and_lose_nothing(run_program, flags):
    run_program("protections", *flags)


def test_memory_is_paged_where_it_was_reserved_or_hinted_or_fixed(run_program):
    report = run_program("reserved")
    # Each of twelve rounds rewrites 1,500 pages.
    assert faults(report)[1] > 12 * 1500, report


@pytest.mark.parametrize("flags", [["--scheme", "eager-parallel"], ["--second-chance", "5"], ["--scheme", "path"]])
def test_overcommitted_memory_is_paged_where_it_is_touched(run_program, flags):
    report = run_program("overcommitted", *flags)
    assert faults(report)[1] > 6 * 3000, report
    assert "out of paged memory" not in report, report


def test_a_program_that_touches_more_overcommitted_memory_than_the_region_has_exits_with_one_line(page_run, tmp_path):
    program = tmp_path / "overcommit_exhausted"
    subprocess.run(["cc", "-O1", "-o", program, FOLDER / "overcommit_exhausted.c"], check=True)
    paged = page_run(["--resident", "16"], program)
    assert paged.returncode != 0 and paged.stdout == "", paged.stdout
    lines = [line for line in paged.stderr.splitlines() if "out of paged memory" in line]
    assert len(lines) == 1 and re.search(r"all 48\d{3} KiB", lines[0]) and "--untrusted" in lines[0], paged.stderr


@pytest.mark.parametrize("flags", [["--scheme", "eager-parallel"], ["--second-chance", "5"]])
def test_memory_that_is_mapped_and_not_written_takes_no_room(run_program, flags):
    run_program("sparse", "--untrusted", "7MiB", *flags)


def test_memory_is_resized_and_moved(run_program):
    run_program("remapped")


def test_locked_memory_pages_on(run_program):
    run_program("locked")


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_threads_lose_nothing_while_others_protect_and_unmap(run_program, scheme):
    run_program("concurrent", "--scheme", scheme)


def test_impossible_sizes_are_refused_by_every_function(run_program):
    run_program("impossible_sizes")


@pytest.mark.parametrize("scheme", ["detworam", "eager-parallel"])
def test_static_variables_are_paged_with_their_values_from_before_main(run_program, scheme):
    assert faults(run_program("static_variables", "--scheme", scheme))[1] > 6 * 600


def test_static_variables_that_do_not_fit_are_reported(run_program):
    report = run_program("static_variables", "--untrusted", "2MiB")
    assert "static variables" in report and "--untrusted" in report, report


def test_coroutines_whose_stacks_are_paged_may_map_memory(run_program):
    run_program("coroutines")


NODE = """
let kept = [];
for (let i = 0; i < 200000; i++) kept.push("x" + i * 7);
console.log(kept.reduce((sum, word) => sum + word.length, 0));
process.stdout.write(require("fs").readFileSync("/proc/self/smaps", "utf8"));
"""

JAVA = """
import java.nio.file.Files;
import java.nio.file.Path;

public class Kept {
    public static void main(String[] words) throws Exception {
        byte[][] kept = new byte[3000][];
        for (int round = 0; round < 3; round++)
            for (int at = 0; at < kept.length; at++) {
                kept[at] = new byte[4096];
                kept[at][at] = (byte) (at + round);
            }
        long sum = 0;
        for (int at = 0; at < kept.length; at++) sum += kept[at][at] & 0xff;
        System.out.println(sum);
        System.out.print(new String(Files.readAllBytes(Path.of("/proc/self/smaps"))));
    }
}
"""

GO = """
package main

// int one(void) { return 1; }
import "C"
import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	kept := make(map[int][]byte)
	for i := 0; i < 20000; i++ {
		kept[i] = make([]byte, 1000)
		kept[i][i%1000] = byte(i)
	}
	runtime.GC()
	sum := 0
	for i := 0; i < 20000; i++ {
		sum += int(kept[i][i%1000])
	}
	fmt.Println(sum * int(C.one()))
	smaps, _ := os.ReadFile("/proc/self/smaps")
	os.Stdout.Write(smaps)
}
"""


def unpaged_bytes(smaps: str) -> int:
    """Returns the resident bytes of anonymous memory that is writable, not executable, and not paged."""
    clear = 0
    for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", smaps)[1:]:
        access, node = mapping.split()[1], mapping.split()[4]
        resident = int(re.search(r"(?m)^Rss: +(\d+) kB", mapping)[1]) * 1024
        flags = re.search(r"(?m)^VmFlags:(.*)", mapping)[1].split()
        if "w" in access and "x" not in access and node == "0" and "um" not in flags:
            clear += resident
    return clear


def assert_paged(answer: "subprocess.CompletedProcess[str]", first: str) -> None:
    """Checks that the program printed the right line, and that hardly any of its memory is unpaged."""
    assert answer.returncode == 0, answer.stderr
    report, smaps = answer.stdout.split("\n", 1)
    assert report == first, answer.stderr
    assert unpaged_bytes(smaps) < 4 * 1024 * 1024, (unpaged_bytes(smaps), smaps)


def test_the_heap_of_node_is_paged(page_run, tool):
    words = sum(len(f"x{i * 7}") for i in range(200000))
    assert_paged(page_run(["--resident", "1024", "--scheme", "detworam"], tool("node"), "-e", NODE), str(words))


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler")
@pytest.mark.parametrize("options", [["-Xmx32m", "-XX:+UseSerialGC"], ["-Xmx32m", "-XX:+UseG1GC"], []])
def test_the_heap_of_java_is_paged(page_run, tmp_path, options):
    (tmp_path / "Kept.java").write_text(JAVA)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Kept.java"], check=True)
    java = ["java", *options, "-cp", tmp_path, "Kept"]
    flags = ["--resident", "2048", "--untrusted", "256MiB", "--scheme", "detworam"]
    assert_paged(page_run(flags, *java), str(sum((at + 2) & 0xFF for at in range(3000))))


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go compiler")
def test_the_heap_of_go_with_c_is_paged(page_run, tmp_path):
    (tmp_path / "main.go").write_text(GO)
    (tmp_path / "go.mod").write_text("module kept\n\ngo 1.20\n")
    subprocess.run(["go", "build", "-o", "kept", "."], check=True, cwd=tmp_path, env={**os.environ, "CGO_ENABLED": "1"})
    flags = ["--resident", "512", "--untrusted", "128MiB", "--scheme", "detworam"]
    assert_paged(page_run(flags, tmp_path / "kept"), str(sum(i & 0xFF for i in range(20000))))
