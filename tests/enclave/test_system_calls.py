"""A system call that the runtime does not serve is refused, and reported after the program's exit."""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import PROGRAMS

ENOSYS = 38
PER_RUN = 40


@pytest.fixture(scope="module")
def numbers(compiler) -> dict[str, int]:
    """The numbers of Linux's system calls by name, from the compiler's headers."""
    source = "#include <asm/unistd.h>\n"
    defined = subprocess.run(
        [compiler, "-E", "-dM", "-"], input=source, capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"#define __NR_(?:3264_)?(\w+) (\d+|__NR3264_\w+)$", defined, re.MULTILINE)
    bounds = ("arch_specific_syscall", "syscalls")
    numbers = {name: int(number) for name, number in found if number.isdigit() and name not in bounds}
    assert len(numbers) > 280
    return numbers


# Calls that the runtime serves, and calls that end the program. The tests of the runtime cover them.
SERVED = """
brk mmap munmap mprotect mremap madvise read readv write writev ppoll fstat newfstatat fstatat lseek ioctl fcntl close
readlinkat rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack kill tkill tgkill set_tid_address set_robust_list
get_robust_list rseq futex prlimit64 getrandom clock_gettime clock_getres gettimeofday exit exit_group getpid getppid
gettid getuid geteuid getgid getegid sched_yield sched_getaffinity uname sysinfo getrusage times nanosleep
clock_nanosleep pselect6 riscv_flush_icache membarrier prctl getcpu umask getcwd personality dup dup3 getpgid getsid
rt_sigpending getpeername getsockname
""".split()


def test_every_other_call_is_refused_by_name(run, built, numbers):
    asked = {name: number for name, number in numbers.items() if name not in SERVED}
    assert len(asked) > 200 and {"openat", "socket", "clone", "execve", "ptrace"} <= set(asked)
    names = sorted(asked)
    for first in range(0, len(names), PER_RUN):
        some = names[first : first + PER_RUN]
        result = run(["--resident", "64"], built("system_calls"), *(str(asked[name]) for name in some))
        assert result.returncode == 0, (some, result.stderr)
        answers = dict(line.split() for line in result.stdout.splitlines())
        refused = dict(re.findall(r"refused: (\S+) \((\d+) times\)", result.stderr))
        for name in some:
            assert answers[str(asked[name])] == str(-ENOSYS), (name, answers[str(asked[name])])
            known = {name, name.removesuffix("64"), f"{name}64"}
            assert known & set(refused), (name, result.stderr)


def test_an_unknown_number_is_refused_too(run, built):
    result = run([], built("system_calls"), "9999", "9999")
    assert result.stdout == "9999 -38\n9999 -38\n" and re.search(r"refused: .*9999.* \(2 times\)", result.stderr)


def test_calls_with_extreme_arguments_answer_as_outside(enclave, built, tmp_path):
    subprocess.run(["cc", "-O1", PROGRAMS / "extreme_arguments.c", "-o", tmp_path / "extreme_arguments"], check=True)
    pipes = {"input": b"text that is read by nobody", "capture_output": True, "check": True}
    # The first process of a container sees the number of its session as 0, so the program gets a new session.
    outside = subprocess.run([tmp_path / "extreme_arguments"], start_new_session=True, **pipes)
    inside = subprocess.run(enclave([], built("extreme_arguments")), **pipes)
    errors, _, figures = inside.stderr.decode().partition("\n\nameles enclave:")
    assert errors == outside.stderr.decode().strip() and errors.count("\n") > 60
    assert inside.stdout == outside.stdout and "refused" not in figures


def test_a_second_thread_is_refused(run, built, numbers):
    result = run([], built("system_calls"), str(numbers["clone"]))
    assert result.returncode == 0 and "refused: clone (1 times)" in result.stderr
