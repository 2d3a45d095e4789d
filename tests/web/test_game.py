"""The guessing game: a machine wins against schemes that leak, guesses against others, and the book says how often."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PHONE, SCHEMES, check_width, save_picture
from playwright.sync_api import expect

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "visualize.md"
CHANCE = (0.12, 0.38)
# Against all other schemes the machine is right by chance. Root ORAM and OPAM leak in part, which is known.
LEAKS = {"plain": (1.0, 1.0), "own": (1.0, 1.0), "root": (0.33, 0.6), "opam": (0.33, 0.6)}
# The first word of each scheme's name in the book's table.
NAMES = {
    "path": "Path", "ring": "Ring", "circuit": "Circuit", "square-root": "Square-Root", "practical-os": "PracticalOS",
    "hierarchical": "Hierarchical", "curious": "CURIOUS", "oblivistore": "ObliviStore", "parallel": "Parallel",
    "trivial": "Trivial", "root": "Root", "detworam": "DetWoORAM", "eager": "Eager", "opam": "OPAM", "plain": "plain",
    "own": "your own",
}  # fmt: skip


def book_hits() -> dict[str, int]:
    """Returns the hits in the book's table, by the scheme's name there."""
    rows = re.findall(r"^\|(.+)\|$", PAGE.read_text().split("**Let a machine guess 200 times**")[1], re.MULTILINE)
    cells = [cell.strip() for row in rows[2:] for cell in row.split("|")]
    return {name: int(right) for name, right in zip(cells[::2], cells[1::2], strict=True) if name}


def test_the_table_of_the_book_has_a_row_for_each_scheme_and_no_other():
    assert sorted(NAMES) == sorted(SCHEMES)
    rows = list(book_hits())
    assert len(rows) == len(SCHEMES)
    for name in NAMES.values():
        assert sum(row.startswith(name) for row in rows) == 1, name


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_machine_wins_where_a_scheme_leaks_and_guesses_where_it_does_not_as_often_as_the_book_says(opened, scheme):
    page = opened(f"scheme={scheme}&tab=game")
    page.locator("#machine").click()
    verdict = page.locator("#verdict").inner_text()
    hits, rounds = (int(part) for part in re.search(r"right in (\d+) of (\d+)", verdict).groups())
    least, most = LEAKS.get(scheme, CHANCE)
    assert rounds == 200 and least <= hits / rounds <= most, verdict
    assert [right for name, right in book_hits().items() if name.startswith(NAMES[scheme])] == [hits]
    page.keyboard.press("b")
    expect(page.locator("#verdict")).to_contain_text("it was")
    expect(page.locator("#scores tr")).to_have_count(1)
    expect(page.locator("#scores")).to_contain_text("25 %")
    check_width(page)
    save_picture(page, f"game-{scheme}")


# Counts the drawn pixels of the middle column above the trees: two arcs cross it.
ARCS = """canvas => {
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const { data } = canvas.getContext("2d").getImageData(Math.round(canvas.width / 2), 0, 1, Math.round(100 * scale));
    return data.filter((part, at) => at % 4 === 3 && part > 0).length;
}"""


def test_the_provider_sees_the_messages_between_processors_of_each_access(opened):
    page = opened("scheme=parallel&tab=game")
    counts = page.locator(".sights canvas, #sight").evaluate_all(f"sights => sights.map({ARCS})")
    assert len(counts) == 5 and min(counts) > 2, counts
    page = opened("scheme=parallel&tab=game", PHONE, "dark")
    check_width(page)


def test_the_game_fits_a_phone(opened):
    page = opened("scheme=detworam&tab=game", PHONE, "dark")
    check_width(page)
    page.keyboard.press("d")
    expect(page.locator("#verdict")).to_contain_text("it was")
    save_picture(page, "game-phone-dark")
