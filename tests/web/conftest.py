"""The visualizer's page from an ordinary file server, in a real browser.

AMELES_TEST_PAGE         the folder of the page with its module, as `cargo xtask web` makes it
AMELES_TEST_PAGE_MODULE  the module alone
AMELES_BIN               the program whose `visualize` is tested
AMELES_TEST_CHROMIUM     headless Chromium; Debian's if not given
AMELES_TEST_SCREENSHOTS  a folder for pictures of the whole page; none are taken without it
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser import launch_chromium, serve_folder

expect.set_options(timeout=60_000)

WIDE = {"width": 1440, "height": 1000}
PHONE = {"width": 390, "height": 844}

SCHEMES = [
    "path", "ring", "circuit", "square-root", "practical-os", "hierarchical", "curious", "oblivistore", "parallel", "trivial",
    "root", "detworam", "eager", "opam", "plain", "own",
]  # fmt: skip

PIXELS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (const pixel of new Uint32Array(data.buffer)) sum = (Math.imul(sum, 31) + pixel) | 0;
    return sum;
}"""
"""A hash of the pixels of a canvas."""

RETURN_NULL = "() => null"
"""A function that reads nothing from the page."""

STEP_TEXT_AND_LINES = """() => {
    const lines = document.querySelectorAll("#code li.now");
    return [document.getElementById("said").innerText, Array.from(lines, (line) => line.innerText)];
}"""
"""The page's text about a step, and the highlighted lines of the scheme."""

# Reads blocks by hand and returns the page's answer.
READ_BY_HAND = """blocks => {
    const element = (id) => document.getElementById(id);
    element("hand-block").value = blocks;
    element("hand-read").click();
    element("finish").click();
    return element("answer").innerText;
}"""

LOAD_NUMBERS = itertools.count()
"""Numbers that make each address of a tab unique."""


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the page on a file server."""
    with serve_folder(Path(os.environ["AMELES_TEST_PAGE"])) as address:
        yield f"{address}/"


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a worker, because its start takes two seconds of processor time."""
    with launch_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def idle_tabs(browser) -> list[Page]:
    """Tabs that no test uses now, for reuse: the page stores nothing in the browser, and a new tab costs more than a test."""
    return []


@pytest.fixture
def opened(request, browser, idle_tabs, site):
    """Opens the page. An error in it, or a request to another site, fails the test."""
    failed_before = request.session.testsfailed
    tabs = []
    problems = []

    def open_page(setting: str = "", viewport=WIDE, scheme="light", motion="no-preference", address: str = site) -> Page:
        page = idle_tabs.pop() if idle_tabs else browser.new_page()
        handlers = {
            "console": lambda message: problems.append(message.text) if message.type == "error" else None,
            "pageerror": lambda error: problems.append(str(error)),
            "request": lambda request: problems.append(request.url) if not _is_local(request.url, address) else None,
        }
        tabs.append((page, handlers))
        page.set_default_timeout(60_000)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme, reduced_motion=motion)
        for event, handler in handlers.items():
            page.on(event, handler)
        # A tab that shows the page would not load it again for another setting, but does for another query.
        page.goto(f"{address}?{next(LOAD_NUMBERS)}#{setting}")
        expect(page.locator("html")).to_have_attribute("data-ready", "true")
        return page

    yield open_page
    for page, handlers in tabs:
        for event, handler in handlers.items():
            page.remove_listener(event, handler)
        # A page of a failed test may hang or still run.
        if problems or request.session.testsfailed > failed_before:
            page.close()
        else:
            idle_tabs.append(page)
    assert problems == []


def _is_local(url: str, address: str) -> bool:
    return url.startswith((address, "data:"))


def save_picture(page: Page, name: str) -> None:
    """Saves a picture of the whole page, if there is a folder for it."""
    folder = os.environ.get("AMELES_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def check_width(page: Page) -> None:
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "the page is wider than the screen"


def step_of(page: Page) -> int:
    return int(re.search(r"\d+", page.locator("#at").inner_text()).group())


def press(page: Page, key: str, times: int = 1, look: str = RETURN_NULL) -> list:
    """Presses a key several times, and returns the result of a function of the page after each press.

    A script presses the key, for long tests that are not about keys: a press by the browser takes ten times as long.
    """
    return page.evaluate(
        f"""([key, times]) => Array.from({{ length: times }}, () => {{
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true, cancelable: true }}));
            return ({look})();
        }})""",
        [key, times],
    )


def read_by_hand(page: Page, blocks: str) -> str:
    """Reads blocks by hand, from a script as `press` does, and returns the page's answer."""
    return page.evaluate(READ_BY_HAND, blocks)


def to_the_end_of_a_sort(page: Page) -> None:
    # Four numbers are written, and then compared and exchanged at most six times.
    press(page, "ArrowDown", 4 + 6 * 4 + 1)
    expect(page.locator("#at")).to_contain_text("the end")
    expect(page.locator("#problem")).to_be_hidden()
