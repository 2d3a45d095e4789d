"""`ameles visualize`: the page that the program serves."""

from __future__ import annotations

import os
import re
import signal
import subprocess

import pytest


@pytest.fixture
def started():
    """Starts the program, and returns it with the page's address."""
    program = subprocess.Popen(
        [os.environ["AMELES_BIN"], "visualize", "--port", "0", "--module", os.environ["AMELES_TEST_PAGE_MODULE"]],
        stdout=subprocess.PIPE,
        text=True,
    )
    line = program.stdout.readline()
    yield program, re.search(r"http://127\.0\.0\.1:\d+/", line).group()
    program.kill()
    program.wait()


def test_the_page_runs_under_the_rights_that_the_program_gives_it(opened, started):
    program, address = started
    page = opened("scheme=ring&step=20", address=address)
    assert "step 20" in page.locator("#at").inner_text()
    program.send_signal(signal.SIGINT)
    assert program.wait(30) == 0


def test_a_file_that_is_no_module_is_refused_in_a_sentence(tmp_path):
    wrong = tmp_path / "module.wasm"
    wrong.write_text("no module")
    ended = subprocess.run(
        [os.environ["AMELES_BIN"], "visualize", "--port", "0", "--module", wrong], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1 and "not a WebAssembly module" in ended.stderr
