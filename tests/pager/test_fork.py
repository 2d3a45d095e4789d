"""`fork`: the child has a copy of its parent's memory, is paged itself, and shares nothing with its parent."""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import SCHEMES
from test_processes import compiled
from test_programs import python

WORKERS = [("eager-parallel", "process"), ("eager", "process"), ("parallel", "process"), ("eager-parallel", "threads")]


def forks(report: str) -> tuple[int, int]:
    """Returns the number of children by fork, and of their faults."""
    found = re.search(r"(\d+) (?:child|children) by fork, paged too: (\d+) faults", report)
    assert found, report
    return int(found[1]), int(found[2])


SHELL = """
x=$(echo hello | tr a-z A-Z)
(x=inner; echo $x; (echo nested $x))
for i in 1 2 3 4 5 6 7 8; do echo $i; done | while read line; do echo got $line; done
set -- a b c
f() { if [ $1 -gt 0 ]; then (f $(($1 - 1))); fi; echo "$1 $*"; }
f 4 $@
{ echo one; sleep 0.1; echo two; } & wait $!
echo $x
"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_shell_with_subshells_and_pipelines_answers_as_it_does_unpaged(page_run, tool, scheme):
    words = [tool("dash"), "-c", SHELL]
    unpaged = subprocess.run(words, capture_output=True, text=True, check=True)
    paged = page_run(["--resident", "8", "--scheme", scheme], *words)
    assert (paged.stdout, paged.returncode) == (unpaged.stdout, 0), paged.stderr
    assert forks(paged.stderr)[0] >= 8


LISTS = """
import os
kept = [str(i) for i in range(8000)]
for round in range(2):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        assert kept[:3] == ["0", "1", "2"] and all(kept[i] == str(i) for i in range(0, 8000, 7))
        kept = [k + "!" for k in kept]
        os.write(writer, kept[-1 - round].encode())
        os._exit(round)
    os.close(writer)
    print(os.read(reader, 100).decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert all(kept[i] == str(i) for i in range(0, 8000, 3))
"""


@pytest.mark.parametrize(
    "flags", [["--scheme", scheme] for scheme in SCHEMES] + [["--scheme", s, "--worker", b] for s, b in WORKERS]
)
def test_python_forks_under_every_scheme(page_run, flags):
    paged = page_run(["--resident", "250", "--untrusted", "48MiB", *flags], *python(), "-c", LISTS)
    assert paged.stdout == "".join(f"{7999 - n}! {n}\n" for n in range(2)), paged.stderr
    children, in_children = forks(paged.stderr)
    assert children == 2 and in_children > 500, paged.stderr


def test_a_pool_of_processes_computes_what_one_process_does(page_run, tmp_path):
    program = tmp_path / "pool.py"
    program.write_text("""
import multiprocessing
def work(n):
    return sum(int(t) for t in table[n::10])
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    table = [str(i * i) for i in range(20000)]
    with multiprocessing.Pool(3) as pool:
        print(sum(pool.map(work, range(10))) == sum(i * i for i in range(20000)))
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=lambda: queue.put(table[777]))
    child.start()
    print(queue.get())
    child.join()
    print(child.exitcode)
""")
    paged = page_run(["--resident", "400"], *python(), program)
    assert paged.stdout == "True\n603729\n0\n", paged.stderr
    assert forks(paged.stderr)[0] == 4


def test_a_fork_among_threads_is_refused_and_the_program_goes_on(page_run):
    script = """
import os, threading
ended = threading.Event()
other = threading.Thread(target=ended.wait)
other.start()
try:
    os.fork()
except OSError as error:
    print(error.errno)
ended.set()
other.join()
# The kernel may list a thread for an instant after it was joined.
while len(os.listdir("/proc/self/task")) > 2:
    pass
child = os.fork()
if child == 0:
    os._exit(6)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    paged = page_run(["--resident", "400"], *python(), "-c", script)
    assert paged.stdout == "38\n6\n", paged.stderr
    assert "fork is refused: the program has several threads" in paged.stderr


FILES = """
#include <assert.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/wait.h>

static int prepared, in_parent, in_child;
static char *kept;
static void before(void) { prepared = kept[4096 * 300]; kept[4096] = 8; }
static void parent(void) { in_parent = kept[4096 * 100]; }
static void child(void) { in_child = kept[4096 * 200] + kept[4096]; }
static void *look(void *file) { return (void *)(long)fgetc(file); }

int main(int argc, char **argv) {
    FILE *files[20];
    kept = malloc(4096 * 400);
    for (int at = 0; at < 20; at++) {
        files[at] = fopen(argv[1], "r");
        assert(fgetc(files[at]) == '#');
    }
    assert(getpwnam("root"));
    assert(pthread_atfork(before, parent, child) == 0);
    for (int round = 0; round < 5; round++) {
        memset(kept, 7, 4096 * 400);
        fflush(stdout);
        pid_t process = fork();
        assert(process >= 0);
        if (process == 0) {
            assert(prepared == 7 && in_child == 15 && !in_parent == !round);
            assert(getpwnam("root"));
            void *found;
            pthread_t thread;
            for (int at = 0; at < 20; at++) {
                assert(pthread_create(&thread, NULL, look, files[at]) == 0);
                pthread_join(thread, &found);
                assert((long)found == 'i');
            }
            printf("child %d\\n", round);
            exit(0);
        }
        assert(prepared == 7 && in_parent == 7);
        int status;
        assert(waitpid(process, &status, 0) == process && status == 0);
    }
    puts("whole");
}
"""


