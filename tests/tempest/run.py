"""All object-storage tests of OpenStack's Tempest against a running `ameles serve`.

`cargo xtask test --only tempest` installs what they need and runs them. By hand:

AMELES_BIN       the program under test
python tests/tempest/run.py [PART_OF_A_NAME ...]

Every test must pass, except those in `skips.toml`, which must be skipped. A skipped test that is not in `skips.toml` is
a failure, and so is a test in `skips.toml` that passes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKERS = 2
"""Processes that run tests in parallel: most tests wait for the gateway, and two wait for an object to expire."""
READY_TIMEOUT = 240.0
"""Seconds until a gateway that does not answer has failed."""
TESTS_TIMEOUT = 600.0
"""Seconds until a worker that still runs counts as hung."""
USERS = [(f"tempest-{number}", "someone", "owner") for number in range(1, 2 * WORKERS + 1)]
USERS += [(f"operators-{number}", "admin", "admin") for number in range(1, WORKERS + 1)]


def free_port() -> int:
    """Returns a port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gateway:
    """`ameles serve` over a folder."""

    def __init__(self, binary: str, folder: Path):
        self.binary = binary
        self.data = folder / "data"
        self.log = folder / "ameles.log"
        self.swift = free_port()
        self.ameles("init", "--capacity", "256MiB", "--block-size", "16KiB")

    def ameles(self, *arguments: str) -> str:
        """Runs a command and returns its output."""
        command = [self.binary, *arguments, "--data", str(self.data)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def add_user(self, account: str, user: str, role: str) -> str:
        """Adds a user and returns the password."""
        output = self.ameles("user", "add", f"{account}:{user}", "--role", role)
        return next(line.split()[1] for line in output.splitlines() if line.strip().startswith("password"))

    def start(self) -> None:
        """Starts the gateway and waits until it answers."""
        command = [self.binary, "serve", "--data", str(self.data), "--swift", f"127.0.0.1:{self.swift}"]
        command += ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        deadline = time.monotonic() + READY_TIMEOUT
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.swift}/healthcheck", timeout=5).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"the gateway does not start:\n{self.log.read_text()}")

    def can_log_in(self, account: str, user: str, password: str) -> bool:
        """Returns whether the user can log in."""
        name = {"X-Auth-User": f"{account}:{user}", "X-Auth-Key": password}
        login = urllib.request.Request(f"http://127.0.0.1:{self.swift}/auth/v1.0", headers=name)
        try:
            urllib.request.urlopen(login, timeout=READY_TIMEOUT).close()
        except urllib.error.HTTPError as refused:
            if refused.code != 401:
                raise
            return False
        return True

    def wait_for(self, account: str, user: str, password: str) -> None:
        """Waits until the gateway, which reloads its users, accepts the user."""
        deadline = time.monotonic() + READY_TIMEOUT
        while not self.can_log_in(account, user, password):
            if time.monotonic() > deadline:
                raise SystemExit(f"{account}:{user} cannot log in:\n{self.log.read_text()}")
            time.sleep(0.05)

    def stop(self) -> int:
        """Stops the gateway as Ctrl-C does, and returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=READY_TIMEOUT)


def configure(folder: Path, gateway: Gateway) -> None:
    """Writes Tempest's configuration, with the gateway as the only service."""
    accounts = ""
    passwords = {name: gateway.add_user(*name) for name in USERS}
    for (account, user, role), password in passwords.items():
        gateway.wait_for(account, user, password)
        accounts += f"- {{username: {user}, project_name: {account}, password: '{password}', roles: [{role}]}}\n"
    (folder / "accounts.yaml").write_text(accounts)
    # Tempest tests the features that the gateway reports, and no others.
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.swift}/info") as answer:
        features = ",".join(json.load(answer))
    (folder / "tempest.conf").write_text(f"""
[DEFAULT]
log_file = {folder}/tempest.log
[oslo_concurrency]
lock_path = {folder}/locks
[auth]
use_dynamic_credentials = False
test_accounts_file = {folder}/accounts.yaml
[identity]
auth_version = v3
uri_v3 = http://127.0.0.1:{gateway.swift}/v3
region = RegionOne
[service_available]
swift = True
nova = False
neutron = False
cinder = False
glance = False
[object-storage-feature-enabled]
discoverable_apis = {features}
container_sync = False
[object-storage]
operator_role = owner
reseller_admin_role = admin
""")


