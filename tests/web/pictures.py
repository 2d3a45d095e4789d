"""Makes the pictures of schemes in the book, each at a step that shows what the scheme does.

    cargo xtask pictures

It saves them with the page's own button, from the page that `cargo xtask web` makes.

AMELES_TEST_PAGE      the folder of the page with its module
AMELES_TEST_CHROMIUM  headless Chromium; Debian's if not given
"""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page

from browser import launch_chromium, serve_folder

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
# The width of a column of the book, plus the page's margins.
WINDOW = {"width": 800, "height": 900}

READS = r"Read block \d+\. .* read: "
# The setting to open, and the step to stop at: the first whose text matches while the stash has at least so many blocks.
PICTURES = {
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
# A scheme that has not reached its step by then has failed.
MAX_STEPS = 1000


# Steps until the text matches and the stash has enough blocks; false if that does not happen.
STEP_TO = """([pattern, blocks, steps]) => {
    const text = (id) => document.getElementById(id).textContent;
    for (let step = 0; step < steps; step++) {
        if (new RegExp(pattern).test(text("said")) && text("trusted").split("block ").length > blocks) return true;
        document.getElementById("step").click();
    }
    return false;
}"""


def setting_of(scheme: str) -> str:
    """Returns the setting with which the page is opened for a scheme's picture."""
    return f"scheme={scheme}&workload=random&{PICTURES[scheme][0]}"


def draw(page: Page, scheme: str) -> tuple[str, str]:
    """Returns a scheme's picture at its step, and the page's text. The page is open at the scheme's setting."""
    _, pattern, blocks = PICTURES[scheme]
    if not page.evaluate(STEP_TO, [pattern, blocks, MAX_STEPS]):
        raise RuntimeError(f"{scheme}: no step matches {pattern}")
    with page.expect_download() as download:
        page.locator("#save").click()
    return download.value.path().read_text(), page.locator("#said").inner_text()


def main() -> None:
    with serve_folder(Path(os.environ["AMELES_TEST_PAGE"])) as address, launch_chromium() as chromium:
        for scheme in PICTURES:
            page = chromium.new_context(viewport=WINDOW, color_scheme="light").new_page()
            page.goto(f"{address}/#{setting_of(scheme)}")
            page.wait_for_selector("html[data-ready=true]")
            picture, step_text = draw(page, scheme)
            (FOLDER / f"scheme-{scheme}.svg").write_text(picture)
            print(f"{scheme}: {step_text}")
            page.context.close()


if __name__ == "__main__":
    main()
