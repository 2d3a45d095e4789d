"""The fault path writes the same bytes in WebAssembly as on this computer.

`cargo xtask test --only no-std` installs what this needs and runs it. These variables are for a run by hand:

AMELES_BARE_BIN    ameles-bare, which runs a fixed sequence of faults, for this computer
AMELES_BARE_WASM   the module of the same crate
"""

from __future__ import annotations

import os
import subprocess

from wasmtime import Instance, Module, Store


def test_faults_without_a_standard_library_write_the_same_bytes_as_here():
    store = Store()
    module = Module.from_file(store.engine, os.environ["AMELES_BARE_WASM"])
    assert not module.imports, "the module imports something from its host"
    exports = Instance(store, module, []).exports(store)
    printed = subprocess.run([os.environ["AMELES_BARE_BIN"]], capture_output=True, text=True, check=True).stdout
    lines = printed.splitlines()
    # The lines are ordered by scheme, then by cipher.
    ciphers = len({line.split()[2] for line in lines})
    assert (len(lines), ciphers) == (16, 4)
    for number, line in enumerate(lines):
        at = exports["ameles_bare_digest"](store, number // ciphers, number % ciphers)
        digest = exports["memory"].read(store, at, at + 32)
        assert digest.hex() == line.split()[0], line