class Record(unittest.TestResult):
    """Writes the outcome of each test as a line of JSON."""

    def __init__(self, output):
        super().__init__()
        self.output = output
        self.recorded = set()

    def record(self, test, outcome: str, text: str = "") -> None:
        name = test.id().split("[")[0] if hasattr(test, "id") else str(test)
        if (name, outcome) not in self.recorded:
            self.recorded.add((name, outcome))
            print(json.dumps([name, outcome, text]), file=self.output, flush=True)

    def addSuccess(self, test, details=None):  # noqa: N802
        self.record(test, "passed")

    def addSkip(self, test, reason=None, details=None):  # noqa: N802
        self.record(test, "skipped", reason or str(details and details.get("reason").as_text()))

    def addFailure(self, test, err=None, details=None):  # noqa: N802
        self.record(test, "failed", self.text(test, err, details))

    addError = addFailure

    def text(self, test, err, details) -> str:
        if err is not None:
            return self._exc_info_to_string(err, test)
        return "\n".join(content.as_text() for content in (details or {}).values())


def tests_of(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Yields the tests of a suite and of the suites in it."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_of(entry)
        else:
            yield entry


def find(wanted: list[str]) -> list[unittest.TestSuite]:
    """Returns a suite per class of the object-storage tests whose names contain one of these texts."""
    import tempest.api.object_storage as package

    classes: dict[type, unittest.TestSuite] = {}
    for path in sorted(Path(package.__file__).parent.glob("test_*.py")):
        found = unittest.TestLoader().loadTestsFromName(f"tempest.api.object_storage.{path.stem}")
        for test in tests_of(found):
            if not wanted or any(part in test.id() for part in wanted):
                classes.setdefault(type(test), unittest.TestSuite()).addTest(test)
    return list(classes.values())


def work(number: int, wanted: list[str], output: Path) -> None:
    """Runs every `WORKERS`-th class of tests. Classes are not split, because a class makes its fixtures once."""
    with output.open("w") as lines:
        record = Record(lines)
        unittest.TestSuite(find(wanted)[number::WORKERS]).run(record)


def report(outcomes: list[list[str]], partial: bool) -> int:
    """Prints unexpected outcomes and returns the exit code."""
    expected = tomllib.loads((HERE / "skips.toml").read_text())
    skips = {entry["test"] for entry in expected["skip"] if entry["reason"]}
    by_outcome: dict[str, set[str]] = {"passed": set(), "skipped": set(), "failed": set()}
    problems = []
    for name, outcome, text in outcomes:
        by_outcome[outcome].add(name)
        if outcome == "failed":
            problems.append(f"FAILED {name}\n{text}")
        elif outcome == "skipped" and name not in skips:
            problems.append(f"skipped, and not in skips.toml: {name}: {text}")
    if not partial:
        problems += [f"in skips.toml, and not skipped: {name}" for name in sorted(skips - by_outcome["skipped"])]
        min_passed = expected["min_passed"]
        if len(by_outcome["passed"]) < min_passed:
            problems.append(f"{len(by_outcome['passed'])} tests passed, but at least {min_passed} must pass")
    print("\n\n".join(problems))
    counts = ", ".join(f"{len(names)} {outcome}" for outcome, names in by_outcome.items())
    print(f"Tempest: {counts}")
    return 1 if problems else 0


def main() -> int:
    """Starts a gateway, runs the tests, and stops the gateway."""
    if sys.argv[1:2] == ["--worker"]:
        work(int(sys.argv[2]), sys.argv[4:], Path(sys.argv[3]))
        return 0
    wanted = sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix="ameles-tempest-"))
    gateway = Gateway(os.environ["AMELES_BIN"], folder)
    gateway.start()
    configure(folder, gateway)
    environment = os.environ | {"TEMPEST_CONFIG_DIR": str(folder), "TEMPEST_CONFIG": "tempest.conf"}
    workers = []
    try:
        for number in range(WORKERS):
            command = [sys.executable, __file__, "--worker", str(number), str(folder / f"{number}.json"), *wanted]
            with (folder / f"{number}.log").open("w") as log:
                workers.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        deadline = time.monotonic() + TESTS_TIMEOUT
        codes = [worker.wait(timeout=max(1, deadline - time.monotonic())) for worker in workers]
        if any(codes):
            logs = "\n".join((folder / f"{number}.log").read_text()[-4000:] for number in range(WORKERS))
            raise SystemExit(f"a worker exited with {codes}:\n{logs}")
    finally:
        for worker in workers:
            worker.kill()
        code = gateway.stop()
    outcomes = []
    for number in range(WORKERS):
        outcomes += [json.loads(line) for line in (folder / f"{number}.json").read_text().splitlines()]
    verdict = report(outcomes, bool(wanted))
    if code != 0:
        print(f"the gateway exited with {code}:\n{gateway.log.read_text()[-4000:]}")
        verdict = 1
    if verdict == 0:
        shutil.rmtree(folder)
    else:
        print(f"the files and logs of the run are in {folder}")
    return verdict


if __name__ == "__main__":
    sys.exit(main())
