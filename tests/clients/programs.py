"""The program under test and the servers around it, on loopback addresses."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import boto3
from botocore.config import Config

READY_TIMEOUT = 240.0
"""Seconds until a program that does not answer has failed."""


def free_port() -> int:
    """Returns a port that nothing listens on now."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Returns distinct ports that nothing listens on now, and that no other process of these tests takes.

    They lie below the ports that the system gives to connections.
    """
    found = []
    while len(found) < count:
        port = next(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found


def _ports() -> Iterator[int]:
    """Returns the ports of this process of the tests, again and again."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = 12_000 + 1000 * (worker % 20)
    return itertools.cycle(range(first, first + 1000))


_PORTS = _ports()


def environment(**more: str) -> dict[str, str]:
    """Returns the environment of this process with `more`, and without variables that configure clients."""
    cleared = ("AWS_", "RCLONE_", "AMELES_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(cleared)}
    return inherited | {"AWS_EC2_METADATA_DISABLED": "true"} | more


@dataclass(frozen=True)
class Endpoint:
    """An S3 server and the credentials for it."""

    url: str
    access_key: str
    secret_key: str
    region: str = "us-east-1"

    def client(self, verify: str | None = None, **config):
        """Returns a boto3 client that does not retry. Over TLS it trusts the authorities in `verify`."""
        settings = {
            "signature_version": "s3v4",
            "s3": {"addressing_style": "path"},
            "retries": {"total_max_attempts": 1, "mode": "standard"},
            "max_pool_connections": 32,
        }
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
            verify=verify,
            config=Config(**settings | config),
        )

    def key_variables(self, prefix: str) -> dict[str, str]:
        """Returns the variables of the key, whose names begin with a prefix."""
        return {f"{prefix}_ACCESS_KEY_ID": self.access_key, f"{prefix}_SECRET_ACCESS_KEY": self.secret_key}

    def aws_environment(self) -> dict[str, str]:
        """Returns the environment in which the AWS command line uses this server."""
        return environment(
            AWS_ENDPOINT_URL=self.url,
            **self.key_variables("AWS"),
            AWS_DEFAULT_REGION=self.region,
            AWS_CONFIG_FILE=os.devnull,
            AWS_SHARED_CREDENTIALS_FILE=os.devnull,
            AWS_MAX_ATTEMPTS="1",
            AWS_PAGER="",
        )

    def rclone_environment(self) -> dict[str, str]:
        """Returns the environment in which the server is rclone's remote `ameles:`."""
        return environment(
            RCLONE_CONFIG=os.devnull,
            RCLONE_CONFIG_AMELES_TYPE="s3",
            RCLONE_CONFIG_AMELES_PROVIDER="Other",
            RCLONE_CONFIG_AMELES_ENDPOINT=self.url,
            **self.key_variables("RCLONE_CONFIG_AMELES"),
            RCLONE_CONFIG_AMELES_REGION=self.region,
            RCLONE_RETRIES="1",
            RCLONE_LOW_LEVEL_RETRIES="1",
        )


@dataclass(frozen=True)
class SwiftLogin:
    """A Swift server and a user of it."""

    url: str
    account: str
    user: str
    password: str
    authority: Path | None = None
    """The authority to trust, if the server speaks TLS."""

    def connection(self, version: str = "1"):
        """Returns a connection of python-swiftclient that does not retry."""
        import swiftclient

        common = {"key": self.password, "retries": 0, "auth_version": version}
        if self.authority is not None:
            common["cacert"] = str(self.authority)
        if version == "1":
            name = f"{self.account}:{self.user}"
            return swiftclient.Connection(authurl=f"{self.url}/auth/v1.0", user=name, **common)
        options = {"user_domain_id": "default", "project_domain_id": "default"} if version == "3" else {}
        path = {"2": "/v2.0", "3": "/v3"}[version]
        return swiftclient.Connection(
            authurl=self.url + path, user=self.user, tenant_name=self.account, os_options=options, **common
        )

    def is_good(self) -> bool:
        """Returns whether the gateway accepts this login."""
        import swiftclient

        try:
            self.connection().get_auth()
            return True
        except swiftclient.ClientException:
            return False

    def wait_until_good(self) -> None:
        """Waits until the gateway accepts this login."""
        deadline = time.monotonic() + READY_TIMEOUT
        while not self.is_good():
            assert time.monotonic() < deadline, "the gateway does not accept the new password"
            time.sleep(0.1)

    def environment(self) -> dict[str, str]:
        """Returns the environment in which the swift command uses this login."""
        name = f"{self.account}:{self.user}"
        return environment(ST_AUTH=f"{self.url}/auth/v1.0", ST_USER=name, ST_KEY=self.password)


