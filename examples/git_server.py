"""A Git server that keeps each repository in a container of a Swift server, such as the one of `ameles serve`.

    python -m dulwich.contrib.swift init -c git.conf project
    python git_server.py git.conf 9418
    git clone git://127.0.0.1:9418/project

It is the Swift backend of dulwich 0.24.10 with what keeps that one from working on Python 3 mended; docs/how-to/recipes.md
says what. One server writes to a repository at a time: of two, one may overwrite what the other has noted as its branches.
"""

from __future__ import annotations

# Before anything opens a socket: the backend's HTTP client belongs to gevent.
import gevent.monkey

gevent.monkey.patch_all()

import argparse
import logging
import os
import tempfile
import threading
from io import BytesIO

from dulwich.contrib.swift import (
    SwiftInfoRefsContainer,
    SwiftObjectStore,
    SwiftRepo,
    SwiftSystemBackend,
    load_conf,
)
from dulwich.objects import ZERO_SHA
from dulwich.pack import (
    Pack,
    PackData,
    PackIndexer,
    PackStreamCopier,
    extend_pack,
    iter_sha1,
    load_pack_index_file,
    write_pack_index_v2,
)
from dulwich.server import TCPGitServer


class Objects(SwiftObjectStore):
    """Packs. Each is an object of Swift, and its index is another. They are read whole and kept for one request."""

    def add_thin_pack(self, read_all, read_some, progress=None):
        with tempfile.TemporaryFile() as pack, tempfile.TemporaryFile() as index:
            indexer = PackIndexer(pack, resolve_ext_ref=self.get_raw)
            PackStreamCopier(read_all, read_some, pack, delta_iter=indexer).verify(progress=progress)
            entries = list(indexer)
            checksum, added = extend_pack(pack, set(indexer.ext_refs()), get_raw=self.get_raw)
            entries = sorted(entries + added)
            write_pack_index_v2(index, entries, checksum)
            name = f"{self.pack_dir}/pack-{iter_sha1(entry[0] for entry in entries).decode()}"
            # The index first: a pack counts from the moment at which it is there itself.
            self.scon.put_object(f"{name}.idx", index)
            self.scon.put_object(f"{name}.pack", pack)
        self._add_cached_pack(name, self._pack(name))

    def _update_pack_cache(self):
        names = (entry["name"] for entry in self.scon.get_container_objects() or [])
        found = [name.removesuffix(".pack") for name in names if name.endswith(".pack")]
        new = {name: self._pack(name) for name in found if name not in self._pack_cache}
        self._pack_cache.update(new)
        return list(new.values())

    def _pack(self, name: str) -> Pack:
        def data() -> PackData:
            body = self.scon.get_object(f"{name}.pack").getvalue()
            return PackData(f"{name}.pack", file=BytesIO(body), size=len(body))

        pack = Pack(name)
        pack._data_load = data
        pack._idx_load = lambda: load_pack_index_file(f"{name}.idx", self.scon.get_object(f"{name}.idx"))
        return pack


class References(SwiftInfoRefsContainer):
    """All branches and tags in one object, which is read and written again for each change."""

    _changing = threading.Lock()

    def set_if_equals(self, *arguments, **more) -> bool:
        return self._change(super().set_if_equals, *arguments, **more)

    def remove_if_equals(self, *arguments, **more) -> bool:
        return self._change(super().remove_if_equals, *arguments, **more)

    def _change(self, change, *arguments, **more) -> bool:
        with self._changing:
            if not change(*arguments, **more):
                # The server would tell the client that all is well.
                raise OSError("somebody else has changed the reference meanwhile")
        return True

    def _load_check_ref(self, name, old_ref):
        references = super()._load_check_ref(name, None)
        is_as_expected = old_ref is None or references.get(name, ZERO_SHA) == old_ref
        return references if is_as_expected else False


class Repository(SwiftRepo):
    """A bare repository in a container."""

    def __init__(self, container: str, conf):
        super().__init__(container, conf)
        self.object_store = Objects(self.scon)
        self.refs = References(self.scon, self.object_store)


class Backend(SwiftSystemBackend):
    """All repositories of an account."""

    def open_repository(self, path: bytes | str) -> Repository:
        return Repository(os.fsdecode(path), self.conf)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves Git repositories that are containers of a Swift server.")
    parser.add_argument("configuration", help="where the Swift server is, and who logs in there")
    parser.add_argument("port", type=int, help="where clients of Git connect, on loopback")
    asked = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    backend = Backend(logging.getLogger("git"), load_conf(asked.configuration))
    TCPGitServer(backend, "127.0.0.1", port=asked.port).serve_forever()


if __name__ == "__main__":
    main()
