#!/usr/bin/env python3
"""Records what a Git server of Dulwich asks of its Swift server when a repository is pushed, cloned, changed and pulled.

    python record_git.py --config git.conf --repository openstacksdk.git --commit 7682156c48 --output git.csv \\
        --dulwich "python2.7 -m dulwich.contrib.swift"

`git.conf` is the configuration of Dulwich's Swift backend (docs/how-to/recipes.md shows one) and names a Swift server that
runs, such as that of `lethe serve`. A proxy stands between the two for the time of the recording. The repository is any
with the commit; nothing in it is changed. The first push is of all history up to the commit; the second adds a commit
that appends a line to a file.

The command after --dulwich is given `init -c CONFIG NAME`, and `daemon -c CONFIG -l ADDRESS -p PORT`. The backend of
Dulwich works with Python 2.7 (0.19.11 of 2019, gevent 1.4.0, geventhttpclient 1.3.1).

A line of the output is a request: the step, the verb, the number of the object in the order of first appearance (empty
for a container), the first byte and the number of bytes that were moved, and the bytes of the whole object. Requests of a
step that follow each other on the same object are on one line: `first+bytes` of each, with a space between. Logins
are left out: they go to another service.
"""

from __future__ import annotations

import argparse
import configparser
import datetime
import http.client
import os
import re
import shlex
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path

STEPS = ["push-repository", "clone", "push-commit", "pull-commit"]
NAME = f"recorded-{uuid.uuid4().hex[:12]}"
PERSON = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
DATES = {f"GIT_{role}_DATE": "2019-06-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")}


class Recording:
    """The requests so far, and the sizes of the objects."""

    def __init__(self):
        self.lock = threading.Lock()
        self.step: str | None = None
        self.requests: list[tuple] = []
        self.numbers: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.in_flight = self.most_in_flight = 0

    def begin(self) -> None:
        """Notes that a request is under way."""
        with self.lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def end(self, verb: str, name: str | None, first: int, moved: int, size: int) -> None:
        """Notes a request that was answered; `size` is of the object now, 0 if there is none."""
        with self.lock:
            self.in_flight -= 1
            if self.step is None:
                return
            number = "" if name is None else self.numbers.setdefault(name, len(self.numbers))
            self.requests.append((self.step, verb, number, size, first, moved))


def forwarding(recording: Recording, server: urllib.parse.SplitResult):
    """A handler that forwards each request to the server and records it."""

    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            recording.begin()
            onward = http.client.HTTPConnection(server.hostname, server.port, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            onward.request(self.command, self.path, body or None, headers)
            answer = onward.getresponse()
            content = answer.read()
            onward.close()
            recording.end(self.command, *self.described(body, answer, content))
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() == "x-storage-url":
                    path = urllib.parse.urlsplit(value).path
                    value = f"http://127.0.0.1:{self.server.server_port}{path}"
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
            if length is not None and answer.status != 204:
                self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(content)

        def described(self, body: bytes, answer, content: bytes):
            """The name of the object, the first byte, the bytes that were moved, and the size of the object."""
            parts = urllib.parse.urlsplit(self.path).path.split("/", 4)
            name = parts[4] if len(parts) == 5 and parts[4] else None
            if self.command == "PUT":
                return name, 0, len(body), len(body)
            if name is None or answer.status >= 400:
                return name, 0, 0, 0
            if self.command == "HEAD":
                return name, 0, 0, int(answer.getheader("Content-Length") or 0)
            ranged = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.getheader("Content-Range") or "")
            first, size = map(int, ranged.groups()) if ranged else (0, len(content))
            return name, first, len(content), size

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_any

    return Forward


