"""The fault path writes the same bytes on RISC-V as on this computer. tests/no_std compares WebAssembly with them too."""

from __future__ import annotations

import subprocess


def test_faults_in_the_enclave_write_the_same_bytes_as_outside(run, bare):
    outside, inside = bare
    expected = subprocess.run([outside], capture_output=True, text=True, check=True).stdout.splitlines()
    # The lines are ordered by scheme, then by cipher.
    ciphers = len({line.split()[2] for line in expected})
    assert (len(expected), ciphers) == (16, 4)
    for number, line in enumerate(expected):
        arguments = [str(number // ciphers), str(number % ciphers)]
        result = run(["--resident", "2000", "--scheme", "plain"], inside, *arguments)
        assert (result.returncode, result.stdout) == (0, line.split()[0] + "\n"), (line, result.stderr)


def test_an_unknown_digest_is_refused(run, bare):
    assert run([], bare[1], "9", "0").returncode == 2
