"""Chromium for tests of pages, and a file server for their files."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright


@contextmanager
def launch_chromium() -> Iterator[Browser]:
    """Runs Debian's Chromium, or that of AMELES_TEST_CHROMIUM, under Playwright."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("AMELES_TEST_CHROMIUM", "/usr/bin/chromium-headless-shell"),
            # Chromium has no sandbox for root, and a container may have hardly any /dev/shm.
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serves the files of a folder on a free port, and gives the address without a slash at its end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
