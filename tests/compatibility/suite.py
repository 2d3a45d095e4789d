"""The integration tests of versitygw, a public S3 server: they are in its program, and speak to any endpoint.

Each test is a process of its own and has an account of its own, so that what one leaves behind is nothing to another.
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
"""Tests that run side by side. Many of them wait: for a second to pass, so that dates differ."""

TEST_TIMEOUT = 120.0
"""Seconds after which a test counts as failed."""


@dataclass(frozen=True)
class Exclusions:
    """What `exclusions.toml` says."""

    not_run: dict[str, str]
    """Patterns of names, and why those tests say nothing about the gateway."""

    fails: dict[str, str]
    """Names of tests that are run and must fail, and why they do."""

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
    """The names of all tests in the program."""
    done = subprocess.run([versitygw, "test", "--help"], capture_output=True, text=True, env=environment())
    return sorted(set(re.findall(r"^   ([A-Za-z0-9]+_\w+)", done.stdout, re.MULTILINE)))


def selected_tests(versitygw: Path, exclusions: Exclusions) -> list[str]:
    """The names of the tests that are run."""

    def is_run(name: str) -> bool:
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in exclusions.not_run)

    return [name for name in all_tests(versitygw) if is_run(name)]


@dataclass(frozen=True)
class Outcome:
    """How a test went, and what it said."""

    passed: bool
    output: str
    timed_out: bool = False


class FolderGateway(Gateway):
    """`ameles serve` over a folder: what the store is does not matter here."""

    def __init__(self, binary: Path, folder: Path):
        super().__init__(binary, folder, untrusted=None)
        self.store = folder / "store"
        self.store.mkdir()
        self.capacity = "512MiB"

    def vault_flags(self) -> list[str]:
        return ["--data", str(self.data), "--log", "warn", "--store", self.store.as_uri()]

    def add_owners(self, accounts: list[str]) -> dict[str, Endpoint]:
        """Makes these accounts, each with an owner, and returns when all of them can use their keys."""
        endpoint = self.endpoint
        lines = []
        keys = {}
        for account in accounts:
            # The suite takes the access key for the id of its owner.
            keys[account] = (account, secrets.token_hex(20))
            lines += ["", "[[users]]", f'account = "{account}"', 'user = "owner"', 'role = "owner"']
            lines += ["", "[[users.keys]]"]
            lines += [f'access_key_id = "{keys[account][0]}"', f'secret_access_key = "{keys[account][1]}"']
        users = self.data / "trusted" / "credentials.toml"
        # In one step, as an editor does: half a list of users would be refused, and the log say so.
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
                assert time.monotonic() < deadline, f"the gateway does not take new users over: {error}"
                time.sleep(0.1)


def run(versitygw: Path, name: str, endpoint: Endpoint, folder: Path) -> Outcome:
    """Runs one test."""
    command = [versitygw, "test", "--access", endpoint.access_key, "--secret", endpoint.secret_key]
    # Else it leaves old versions in its bucket, and fails over that.
    command += ["--endpoint", endpoint.url, name, "--versioning-enabled"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment(), timeout=TEST_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return Outcome(False, f"took more than {TEST_TIMEOUT} s", timed_out=True)
    output = re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)
    # Some tests call themselves otherwise.
    passed = re.search("^PASS ", output, re.MULTILINE) and not re.search("^FAIL ", output, re.MULTILINE)
    return Outcome(bool(passed) and done.returncode == 0, output, "context deadline exceeded" in output)


def run_all(versitygw: Path, ameles: Path, folder: Path, names: list[str]) -> dict[str, Outcome]:
    """Runs these tests against one gateway."""
    gateway = FolderGateway(ameles, folder)
    gateway.start()
    try:
        accounts = {name: f"suite{number}" for number, name in enumerate(names)}
        endpoints = gateway.add_owners(list(accounts.values()))
        with ThreadPoolExecutor(PARALLEL_TESTS) as pool:
            tests = [pool.submit(run, versitygw, name, endpoints[accounts[name]], folder) for name in names]
            outcomes = {name: test.result() for name, test in zip(names, tests, strict=True)}
        # The suite gives a request half a minute, which a busy machine may need for other things. Alone, and with an
        # account that nothing was left in, it is enough.
        timed_out = [name for name, outcome in outcomes.items() if outcome.timed_out]
        second_endpoints = gateway.add_owners([f"again{number}" for number in range(len(timed_out))]) if timed_out else {}
        for name, endpoint in zip(timed_out, second_endpoints.values(), strict=True):
            outcomes[name] = run(versitygw, name, endpoint, folder)
        gateway.stop()
        return outcomes
    finally:
        gateway.kill()
