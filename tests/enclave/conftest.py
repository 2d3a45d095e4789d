"""Unmodified programs for RISC-V in the enclave, compared with the same programs outside, and hostile hosts.

`cargo xtask test --only enclave` installs what they need and runs them. These variables are for a run by hand:

AMELES_BIN                    the program under test
AMELES_TEST_RUNTIME           the enclave's runtime
AMELES_PROGRAMS_BIN           ameles-programs, the paper's six programs, for this computer
AMELES_TEST_PROGRAMS_RISCV    the same for RISC-V
AMELES_TEST_PICOSAT_RISCV     the solver picosat for RISC-V
AMELES_BARE_BIN               ameles-bare, which runs a fixed sequence of faults, for this computer
AMELES_TEST_BARE_RISCV        the same for RISC-V without an operating system
AMELES_TEST_SQLITE_RISCV      the shell of the database SQLite for RISC-V
AMELES_TEST_DASH_RISCV        the shell dash for RISC-V
AMELES_TEST_COMPILER_RISCV    a C compiler for RISC-V with a static C library
AMELES_TEST_COMPILER_MUSL     the same with musl
AMELES_TEST_COMPILER_PICOLIBC a C compiler for RISC-V without an operating system, with picolibc
AMELES_TAMPERINGS             the number of changes to untrusted memory at random times (24)
AMELES_SECRETS                the number of secrets that are guessed under OPAM (80)
"""

from __future__ import annotations

import csv
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from guesser import ChangedSlots
from host import EnclaveProgram

from run_environment import find_file, restore_signals
from shared_files import make_once, shared_folder

PROGRAMS = Path(__file__).parent / "programs"
SCHEMES = [
    ["--scheme", "plain"],
    ["--scheme", "detworam"],
    ["--scheme", "detworam", "--k", "7"],
    ["--scheme", "eager"],
    ["--scheme", "path"],
    ["--scheme", "opam"],
]

SEVERAL_HARTS = [
    ["--scheme", "parallel", "--harts", "2"],
    ["--scheme", "eager-parallel", "--harts", "4"],
    ["--scheme", "parallel", "--harts", "4"],
    ["--scheme", "eager-parallel", "--harts", "2"],
]


def flag_values(flags: list[str]) -> str:
    """Returns the values of pairs of flag and value, as a test's id."""
    return "-".join(flags[1::2])


def pytest_configure() -> None:
    restore_signals()


def _file(variable: str) -> Path:
    return find_file(variable, "enclave")


def _fixture(variable: str):
    """Returns a fixture: the file that this variable names; see above."""
    return pytest.fixture(scope="session")(lambda: _file(variable))


ameles = _fixture("AMELES_BIN")
runtime = _fixture("AMELES_TEST_RUNTIME")
outside = _fixture("AMELES_PROGRAMS_BIN")
programs = _fixture("AMELES_TEST_PROGRAMS_RISCV")
picosat = _fixture("AMELES_TEST_PICOSAT_RISCV")
sqlite = _fixture("AMELES_TEST_SQLITE_RISCV")
dash = _fixture("AMELES_TEST_DASH_RISCV")
compiler = _fixture("AMELES_TEST_COMPILER_RISCV")


@pytest.fixture(scope="session")
def bare() -> tuple[Path, Path]:
    """The program that runs a fixed sequence of faults: for this computer, and for RISC-V without an operating system."""
    return _file("AMELES_BARE_BIN"), _file("AMELES_TEST_BARE_RISCV")


@pytest.fixture(scope="session")
def built(compiler, tmp_path_factory) -> Callable[[str], Path]:
    """Builds a program of `programs/` statically, once."""
    folder = shared_folder(tmp_path_factory, "built")
    return lambda name: make_once(folder / name, lambda program: compile_to(program, compiler, name))


def compile_to(program: Path, compiler: Path, name: str, *flags: str | Path) -> None:
    """Compiles a program of `programs/`, statically."""
    static = ["-O1", "-static", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *static, PROGRAMS / f"{name}.c", "-o", program, *flags], check=True)


@pytest.fixture(scope="session")
def built_with(tmp_path_factory) -> Callable[[str, str], Path]:
    """Builds a program of `programs/` statically with another C library, once."""
    folder = shared_folder(tmp_path_factory, "built-with")
    freestanding = ["--specs=picolibc.specs", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-nostartfiles"]
    beneath = [PROGRAMS / "picolibc.c", "-T", PROGRAMS / "picolibc.ld"]

    def build(library: str, name: str) -> Path:
        flags = {"musl": [], "picolibc": [*freestanding, *beneath]}[library]
        compiler = _file(f"AMELES_TEST_COMPILER_{library.upper()}")
        return make_once(folder / f"{name}-{library}", lambda program: compile_to(program, compiler, name, *flags))

    return build


@pytest.fixture(scope="session")
def small(built_with) -> Callable[[str], Path]:
    """Builds a program of `programs/` that loads with 5 faults; with the compiler's own C library it takes 105."""
    return lambda name: built_with("musl", name)


@pytest.fixture(scope="session")
def uncounted(tmp_path_factory) -> list[str | Path]:
    """Flags of a run that counts no instructions, so that its harts run in parallel. The host's hart waits."""
    program = tmp_path_factory.mktemp("host") / "waits"
    program.write_bytes(bytes.fromhex("73005010" "6ff0dfff"))
    return ["--host-program", program]


@pytest.fixture(scope="session")
def enclave(ameles, runtime) -> Callable[..., list[str | Path]]:
    """Returns the command that runs a program in the enclave, or watches it there."""

    def words(flags: list[str | Path], *program: str | Path, way: str = "run") -> list[str | Path]:
        runtime_flags = [] if "--runtime" in flags else ["--runtime", runtime]
        return [ameles, "enclave", way, *runtime_flags, *flags, "--", *program]

    return words


@pytest.fixture(scope="session")
def run(enclave) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in the enclave until it exits."""

    def run(flags: list[str | Path], *program: str | Path, **more) -> subprocess.CompletedProcess[str]:
        if "input" not in more:
            more["stdin"] = subprocess.DEVNULL
        more.setdefault("timeout", 500)
        return subprocess.run(enclave(flags, *program), capture_output=True, text=True, check=False, **more)

    return run


@pytest.fixture
def start(enclave):
    """Starts a program in the enclave, and maps its untrusted memory into this process."""
    started: list[EnclaveProgram] = []

    def start(flags: list[str | Path], *program: str | Path, way: str = "run", **more) -> EnclaveProgram:
        started.append(EnclaveProgram(enclave(flags, *program, way=way), **more))
        return started[-1]

    yield start
    for running in started:
        running.kill()


@pytest.fixture(scope="session")
def watch(enclave, tmp_path_factory) -> Callable[..., tuple[list[ChangedSlots], str]]:
    """Watches a program. Returns the slots that changed at each fault, and the command's report."""
    csv_file = tmp_path_factory.mktemp("watched") / "seen.csv"

    def watch(flags: list[str | Path], *program: str | Path) -> tuple[list[ChangedSlots], str]:
        words = enclave(["--faults", "1000000", "--csv", csv_file, *flags], *program, way="watch")
        result = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=500)
        assert result.returncode == 0, result.stderr
        faults = int(re.search(r"watched (\d+)", result.stderr)[1])
        changed: dict[int, set[int]] = defaultdict(set)
        with csv_file.open() as lines:
            for line in csv.DictReader(lines):
                changed[int(line["fault"])].add(int(line["slot"]))
        return [frozenset(changed[fault]) for fault in range(1, faults + 1)], result.stderr

    return watch