def git(*arguments: str, folder: Path | None = None) -> str:
    """Runs git, and returns what it printed."""
    settings = {**os.environ, **PERSON, **DATES, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=settings, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {arguments[0]} failed:\n{done.stderr}")
    return done.stdout.strip()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int) -> None:
    """Returns when something listens there."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def forget_branches(config: configparser.SectionProxy) -> None:
    """Removes the empty list of branches that `init` makes: with it, Dulwich refuses a branch that is new."""
    user = config["username"].replace(";", ":")
    login = urllib.request.Request(config["auth_url"], headers={"X-Auth-User": user, "X-Auth-Key": config["password"]})
    with urllib.request.urlopen(login) as answer:
        url, token = answer.headers["X-Storage-Url"], answer.headers["X-Auth-Token"]
    headers = {"X-Auth-Token": token}
    urllib.request.urlopen(urllib.request.Request(f"{url}/{NAME}/info/refs", headers=headers, method="DELETE")).close()


def steps(recording: Recording, repository: str, commit: str, url: str, folder: Path) -> None:
    """Does the four steps."""
    work, clone = folder / "work", folder / "clone"
    git("clone", "--quiet", "--no-checkout", "--no-tags", repository, str(work))
    git("checkout", "--quiet", "-B", "master", commit, folder=work)

    def step(nth: int, *arguments: str, folder: Path | None = None) -> None:
        recording.step, begin = STEPS[nth], time.monotonic()
        git(*arguments, folder=folder)
        recording.step = None
        print(f"{STEPS[nth]}: {time.monotonic() - begin:.1f} s", flush=True)

    step(0, "push", "--quiet", url, "master", folder=work)
    step(1, "clone", "--quiet", url, str(clone))
    with (work / git("ls-files", folder=work).splitlines()[0]).open("a") as file:
        file.write("A line.\n")
    git("commit", "--quiet", "--all", "--message", "Add a line", folder=work)
    step(2, "push", "--quiet", url, "master", folder=work)
    step(3, "pull", "--quiet", "--ff-only", url, "master", folder=clone)
    if git("rev-parse", "HEAD", folder=clone) != git("rev-parse", "HEAD", folder=work):
        raise SystemExit("the clone is not what was pushed")


def write(recording: Recording, path: Path, about: list[str]) -> None:
    """Writes the trace, with the sums of each step above it."""
    with path.open("w") as file:
        file.writelines(f"# {line}\n" for line in about)
        for step in STEPS:
            of_step = [request for request in recording.requests if request[0] == step]
            up = sum(moved for _, verb, *_, moved in of_step if verb == "PUT")
            down = sum(moved for _, verb, *_, moved in of_step if verb == "GET")
            file.write(f"# sum {step} {len(of_step)} requests {up} up {down} down\n")
        file.write("step,verb,object,size,ranges\n")
        for line, of_line in groupby(recording.requests, key=lambda request: request[:4]):
            ranges = " ".join(f"{first}+{moved}" for *_, first, moved in of_line)
            file.write(",".join(map(str, line)) + f",{ranges}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", required=True, help="the configuration of Dulwich's Swift backend")
    parser.add_argument("--repository", required=True, help="the path of a repository")
    parser.add_argument("--commit", required=True, help="the last commit of the first push")
    parser.add_argument("--dulwich", required=True, help="the command of Dulwich's Swift backend")
    parser.add_argument("--note", default="", help="a line about the repository, for the head of the trace")
    parser.add_argument("--output", type=Path, required=True, help="the trace")
    asked = parser.parse_args()

    config = configparser.ConfigParser()
    config.read(asked.config)
    server = urllib.parse.urlsplit(config["swift"]["auth_url"])
    recording = Recording()
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), forwarding(recording, server))
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    config["swift"]["auth_url"] = f"http://127.0.0.1:{proxy.server_port}{server.path}"
    chosen = ", ".join(f"{name} {config['swift'][name]}" for name in ("chunk_length", "concurrency", "cache_length"))

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with (folder / "git.conf").open("w") as file:
            config.write(file)
        dulwich, port = shlex.split(asked.dulwich), free_port()
        subprocess.run([*dulwich, "init", "-c", str(folder / "git.conf"), NAME], check=True)
        forget_branches(config["swift"])
        daemon = [*dulwich, "daemon", "-c", str(folder / "git.conf"), "-l", "127.0.0.1", "-p", str(port)]
        running = subprocess.Popen(daemon)
        try:
            wait_for(port)
            steps(recording, asked.repository, asked.commit, f"git://127.0.0.1:{port}/{NAME}", folder)
        finally:
            running.kill()
    commits = git("rev-list", "--count", asked.commit, folder=Path(asked.repository))
    about = [
        "What Dulwich asked of Swift; recorded by record_git.py, which says what the columns are.",
        f"{datetime.date.today()}, {commits} commits up to {asked.commit}. {asked.note}".strip(),
        f"Settings: {chosen}. At most {recording.most_in_flight} requests were in flight at once.",
    ]
    write(recording, asked.output, about)


if __name__ == "__main__":
    main()
