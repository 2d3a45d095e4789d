"""The pictures of the book: one of each scheme, on the page that tells of it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pictures import FOLDER, MOMENTS
from test_page import SCHEMES

BOOK = Path(__file__).parents[2] / "docs" / "how-it-works"


def test_every_scheme_of_the_library_has_a_picture():
    assert set(MOMENTS) == set(SCHEMES) - {"own"}


@pytest.mark.parametrize("scheme", MOMENTS)
def test_its_picture_is_drawn_and_the_book_shows_it_with_words_for_it(scheme):
    picture = FOLDER / f"scheme-{scheme}.svg"
    root = ElementTree.parse(picture).getroot()
    assert root.tag.endswith("svg") and len(root) > 5
    pages = "".join(page.read_text() for page in BOOK.glob("*.md"))
    (words,) = re.findall(rf"!\[([^\]]*)\]\(\.\./pictures/scheme-{scheme}\.svg\)", pages)
    assert len(words) > 40


def test_all_of_them_together_are_small():
    assert sum(picture.stat().st_size for picture in FOLDER.glob("scheme-*.svg")) < 500_000