def password_in(output: str) -> str:
    """Returns the password in the output of `ameles user`."""
    return next(line.split()[1] for line in output.splitlines() if line.strip().startswith("password"))


class Program:
    """A running program whose output goes to a file."""

    def __init__(self, command: list[str], log: Path, **more: str):
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(**more),
            )

    def wait_for(self, url: str) -> None:
        """Waits until `url` answers, with any status."""
        deadline = time.monotonic() + READY_TIMEOUT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"exited with {self.process.returncode} at its start:\n{self.output()}")
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"does not answer on {url}:\n{self.output()}")

    def output(self) -> str:
        """Returns the output so far."""
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """Asks the program to end, as Ctrl-C does, and returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=READY_TIMEOUT)

    def kill(self) -> None:
        """Kills the program."""
        self.process.kill()
        self.process.wait()


class UntrustedSide:
    """versitygw over a folder. It plays the provider, which is untrusted."""

    BUCKET = "untrusted"

    def __init__(self, binary: Path, folder: Path):
        self.binary = binary
        self.folder = folder / "provider"
        self.versions = folder / "versions"
        self.versions.mkdir()
        self.log = folder / "versitygw.log"
        self.folder.mkdir()
        self.endpoint = Endpoint(f"http://127.0.0.1:{free_port()}", "provider", "provider-secret")
        self.start()
        self.endpoint.client().create_bucket(Bucket=self.BUCKET)

    def start(self) -> None:
        """Starts the server, on the same port each time."""
        command = [str(self.binary), "--quiet", "--port", self.endpoint.url.removeprefix("http://")]
        command += ["--access", self.endpoint.access_key, "--secret", self.endpoint.secret_key]
        command += ["posix", "--versioning-dir", str(self.versions), str(self.folder)]
        self.program = Program(command, self.log)
        self.program.wait_for(self.endpoint.url)

    def set_versioning(self, status: str) -> None:
        """Sets the versioning of its S3 bucket: Enabled or Suspended."""
        self.endpoint.client().put_bucket_versioning(
            Bucket=self.BUCKET, VersioningConfiguration={"Status": status}
        )

    def close(self) -> None:
        """Kills the server."""
        self.program.kill()

    def files(self) -> list[Path]:
        """Returns the file of each object in the provider's folder."""
        bucket = self.folder / self.BUCKET
        return sorted(path for path in bucket.rglob("*") if path.is_file())


def first_key(trusted: Path) -> tuple[str, str]:
    """Returns the first S3 key in a gateway's trusted folder, and its secret."""
    made = tomllib.loads((trusted / "credentials.toml").read_text())["users"][0]["keys"][0]
    return made["access_key_id"], made["secret_access_key"]


