"""The integration tests of versitygw, a public S3 server. Its program contains them, and they test any endpoint.

Each test runs in its own process with its own account, so that no test sees what another leaves behind.
"""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
import subprocess
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import ClientError
from programs import Endpoint, Gateway, environment

PARALLEL_TESTS = 4
"""The number of tests that run in parallel. Many only wait for a second to pass, so that dates differ."""

TEST_TIMEOUT = 120.0
"""Seconds after which a test has failed."""


@dataclass(frozen=True)
class Exclusions:
    """The content of `exclusions.toml`."""

    not_run: dict[str, str]
    """Patterns of names of tests that do not apply to the gateway, with the reason."""

    fails: dict[str, str]
    """Names of tests that run and must fail, with the reason."""

    @classmethod
    def read(cls) -> Exclusions:
        text = (Path(__file__).parent / "exclusions.toml").read_text()
        table = tomllib.loads(text)
        fails = {}
        for group in table["fails"]:
            for name in group["tests"]:
                assert name not in fails, f"exclusions.toml names {name} twice"
                fails[name] = group["reason"]
        not_run = {pattern: group["reason"] for group in table["not_run"] for pattern in group["patterns"]}
        return cls(not_run, fails)


def all_tests(versitygw: Path) -> list[str]:
    """Returns the names of all tests in the program."""
    done = subprocess.run([versitygw, "test", "--help"], capture_output=True, text=True, env=environment())
    return sorted(set(re.findall(r"^   ([A-Za-z0-9]+_\w+)", done.stdout, re.MULTILINE)))


def selected_tests(versitygw: Path, exclusions: Exclusions) -> list[str]:
    """Returns the names of the tests that run."""

    def is_run(name: str) -> bool:
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in exclusions.not_run)

    return [name for name in all_tests(versitygw) if is_run(name)]


@dataclass(frozen=True)
class Outcome:
    """The result of a test and its output."""

    passed: bool
    output: str
    timed_out: bool = False


class FolderGateway(Gateway):
    """`ameles serve` over a folder: the kind of store does not matter here."""

    def __init__(self, binary: Path, folder: Path):
        super().__init__(binary, folder, untrusted=None)
        self.store = folder / "store"
        self.store.mkdir()
        self.capacity = "512MiB"

    def vault_flags(self) -> list[str]:
        return ["--data", str(self.data), "--log", "warn", "--store", self.store.as_uri()]

    def add_owners(self, accounts: list[str]) -> dict[str, Endpoint]:
        """Makes these accounts, each with an owner, and waits until the gateway accepts their keys."""
        endpoint = self.endpoint
        lines = []
        keys = {}
        for account in accounts:
            # The suite expects the access key to be the id of its owner.
            keys[account] = (account, secrets.token_hex(20))
            lines += ["", "[[users]]", f'account = "{account}"', 'user = "owner"', 'role = "owner"']
            lines += ["", "[[users.keys]]"]
            lines += [f'access_key_id = "{keys[account][0]}"', f'secret_access_key = "{keys[account][1]}"']
        users = self.data / "trusted" / "credentials.toml"
        # Replaced in one step, as an editor does: the gateway would refuse half a list of users and log that.
        new = users.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(users.read_text() + "\n".join(lines) + "\n")
        os.replace(new, users)
        endpoints = {account: Endpoint(endpoint.url, *pair) for account, pair in keys.items()}
        last = endpoints[accounts[-1]].client()
        deadline = time.monotonic() + 240
        while True:
            try:
                last.list_buckets()
                return endpoints
            except ClientError as error:
                assert time.monotonic() < deadline, f"the gateway does not accept new users: {error}"
                time.sleep(0.1)


def run(versitygw: Path, name: str, endpoint: Endpoint, folder: Path) -> Outcome:
    """Runs one test."""
    command = [versitygw, "test", "--access", endpoint.access_key, "--secret", endpoint.secret_key]
    # Without the flag a test cannot remove old versions from its bucket, and fails.
    command += ["--endpoint", endpoint.url, name, "--versioning-enabled"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment(), timeout=TEST_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return Outcome(False, f"took more than {TEST_TIMEOUT} s", timed_out=True)
    output = re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)
    # Some tests report another name.
    passed = re.search("^PASS ", output, re.MULTILINE) and not re.search("^FAIL ", output, re.MULTILINE)
    return Outcome(bool(passed) and done.returncode == 0, output, "context deadline exceeded" in output)


def run_all(versitygw: Path, ameles: Path, folder: Path, names: list[str]) -> dict[str, Outcome]:
    """Runs tests against one gateway."""
    gateway = FolderGateway(ameles, folder)
    gateway.start()
    try:
        accounts = {name: f"suite{number}" for number, name in enumerate(names)}
        endpoints = gateway.add_owners(list(accounts.values()))
        with ThreadPoolExecutor(PARALLEL_TESTS) as pool:
            tests = [pool.submit(run, versitygw, name, endpoints[accounts[name]], folder) for name in names]
            outcomes = {name: test.result() for name, test in zip(names, tests, strict=True)}
        # The suite allows 30 s for a request, which may be too short on a busy machine. Such a test runs again, alone and
        # with a new account.
        timed_out = [name for name, outcome in outcomes.items() if outcome.timed_out]
        second_endpoints = gateway.add_owners([f"again{number}" for number in range(len(timed_out))]) if timed_out else {}
        for name, endpoint in zip(timed_out, second_endpoints.values(), strict=True):
            outcomes[name] = run(versitygw, name, endpoint, folder)
        gateway.stop()
        return outcomes
    finally:
        gateway.kill()
