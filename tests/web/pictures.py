"""Makes the pictures of the book's pages on schemes: each at a moment that tells what the scheme does.

    cargo xtask pictures

It saves them with the page's own button, from the page that `cargo xtask web` makes.

AMELES_TEST_PAGE      the folder of the page with its module
AMELES_TEST_CHROMIUM  Chromium without windows; Debian's if not given
"""

from __future__ import annotations

import functools
import http.server
import os
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
    "circuit": ("capacity=16&step=122", r"Pending work\. .* read: ", 1),
    "square-root": ("capacity=32&step=324", READS + "shelter", 0),
    "practical-os": ("capacity=32&step=136", READS, 3),
    "hierarchical": ("capacity=16&step=100", READS + ".*table of level", 0),
    "curious": ("capacity=32&step=120", READS, 1),
    "oblivistore": ("capacity=32&step=120", READS, 1),
    "parallel": ("capacity=32&step=120", "Blocks are routed", 1),
    "trivial": ("capacity=32&step=60", READS, 0),
    "detworam": ("capacity=32&step=100", r"Write \d+ .* written: ", 0),
    "eager": ("capacity=32&step=100", r"Pending work\. .* written: ", 1),
    "opam": ("capacity=16&step=101", r"Read block \d+\. .* written: ", 0),
    "plain": ("capacity=32&step=100", READS, 0),
}
# A scheme that never comes to its moment.
MOST_STEPS = 1000


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that says nothing."""

    def log_message(self, *_):
        pass


# Steps in the page until what it says fits and so many blocks are held; false if that never comes.
STEP_TO = """([moment, held, most]) => {
    const text = (id) => document.getElementById(id).textContent;
    for (let step = 0; step < most; step++) {
        if (new RegExp(moment).test(text("said")) && text("trusted").split("block ").length > held) return true;
        document.getElementById("step").click();
    }
    return false;
}"""


def setting_of(scheme: str) -> str:
    """The setting at which the page is opened for the picture of a scheme."""
    return f"scheme={scheme}&workload=random&{MOMENTS[scheme][0]}"


def drawn(page: Page, scheme: str) -> tuple[str, str]:
    """The picture of a scheme at its moment, from the page opened at its setting, and what the page says of that."""
    _, moment, held = MOMENTS[scheme]
    if not page.evaluate(STEP_TO, [moment, held, MOST_STEPS]):
        raise RuntimeError(f"{scheme}: no step says {moment}")
    with page.expect_download() as download:
        page.locator("#save").click()
    return download.value.path().read_text(), page.locator("#said").inner_text()


def main() -> None:
    folder = Path(os.environ["AMELES_TEST_PAGE"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("AMELES_TEST_CHROMIUM", "/usr/bin/chromium-headless-shell"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        for scheme in MOMENTS:
            page = browser.new_context(viewport=WINDOW, color_scheme="light").new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/#{setting_of(scheme)}")
            page.wait_for_selector("html[data-ready=true]")
            picture, said = drawn(page, scheme)
            (FOLDER / f"scheme-{scheme}.svg").write_text(picture)
            print(f"{scheme}: {said}")
            page.context.close()
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