class Gateway:
    """`ameles serve` over an untrusted side."""

    BLOCK = 64 << 10

    def __init__(self, binary: Path, folder: Path, untrusted: UntrustedSide, vault: str = "vault"):
        self.binary = binary
        self.data = folder / "data"
        self.log = folder / "ameles.log"
        self.untrusted = untrusted
        self.store_url: str | None = None
        """The address under which this machine finds the provider, if it is another than the provider's own."""
        self.vault = vault
        self.capacity = "128MiB"
        self.block = self.BLOCK
        self.tls: tuple[Path, Path] | None = None
        self.port, self.admin_port, self.swift_port = free_ports(3)
        self.program: Program | None = None
        self.serve_flags: list[str] = []
        self.etcd_flags: list[str] = []

    def vault_flags(self) -> list[str]:
        """Returns the flags with which every command finds the vault."""
        store = self.untrusted.endpoint
        options = {
            "access_key_id": store.access_key,
            "secret_access_key": store.secret_key,
            "region": store.region,
            "allow_http": "true",
        }
        flags = ["--data", str(self.data), "--log", "debug"]
        flags += ["--store", f"s3://{self.untrusted.BUCKET}/{self.vault}", "--endpoint", self.store_url or store.url]
        for name, value in options.items():
            flags += ["--store-option", f"{name}={value}"]
        return flags + self.etcd_flags

    def serve_command(self) -> list[str]:
        """Returns the command that serves the vault, and creates it at the first start."""
        tls = ["--tls-cert", str(self.tls[0]), "--tls-key", str(self.tls[1])] if self.tls else []
        return [
            *[str(self.binary), "serve", *self.vault_flags(), *tls],
            *["--capacity", self.capacity, "--block-size", str(self.block)],
            *["--listen", f"127.0.0.1:{self.port}", "--admin", f"127.0.0.1:{self.admin_port}"],
            *self.serve_flags,
            *["--swift", f"127.0.0.1:{self.swift_port}"],
        ]

    def start(self) -> None:
        """Serves, and returns when it does."""
        self.start_without_waiting()
        self.program.wait_for(f"http://127.0.0.1:{self.admin_port}/healthz")

    def start_without_waiting(self) -> None:
        """Starts the gateway and returns at once."""
        self.program = Program(self.serve_command(), self.log)

    def stop(self) -> None:
        """Stops the gateway and checks its exit code."""
        program, self.program = self.program, None
        assert program is not None, "the gateway does not run"
        code = program.stop()
        assert code == 0, f"Ctrl-C ended the gateway with {code}:\n{program.output()}"

    def kill(self) -> None:
        """Kills the gateway, if it runs."""
        program, self.program = self.program, None
        if program is not None:
            program.kill()

    def lose_machine(self) -> None:
        """Removes the trusted folder, and what a restore has fetched. The key stays, as if its owner had a copy."""
        for folder in ("trusted", "restoring"):
            shutil.rmtree(self.data / folder, ignore_errors=True)

    @property
    def page_link(self) -> Path:
        """The file with the link to the owner's page."""
        return self.data / "trusted" / "page-link"

    def command(self, *arguments: str) -> list[str]:
        """Returns another command of `ameles` on the same vault."""
        return [str(self.binary), *arguments, *self.vault_flags()]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs another command of `ameles` on the same vault, and waits for its exit."""
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment(),
            timeout=240,
        )

    def check(self, *flags: str) -> None:
        """Checks the vault of the stopped gateway, which must be intact."""
        checked = self.run("check", *flags)
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def url(self, port: int) -> str:
        """Returns the address of the gateway's server on this port."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{port}"

    @property
    def endpoint(self) -> Endpoint:
        """The S3 server, with the credentials that the gateway made."""
        return Endpoint(self.url(self.port), *first_key(self.data / "trusted"))

    @cached_property
    def swift(self) -> SwiftLogin:
        """The Swift server, with a new password: the gateway shows the first one at terminals only."""
        command = [str(self.binary), "user", "password", "ameles:owner", "--data", str(self.data)]
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment()).stdout
        login = SwiftLogin(self.url(self.swift_port), "ameles", "owner", password_in(output))
        login.wait_until_good()
        return login

    def add_user(self, account: str, user: str, role: str) -> SwiftLogin:
        """Adds a user of Swift, also while the gateway runs."""
        command = [str(self.binary), "user", "add", f"{account}:{user}", "--role", role, "--data", str(self.data)]
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment()).stdout
        return SwiftLogin(self.url(self.swift_port), account, user, password_in(output))


class Demonstration:
    """`ameles serve --demonstration`, with a pattern of reads."""

    def __init__(self, binary: Path, folder: Path, pattern: str):
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.port, self.admin_port = free_ports(2)
        command = [str(binary), "serve", f"--demonstration={pattern}", "--swift", "off", "--log", "debug"]
        command += ["--listen", f"127.0.0.1:{self.port}", "--admin", f"127.0.0.1:{self.admin_port}"]
        self.program = Program(command, folder / "demonstration.log", TMPDIR=str(self.temporary))
        self.program.wait_for(f"http://127.0.0.1:{self.admin_port}/healthz")

    @property
    def page_link(self) -> Path:
        """The file with the link to the owner's page."""
        before = "The link to the owner's page is in "
        line = next(line for line in self.program.output().splitlines() if line.startswith(before))
        return Path(line.removeprefix(before).rstrip("."))

    @property
    def endpoint(self) -> Endpoint:
        """The S3 server, with the credentials that the demonstration made."""
        return Endpoint(f"http://127.0.0.1:{self.port}", *first_key(self.page_link.parent))

    def stop(self) -> None:
        """Stops the program as Ctrl-C does, and checks its exit code."""
        code = self.program.stop()
        assert code == 0, f"Ctrl-C ended the demonstration with {code}:\n{self.program.output()}"

    def kill(self) -> None:
        """Kills the demonstration."""
        self.program.kill()