def test_handlers_files_and_names_are_as_after_any_fork(page_run, tmp_path):
    program = compiled(tmp_path, FILES)
    unpaged = subprocess.run([program, tmp_path / "program.c"], capture_output=True, text=True, check=True, timeout=60)
    assert unpaged.stdout == "".join(f"child {round}\n" for round in range(5)) + "whole\n"
    for scheme in ["detworam", "eager-parallel", "path"]:
        paged = page_run(["--resident", "4", "--scheme", scheme], program, tmp_path / "program.c")
        assert (paged.stdout, paged.returncode) == (unpaged.stdout, 0), paged.stderr


def test_other_ways_to_fork(page_run, tmp_path):
    program = compiled(
        tmp_path,
        r"""
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
pid_t _Fork(void);
int main(void) {
    char *kept = malloc(4096 * 100), text[8];
    memset(kept, 3, 4096 * 100);
    assert(_Fork() == -1 && errno == ENOSYS);
    int terminal, status;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child == 0) { assert(isatty(0) && kept[4096 * 50] == 3); write(1, "there", 5); _exit(4); }
    assert(read(terminal, text, 5) == 5 && !memcmp(text, "there", 5));
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    int ends[2];
    assert(pipe(ends) == 0);
    if (fork() == 0) {
        assert(daemon(0, 1) == 0);
        assert(kept[4096 * 70] == 3 && getsid(0) == getpid());
        write(ends[1], "daemon", 6);
        _exit(0);
    }
    assert(read(ends[0], text, 6) == 6 && !memcmp(text, "daemon", 6));
    wait(&status);
    assert(status == 0);
    puts("all");
}
""",
    )
    paged = page_run(["--resident", "4"], program)
    assert (paged.stdout, paged.returncode) == ("all\n", 0), paged.stderr
    assert "_Fork is refused" in paged.stderr


def test_a_child_that_closes_everything_and_forks_again_goes_on(page_run):
    script = """
import os
kept = [str(i) for i in range(9000)]
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.dup2(writer, 2)
    os.closerange(3, 4096)
    # The program may use the numbers of the pager's descriptors now.
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(40)]
    if os.fork() == 0:
        assert all(kept[i] == str(i) for i in range(9000))
        os.write(2, b"held %d" % sum(os.fstat(file).st_rdev == os.stat("/dev/null").st_rdev for file in files))
    os._exit(0)
os.close(writer)
print(os.read(reader, 100).decode())
"""
    for more in [["--scheme", "detworam"], ["--scheme", "eager-parallel", "--worker", "process"]]:
        paged = page_run(["--resident", "400", *more], *python(), "-c", script)
        assert paged.stdout == "held 40\n", paged.stderr


def test_a_childs_second_process_ends_with_the_child(page_run):
    script = """
import os
def children():
    found = []
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = open(f"/proc/{one}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat[1]) == os.getpid():
            found.append(one)
    return found
kept = [str(i) for i in range(9000)]
reader, writer = os.pipe()
for round in range(3):
    child = os.fork()
    if child == 0:
        assert all(kept[i] == str(i) for i in range(9000))
        os.write(writer, " ".join(children()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    second = os.read(reader, 100).decode().split()
    print(len(second), flush=True)
    while any(os.path.exists(f"/proc/{one}") for one in second):
        pass
print("gone")
"""
    paged = page_run(["--resident", "400", "--scheme", "eager-parallel", "--worker", "process"], *python(), "-c", script)
    assert paged.stdout == "1\n1\n1\ngone\n", paged.stderr


def test_a_fork_without_enough_memory_is_reported_and_the_program_goes_on(page_run):
    script = """
import os, resource
kept = [str(i) for i in range(9000)]
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (1 << 20, before[1]))
try:
    os.fork()
except OSError as error:
    resource.setrlimit(resource.RLIMIT_AS, before)
    print(error.errno)
child = os.fork()
if child == 0:
    os._exit(int(all(kept[i] == str(i) for i in range(9000))))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    paged = page_run(["--resident", "400"], *python(), "-c", script)
    assert paged.stdout == "12\n1\n", paged.stderr
    assert "fork is refused" in paged.stderr
