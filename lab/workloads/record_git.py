#!/usr/bin/env python3
"""Records what a Git server of Dulwich asks of its Swift server when a repository is pushed, cloned, changed and pulled.

    python record_git.py --config git.conf --repository openstacksdk.git --commit 7682156c48 --output git.csv \\
        --dulwich "python2.7 -m dulwich.contrib.swift"

`git.conf` is the configuration of Dulwich's Swift backend (docs/how-to/recipes.md shows one) and names a Swift server that
runs, such as that of `ameles serve`. A proxy is between the two during the recording. The repository is any with the
commit; nothing in it is changed. The first push is of all history up to the commit; the second adds a commit that appends
a line to a file.

The command after --dulwich is given `init -c CONFIG NAME`, and `daemon -c CONFIG -l ADDRESS -p PORT`. The backend of
Dulwich works with Python 2.7 (0.18.5 was recorded, with gevent 1.4.0, geventhttpclient 1.3.1).

A line of the output is for requests of a step that follow each other on the same object. Its fields are the step, the
verb, the number of the object in the order of first appearance (empty for a container), the bytes of the whole object,
the mean number of requests in flight when each began (with the request itself), and `first+bytes` of each request. A
long line has `bytes@pages` instead, to be small. Each request has this many bytes. Its first byte is in units of 4096,
rounded down, in two digits of the 64 in DIGITS.
"""

from __future__ import annotations

import argparse
import configparser
import datetime
import http.client
import json
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
from typing import NamedTuple

STEPS = ["push-repository", "clone", "push-commit", "pull-commit"]
# A line of more requests than this is packed.
LONG = 1000
PAGE_BYTES = 4096
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
NAME = f"recorded-{uuid.uuid4().hex[:12]}"
PERSON = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
DATES = {f"GIT_{role}_DATE": "2019-06-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")}


class Recording:
    """The requests so far, and the sizes of the objects. Each request goes to a file too, as soon as it is answered."""

    def __init__(self, as_it_goes: Path):
        self.lock = threading.Lock()
        self.step: str | None = None
        self.requests: list[tuple] = []
        self.numbers: dict[str, int] = {}
        self.in_flight = 0
        self.as_it_goes = as_it_goes.open("w")

    def begin(self) -> int:
        """Notes that a request is under way. Returns how many are, with it."""
        with self.lock:
            self.in_flight += 1
            return self.in_flight

    def end(self, together: int, verb: str, name: str | None, first: int, moved: int, size: int) -> None:
        """Notes a request that was answered; `size` is the object's size now, or 0 if there is no object."""
        with self.lock:
            self.in_flight -= 1
            if self.step is None:
                return
            number = "" if name is None else self.numbers.setdefault(name, len(self.numbers))
            request = (self.step, verb, number, size, first, moved, together)
            self.requests.append(request)
            self.as_it_goes.write(",".join(map(str, request)) + "\n")
            if len(self.requests) % 1000 == 0:
                self.as_it_goes.flush()


class Answer(NamedTuple):
    """An answer of a Swift server."""

    status: int
    headers: dict[str, str]
    content: bytes = b""


class Memory:
    """A Swift server in memory: as much of one as Dulwich requests. Any login is right."""

    def __init__(self, delay: float):
        self.delay = delay
        self.containers: dict[str, dict[str, bytes]] = {}

    def answer(self, verb: str, path: str, headers, body: bytes) -> Answer:
        """Answers a request, after the delay."""
        time.sleep(self.delay)
        parts = urllib.parse.unquote(urllib.parse.urlsplit(path).path).split("/", 4)
        if parts[1] == "auth":
            return Answer(200, {"X-Auth-Token": "any", "X-Storage-Url": "http://127.0.0.1/v1/AUTH_any"})
        container, name = parts[3], parts[4] if len(parts) > 4 else ""
        objects = self.containers.get(container)
        if not name:
            return self.of_container(verb, container, objects)
        if objects is None:
            return Answer(404, {})
        if verb == "PUT":
            objects[name] = body
            return Answer(201, {})
        if name not in objects:
            return Answer(404, {})
        if verb == "DELETE":
            del objects[name]
            return Answer(204, {})
        return self.of_object(verb, objects[name], headers.get("Range"))

    def of_container(self, verb: str, container: str, objects: dict[str, bytes] | None) -> Answer:
        """Makes a container, or lists what is in it."""
        if verb == "PUT":
            self.containers.setdefault(container, {})
            return Answer(201, {})
        if objects is None:
            return Answer(404, {})
        if verb == "HEAD":
            return Answer(204, {})
        listed = [{"name": name, "bytes": len(content)} for name, content in sorted(objects.items())]
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(listed).encode())

    def of_object(self, verb: str, content: bytes, asked: str | None) -> Answer:
        """Gives an object, or a range of it."""
        size = len(content)
        if verb == "HEAD":
            return Answer(200, {"Content-Length": str(size)})
        ranged = re.fullmatch(r"bytes=(\d*)-(\d*)", asked or "")
        if not ranged:
            return Answer(200, {}, content)
        if ranged[1]:
            first, last = int(ranged[1]), min(int(ranged[2] or size), size - 1)
        else:
            first, last = max(size - int(ranged[2]), 0), size - 1
        if first > last:
            return Answer(416, {})
        return Answer(206, {"Content-Range": f"bytes {first}-{last}/{size}"}, content[first : last + 1])


