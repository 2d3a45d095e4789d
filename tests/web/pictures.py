"""Makes the pictures of the book's pages on schemes: each at a moment that tells what the scheme does.

    cargo xtask pictures

It saves them with the page's own button, from the page that `cargo xtask web` makes.

LETHE_TEST_PAGE      the folder of the page with its module
LETHE_TEST_CHROMIUM  Chromium; Debian's if not given
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import threading
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
# As wide as a column of the book, when the page's own margins are off.
WINDOW = {"width": 800, "height": 900}

READS = r"Read block \d+\. .* read: "
# A setting, from whose step on the page is stepped until what it says of the step fits, and so many blocks of the
# stash or more are known.
MOMENTS = {
    "ring": ("capacity=16&step=118", READS, 1),
    "path": ("capacity=16&step=121", r"Block \d+ holds", 3),
    "root": ("capacity=16&step=121", READS, 0),
    "circuit": ("capacity=16&step=122", r"Work that was owed\. .* read: ", 1),
    "square-root": ("capacity=32&step=324", READS + "shelter", 0),
    "practical-os": ("capacity=32&step=136", READS, 3),
    "hierarchical": ("capacity=16&step=100", READS + ".*table of level", 0),
    "curious": ("capacity=32&step=120", READS, 1),
    "oblivistore": ("capacity=32&step=120", READS, 1),
    "parallel": ("capacity=32&step=120", "Blocks are routed", 1),
    "trivial": ("capacity=32&step=60", READS, 0),
    "detworam": ("capacity=32&step=100", r"Write \d+ .* written: ", 0),
    "eager": ("capacity=32&step=100", r"Work that was owed\. .* written: ", 1),
    "opam": ("capacity=16&step=101", r"Read block \d+\. .* written: ", 0),
    "plain": ("capacity=32&step=100", READS, 0),
}
# A scheme that never comes to its moment.
MOST_STEPS = 1000


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that says nothing."""

    def log_message(self, *_):
        pass


def step_to(page: Page, moment: str, held: int) -> None:
    """Steps until what the page says fits, and so many blocks are held."""
    for _ in range(MOST_STEPS):
        stash = page.locator("#trusted").text_content() or ""
        if re.search(moment, page.locator("#said").inner_text()) and stash.count("block ") >= held:
            return
        page.keyboard.press("ArrowRight")
    raise SystemExit(f"no step says {moment}")


def main() -> None:
    folder = Path(os.environ["LETHE_TEST_PAGE"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("LETHE_TEST_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        for scheme, (setting, moment, held) in MOMENTS.items():
            page = browser.new_context(viewport=WINDOW, color_scheme="light").new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/#scheme={scheme}&workload=random&{setting}")
            page.wait_for_selector("html[data-ready=true]")
            step_to(page, moment, held)
            with page.expect_download() as download:
                page.locator("#save").click()
            download.value.save_as(FOLDER / f"scheme-{scheme}.svg")
            print(f"{scheme}: {page.locator('#said').inner_text()}")
            page.context.close()
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
