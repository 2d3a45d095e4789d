"""Paging does not change the program's signals, threads, children and exit."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess

import pytest
from test_programs import faults, python


def start_in_terminal(words: list[str]) -> tuple[int, int]:
    """Starts a program in a new terminal, and returns its process and the other end of the terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(words[0], words)
    return process, terminal


def read_until(terminal: int, word: bytes) -> bytes:
    text = b""
    while word not in text:
        try:
            more = os.read(terminal, 1000)
        except OSError:  # the end of a terminal on Linux
            more = b""
        assert more, text
        text += more
    return text


def test_the_program_handles_ctrl_c(ameles):
    script = """
import signal, time
counted = 0
def count(*_):
    global counted
    counted += 1
signal.signal(signal.SIGINT, count)
signal.signal(signal.SIGQUIT, count)
print("began", flush=True)
while counted < 3:
    time.sleep(0.05)
    print("so far", counted, flush=True)
print("so far", counted, flush=True)  # a key may come after the line above and before the condition
raise SystemExit(5)
"""
    words = [str(ameles), "page", "run", "--resident", "400", "--", *python(), "-c", script]
    process, terminal = start_in_terminal(words)
    read_until(terminal, b"began")
    for key, so_far in [(b"\x03", b"so far 1"), (b"\x1c", b"so far 2")]:
        os.write(terminal, key)
        read_until(terminal, so_far)
    os.write(terminal, b"\x03")
    # The rest of the output may come at once.
    assert b"so far 3" in read_until(terminal, b"faults")
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 5
    os.close(terminal)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_exit_reaches_the_program_and_its_exit_code_is_returned(ameles, how):
    script = f"""
import signal, sys, time
signal.signal({how.value}, lambda *_: sys.exit(9))
print("began", flush=True)
while True:
    time.sleep(0.1)
"""
    words = [str(ameles), "page", "run", "--resident", "400", "--", *python(), "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "began\n"
        running.send_signal(how)
        _, report = running.communicate(timeout=120)
        assert running.returncode == 9, report
        assert faults(report)[0] > 100


def test_signals_that_were_ignored_at_the_start_stay_ignored(page_run):
    script = 'print(next(line for line in open("/proc/self/status") if line.startswith("SigIgn")), end="")'

    def ignored(run) -> int:
        before = {kind: signal.signal(kind, signal.SIG_IGN) for kind in [signal.SIGINT, signal.SIGHUP]}
        try:
            return int(run().split()[1], 16)
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def paged() -> str:
        return page_run(["--resident", "400"], *python(), "-c", script).stdout

    def unpaged() -> str:
        return subprocess.run([*python(), "-c", script], capture_output=True, text=True, check=True).stdout

    bits = 1 << signal.SIGINT - 1 | 1 << signal.SIGHUP - 1
    assert ignored(paged) & bits == ignored(unpaged) & bits == bits


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_threads_and_children_may_run_on_every_processor_of_the_program(page_run):
    # One thread faults so often that it is bound to a processor, again and again. What it starts is not bound.
    script = """
import os, subprocess, sys, threading
def fault():
    for _ in range(3):
        kept = [bytes([i % 251]) * 4096 for i in range(600)]
def look():
    found.append(len(os.sched_getaffinity(0)))
child = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
found = []
for _ in range(3):
    fault()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    for more in [{}, {"close_fds": False}, {"cwd": "/"}]:
        fault()
        found.append(int(subprocess.run(child, capture_output=True, text=True, **more).stdout))
sys.stderr.flush()
fault()
print(found, flush=True)
os.execv(sys.executable, child)
"""
    paged = page_run(["--resident", "200"], *python(), "-c", script)
    processors = len(os.sched_getaffinity(0))
    assert paged.stdout == f"{[processors] * 12}\n{processors}\n", paged.stderr


PROCESSORS = r"""
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static void fault(void) {
    static char *kept;
    if (!kept) kept = malloc(4096 * 1000);
    for (int block = 0; block < 1000; block++) kept[4096 * block]++;
}
/* How many processors a thread may run on that faults and is bound, by every way to ask. */
static void ask(void) {
    cpu_set_t set;
    pthread_attr_t attributes;
    fault();
    sched_getaffinity(0, sizeof set, &set);
    printf("%d ", CPU_COUNT(&set));
    fault();
    sched_getaffinity(getpid(), sizeof set, &set);
    printf("%d ", CPU_COUNT(&set));
    fault();
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    printf("%d ", CPU_COUNT(&set));
    fault();
    CPU_ZERO(&set);
    syscall(SYS_sched_getaffinity, 0, sizeof set, &set);
    printf("%d ", CPU_COUNT(&set));
    fault();
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getaffinity_np(&attributes, sizeof set, &set);
    printf("%d\n", CPU_COUNT(&set));
}
int main(void) {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    ask();
    /* To every processor of its own, so also to the one that it is bound to by now: there it stays. */
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &all)) {
            CPU_ZERO(&one);
            CPU_SET(processor, &one);
            fault();
            sched_setaffinity(0, sizeof one, &one);
            ask();
        }
    sched_setaffinity(0, sizeof all, &all);
    ask();
    return 0;
}
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_a_program_sees_the_same_processors_as_unpaged(page_run, tmp_path):
    program = compiled(tmp_path, PROCESSORS)
    unpaged = subprocess.run([program], capture_output=True, text=True, check=True)
    paged = page_run(["--resident", "64"], program)
    assert paged.stdout == unpaged.stdout, paged.stderr
    processors = len(os.sched_getaffinity(0))
    assert unpaged.stdout.splitlines()[0] == " ".join([str(processors)] * 5)


def test_figures_are_printed_where_few_descriptors_are_allowed(page_run):
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    paged = page_run(["--resident", "400"], *python(), "-c", "print('began')", preexec_fn=few)
    assert (paged.returncode, paged.stdout) == (0, "began\n"), paged.stderr
    assert faults(paged.stderr)[0] > 100


def compiled(folder, source: str):
    text, program = folder / "program.c", folder / "program"
    text.write_text("#include <stdlib.h>\n#include <string.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n" + source)
    subprocess.run(["cc", "-O0", "-D_GNU_SOURCE", "-pthread", "-o", program, text], check=True)
    return program


@pytest.mark.parametrize(
    ("leave", "report"),
    [
        ("syscall(SYS_exit_group, 3);", "faults"),
        ('__asm__ volatile("syscall" :: "a"(SYS_exit_group), "D"(3));', "by a direct system call"),
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the system call is written for x86-64")
def test_the_faults_of_a_program_that_exits_by_a_bare_system_call_are_counted(page_run, tmp_path, leave, report):
    program = compiled(tmp_path, f"int main(void) {{ memset(malloc(4096 * 400), 1, 4096 * 400); {leave} }}")
    paged = page_run(["--resident", "16"], program)
    assert paged.returncode == 3
    assert report in paged.stderr, paged.stderr
    assert faults(paged.stderr)[1] > 300


def test_a_program_that_executes_another_is_not_reported_as_paged(page_run, tool):
    for wrapper in [["nice"], ["env", "A=b"]]:
        paged = page_run([], tool(wrapper[0]), *wrapper[1:], tool("echo"), "runs")
        assert (paged.returncode, paged.stdout) == (0, "runs\n"), paged.stderr
        assert "replaced itself with echo, which ran unpaged" in paged.stderr, paged.stderr
    missing = page_run([], tool("nice"), "/nowhere/at/all")
    assert missing.returncode == 127 and "replaced itself" not in missing.stderr, missing.stderr
