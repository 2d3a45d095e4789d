"""A shell runs a script in the enclave as the distribution's shell does outside, unless it starts a process."""

from __future__ import annotations

import subprocess

SCRIPT = """\
echo "sum $((6 * 7)) of $0 in ${PWD%/}"
count() { n=0; while read -r line; do n=$((n + 1)); echo "$n: $line" >&2; done; echo "$n lines"; }
exec 3>&1 4>&2
{ echo to three >&3; echo to four >&4; } 2>&3
exec 4>&-
echo closed >&4
trap 'echo handled' USR1
kill -USR1 $$
count
exec 1>&2
echo both
exit 7
"""


def test_a_shell_runs_a_script_as_outside(run, dash):
    words, lines = ["-c", SCRIPT, "script"], "first\nsecond\n"
    outside = subprocess.run(["dash", *words], input=lines, capture_output=True, text=True, check=False, cwd="/")
    inside = run(["--untrusted", "16MiB", "--resident", "64"], dash, *words, input=lines)
    errors, _, figures = inside.stderr.partition("\n\nameles enclave:")
    assert (inside.returncode, inside.stdout) == (outside.returncode, outside.stdout), inside.stderr
    assert errors + "\n" == outside.stderr and "2: second" in errors and "refused" not in figures, inside.stderr
