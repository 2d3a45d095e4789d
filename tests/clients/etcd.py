"""etcd, for vaults whose journal is there."""

from __future__ import annotations

import signal
import ssl
import time
import urllib.request
from pathlib import Path

from programs import READY_TIMEOUT, Gateway, Program, free_ports


class Tls:
    """The certificates of etcd's servers and of its clients, in a folder."""

    def __init__(self, folder: Path):
        # Only tests with certificates need it.
        import trustme

        authority = trustme.CA()
        self.ca, self.cert, self.key = (folder / name for name in ("etcd-ca.pem", "etcd.pem", "etcd.key"))
        authority.cert_pem.write_to_path(self.ca)
        issued = authority.issue_cert("127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(self.cert)
        issued.private_key_pem.write_to_path(self.key)

    def server_flags(self) -> list[str]:
        """Returns the flags of a server that accepts only clients with a certificate."""
        files = ["--cert-file", str(self.cert), "--key-file", str(self.key), "--trusted-ca-file", str(self.ca)]
        return [*files, "--client-cert-auth"]

    def client_flags(self) -> list[str]:
        """Returns the flags of `ameles` with such a certificate."""
        return ["--etcd-ca", str(self.ca), "--etcd-cert", str(self.cert), "--etcd-key", str(self.key)]

    def context(self) -> ssl.SSLContext:
        """Returns the same for Python."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.cert, self.key)
        return context


class Etcd:
    """A cluster of etcd on loopback addresses."""

    def __init__(self, binary: Path, folder: Path, members: int = 1, tls: Tls | None = None):
        self.binary, self.folder, self.tls = binary, folder, tls
        ports = free_ports(2 * members)
        self.clients, self.peers = ports[:members], ports[members:]
        self.members = [self._start(member) for member in range(members)]
        for member in range(members):
            self.wait_for(member)

    def _start(self, member: int) -> Program:
        scheme = "https" if self.tls else "http"
        client = f"{scheme}://127.0.0.1:{self.clients[member]}"
        peers = [f"m{nth}=http://127.0.0.1:{port}" for nth, port in enumerate(self.peers)]
        peer = peers[member].split("=")[1]
        command = [str(self.binary), "--name", f"m{member}", "--data-dir", str(self.folder / f"m{member}")]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", ",".join(peers), "--logger", "zap", "--log-level", "error"]
        command += self.tls.server_flags() if self.tls else []
        return Program(command, self.folder / f"m{member}.log")

    def wait_for(self, member: int) -> None:
        """Waits until a member belongs to a quorum."""
        scheme, context = ("https", self.tls.context()) if self.tls else ("http", None)
        deadline = time.monotonic() + READY_TIMEOUT
        while True:
            try:
                url = f"{scheme}://127.0.0.1:{self.clients[member]}/health"
                with urllib.request.urlopen(url, timeout=5, context=context) as answer:
                    if b"true" in answer.read():
                        return
            except OSError:
                pass
            assert time.monotonic() < deadline, self.members[member].output()
            time.sleep(0.05)

    def flags(self, vault: str) -> list[str]:
        """Returns the flags of `ameles` for a vault with its journal here."""
        scheme = "https" if self.tls else "http"
        servers = ",".join(f"127.0.0.1:{port}" for port in self.clients)
        return ["--etcd", f"{scheme}://{servers}/{vault}", *(self.tls.client_flags() if self.tls else [])]

    def signal(self, which: signal.Signals, members: list[int] | None = None) -> None:
        """Sends a signal to some members, or to all."""
        for member in range(len(self.members)) if members is None else members:
            self.members[member].process.send_signal(which)

    def restart(self, member: int) -> None:
        """Kills a member and starts it again."""
        self.members[member].kill()
        self.members[member] = self._start(member)
        self.wait_for(member)

    def close(self) -> None:
        """Kills all members."""
        for member in self.members:
            member.kill()

    def holds_journal_of(self, gateway: Gateway, binary: Path) -> None:
        """Lets every command of a gateway find its journal here. `binary` is a program with a client of etcd."""
        gateway.binary, gateway.etcd_flags = binary, self.flags(gateway.vault)