class Onward:
    """A Swift server elsewhere, to which each request is sent on."""

    def __init__(self, server: urllib.parse.SplitResult):
        self.server = server

    def answer(self, verb: str, path: str, headers, body: bytes) -> Answer:
        """Sends a request on, and returns the answer."""
        onward = http.client.HTTPConnection(self.server.hostname, self.server.port, timeout=60)
        kept = {name: value for name, value in headers.items() if name.lower() != "connection"}
        onward.request(verb, path, body or None, kept)
        answer = onward.getresponse()
        content = answer.read()
        onward.close()
        return Answer(answer.status, dict(answer.getheaders()), content)


def recorder(recording: Recording, server: Memory | Onward):
    """A handler of requests that records each, with the answer of the server."""

    class Record(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer leaves at once and whole.
        wbufsize = -1
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            together = recording.begin()
            answer = server.answer(self.command, self.path, self.headers, body)
            recording.end(together, self.command, *self.described(body, answer))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() == "x-storage-url":
                    path = urllib.parse.urlsplit(value).path
                    value = f"http://127.0.0.1:{self.server.server_port}{path}"
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(name, value)
            length = answer.headers.get("Content-Length", "0") if self.command == "HEAD" else len(answer.content)
            if answer.status != 204:
                self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(answer.content)

        def described(self, body: bytes, answer: Answer):
            """The name of the object, the first byte, the bytes that were moved, and the size of the object."""
            parts = urllib.parse.urlsplit(self.path).path.split("/", 4)
            name = parts[4] if len(parts) == 5 and parts[4] else None
            if self.command == "PUT":
                return name, 0, len(body), len(body)
            if name is None or answer.status >= 400:
                return name, 0, 0, 0
            if self.command == "HEAD":
                return name, 0, 0, int(answer.headers.get("Content-Length", 0))
            ranged = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
            first, size = map(int, ranged.groups()) if ranged else (0, len(answer.content))
            return name, first, len(answer.content), size

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_any

    return Record


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


def apart(requests: list[tuple]) -> str:
    """The ranges of requests, exactly."""
    return " ".join(f"{first}+{moved}" for *_, first, moved, _ in requests)


def packed(requests: list[tuple]) -> str:
    """The ranges of requests, with the first byte of each rounded down to a page."""
    runs = []
    for moved, run in groupby(requests, key=lambda request: request[5]):
        pages = (divmod(request[4] // PAGE_BYTES, len(DIGITS)) for request in run)
        runs.append(f"{moved}@" + "".join(DIGITS[high] + DIGITS[low] for high, low in pages))
    return " ".join(runs)


def write(recording: Recording, path: Path, about: list[str]) -> None:
    """Writes the trace, with the sums of each step above it."""
    with path.open("w") as file:
        file.writelines(f"# {line}\n" for line in about)
        for step in STEPS:
            of_step = [request for request in recording.requests if request[0] == step]
            up = sum(moved for _, verb, *_, moved, _ in of_step if verb == "PUT")
            down = sum(moved for _, verb, *_, moved, _ in of_step if verb == "GET")
            file.write(f"# sum {step} {len(of_step)} requests {up} up {down} down\n")
        file.write("step,verb,object,size,together,ranges\n")
        for line, of_line in groupby(recording.requests, key=lambda request: request[:4]):
            requests = list(of_line)
            together = round(sum(request[-1] for request in requests) / len(requests))
            ranges = packed(requests) if len(requests) > LONG else apart(requests)
            file.write(",".join(map(str, line)) + f",{together},{ranges}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", required=True, help="the configuration of Dulwich's Swift backend")
    parser.add_argument("--repository", required=True, help="the path of a repository")
    parser.add_argument("--commit", required=True, help="the last commit of the first push")
    parser.add_argument("--dulwich", required=True, help="the command of Dulwich's Swift backend")
    parser.add_argument("--note", default="", help="a line about the repository, for the head of the trace")
    parser.add_argument("--memory-ms", type=float, help="use a Swift server in memory, which waits so long")
    parser.add_argument("--output", type=Path, required=True, help="the trace")
    asked = parser.parse_args()

    config = configparser.ConfigParser()
    config.read(asked.config)
    elsewhere = urllib.parse.urlsplit(config["swift"]["auth_url"])
    server = Onward(elsewhere) if asked.memory_ms is None else Memory(asked.memory_ms / 1000)
    recording = Recording(asked.output.with_suffix(".all"))
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), recorder(recording, server))
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    config["swift"]["auth_url"] = f"http://127.0.0.1:{proxy.server_port}{elsewhere.path}"
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
    waited = "" if asked.memory_ms is None else f" The server waited {asked.memory_ms:g} ms before each answer."
    about = [
        "What Dulwich asked of Swift; recorded by record_git.py, which says what the columns are.",
        f"{datetime.date.today()}, {commits} commits up to {asked.commit}. {asked.note}".strip(),
        f"Settings: {chosen}.{waited}",
    ]
    write(recording, asked.output, about)


if __name__ == "__main__":
    main()
