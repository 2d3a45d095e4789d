"""The visualizer's page, served as any file server would, in a real browser.

LETHE_TEST_PAGE         the folder of the page with its module, as `cargo xtask web` makes it
LETHE_TEST_PAGE_MODULE  the module alone
LETHE_BIN               the program whose `visualize` is tested
LETHE_TEST_CHROMIUM     Chromium; Debian's if not given
LETHE_TEST_SCREENSHOTS  a folder in which the pictures stay
"""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

expect.set_options(timeout=60_000)

WIDE = {"width": 1440, "height": 1000}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that says nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the page on a file server."""
    folder = Path(os.environ["LETHE_TEST_PAGE"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("LETHE_TEST_CHROMIUM", "/usr/bin/chromium"),
            # Root has no sandbox of Chromium's, and a container may have no /dev/shm to speak of.
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context_of(browser):
    """A context for each kind of window: the page keeps nothing in it, and a browser begins a process for each."""

    @functools.cache
    def context_of(width: int, height: int, scheme: str, motion: str):
        return browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion=motion)

    return context_of


@pytest.fixture
def opened(context_of, site):
    """Opens the page; what goes wrong in it, and what it loads from elsewhere, fails the test."""
    pages = []
    problems = []

    def open_page(setting: str = "", viewport=WIDE, scheme="light", motion="no-preference", address: str = site) -> Page:
        width, height = viewport["width"], viewport["height"]
        page = context_of(width, height, scheme, motion).new_page()
        pages.append(page)
        page.set_default_timeout(60_000)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if not _own(request.url, address) else None)
        page.goto(f"{address}#{setting}")
        expect(page.locator("html")).to_have_attribute("data-ready", "true")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []


def _own(url: str, address: str) -> bool:
    return url.startswith((address, "data:"))
