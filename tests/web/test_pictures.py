"""The pictures of the book: one for each scheme, on its page."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import SCHEMES
from pictures import FOLDER, PICTURES, WINDOW, draw, setting_of

BOOK = Path(__file__).parents[2] / "docs" / "how-it-works"


def test_every_scheme_of_the_library_has_a_picture():
    assert set(PICTURES) == set(SCHEMES) - {"own"}


@pytest.mark.parametrize("scheme", PICTURES)
def test_its_picture_is_drawn_and_the_book_shows_it_with_a_description(scheme):
    picture = FOLDER / f"scheme-{scheme}.svg"
    root = ElementTree.parse(picture).getroot()
    assert root.tag.endswith("svg") and len(root) > 5
    pages = "".join(page.read_text() for page in BOOK.glob("*.md"))
    (words,) = re.findall(rf"!\[([^\]]*)\]\(\.\./pictures/scheme-{scheme}\.svg\)", pages)
    assert len(words) > 40


def test_all_pictures_together_are_small():
    assert sum(picture.stat().st_size for picture in FOLDER.glob("scheme-*.svg")) < 500_000


@pytest.mark.parametrize("scheme", PICTURES)
def test_the_picture_is_the_one_that_the_page_draws_now(opened, scheme):
    picture, _ = draw(opened(setting_of(scheme), WINDOW), scheme)
    committed = (FOLDER / f"scheme-{scheme}.svg").read_text()
    assert committed.splitlines() == picture.splitlines(), "run `cargo xtask pictures` to redraw the pictures"


# The brightness of a picture's background, and the greatest difference from it: 0 to 765 each.
GROUND_AND_CONTRAST = """async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const brightness = (at) => data[at] + data[at + 1] + data[at + 2];
    const ground = brightness(data.length - 4);
    let most = 0;
    for (let at = 0; at < data.length; at += 4) most = Math.max(most, Math.abs(brightness(at) - ground));
    return [ground, most];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_pictures_have_the_colours_of_the_readers_theme(browser, theme):
    context = browser.new_context(color_scheme=theme)
    page = context.new_page()
    for scheme in PICTURES:
        picture = base64.b64encode((FOLDER / f"scheme-{scheme}.svg").read_bytes()).decode()
        ground, most = page.evaluate(GROUND_AND_CONTRAST, f"data:image/svg+xml;base64,{picture}")
        assert (ground > 700) if theme == "light" else (ground < 100), scheme
        assert most > 450, scheme
    context.close()


def test_a_picture_that_is_saved_on_a_dark_page_is_dark_and_turns_light_for_a_light_one(opened):
    page = opened("scheme=path&workload=random&step=40", scheme="dark")
    with page.expect_download() as download:
        page.locator("#save").click()
    picture = download.value.path().read_text()
    assert 'class="ground" fill="#10151a"' in picture
    assert re.search(r"<style>@media \(prefers-color-scheme: light\)\{.*\.ground\{fill:#f7f8f6\}", picture)
