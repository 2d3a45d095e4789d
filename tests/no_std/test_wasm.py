"""The fault path leaves the same bytes in WebAssembly as on this computer.

`cargo xtask test --only no-std` sets up what is needed and runs this. By hand, these variables say where things are:

AMELES_BARE_BIN    ameles-bare, which rehearses faults, for this computer
AMELES_BARE_WASM   the module of the same crate
"""

from __future__ import annotations

import os
import subprocess

from wasmtime import Instance, Module, Store


def test_faults_without_a_standard_library_leave_the_very_bytes_that_they_leave_here():
    store = Store()
    module = Module.from_file(store.engine, os.environ["AMELES_BARE_WASM"])
    assert not module.imports, "the module needs something of its host"
    exports = Instance(store, module, []).exports(store)
    printed = subprocess.run([os.environ["AMELES_BARE_BIN"]], capture_output=True, text=True, check=True).stdout
    lines = printed.splitlines()
    # Schemes come one after the other, each with every cipher.
    ciphers = len({line.split()[2] for line in lines})
    assert (len(lines), ciphers) == (16, 4)
    for number, line in enumerate(lines):
        at = exports["ameles_bare_digest"](store, number // ciphers, number % ciphers)
        digest = exports["memory"].read(store, at, at + 32)
        assert digest.hex() == line.split()[0], line
