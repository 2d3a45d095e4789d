"""A recursive position map in trees of its own: an access reads a path of each before it reads the scheme's."""

from __future__ import annotations

import re

import pytest
from conftest import PHONE, PIXELS, STEP_TEXT_AND_LINES, WIDE, check_width, press, save_picture, to_the_end_of_a_sort
from playwright.sync_api import expect

SCHEMES = ["path", "ring", "circuit"]


# Points at every part of the memory and returns the texts that the page shows.
POINT = """() => {
    const [memory, cell] = ["memory", "cell"].map((id) => document.getElementById(id));
    const { left, top, width, height } = memory.getBoundingClientRect();
    const said = [];
    for (let y = 5; y < height; y += 9) {
        for (let x = 5; x < width; x += 9) {
            memory.dispatchEvent(new PointerEvent("pointermove", { clientX: left + x, clientY: top + y }));
            said.push(cell.textContent);
        }
    }
    return said;
}"""


def test_the_map_is_chosen_for_schemes_that_can_have_it_and_the_address_says_so(opened):
    page = opened("scheme=path")
    expect(page.locator("#map")).to_have_value("trusted")
    flat = page.locator("#memory").evaluate(PIXELS)
    page.locator("#map").select_option("recursive")
    expect(page.locator("#about")).to_contain_text("trees of 16, 8 and 4 PosMap blocks, each with 2 leaves")
    assert page.locator("#memory").evaluate(PIXELS) != flat
    page.keyboard.press("v")
    again = opened(page.evaluate("location.hash.slice(1)"))
    expect(again.locator("#map")).to_have_value("recursive")
    for scheme in page.locator("#scheme option").evaluate_all("options => options.map(option => option.value)"):
        page.locator("#scheme").select_option(scheme)
        assert page.locator("#map").is_disabled() == (scheme not in SCHEMES)
    for scheme, map in [("circuit", "recursive"), ("plain", "trusted")]:
        expect(opened(f"scheme={scheme}&map=recursive").locator("#map")).to_have_value(map)
    page = opened("scheme=ring&map=recursive")
    page.locator("#scheme").select_option("plain")
    expect(page.locator("#map")).to_have_value("trusted")
    expect(page.locator("#problem")).to_be_hidden()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sort_over_a_recursive_map_sorts_and_goes_back_to_the_same_picture(opened, scheme):
    page = opened(f"scheme={scheme}&map=recursive&capacity=8&workload=bubble&label=number")
    to_the_end_of_a_sort(page)
    at = page.locator("#at").inner_text()
    there = page.locator("#memory").evaluate(PIXELS)
    page.keyboard.press("ArrowLeft")
    assert page.locator("#memory").evaluate(PIXELS) != there
    page.keyboard.press("ArrowRight")
    assert page.locator("#memory").evaluate(PIXELS) == there
    assert page.locator("#at").inner_text() == at.replace(", the end", "")


@pytest.mark.parametrize("side", ["owner", "provider"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_access_reads_a_path_of_each_map_the_smallest_map_first(opened, scheme, side):
    # By then every bucket of the scheme's tree has been written: Ring ORAM reads nothing from other buckets.
    page = opened(f"scheme={scheme}&map=recursive&workload=random&step=1200&side={side}")
    page.keyboard.press("ArrowDown")
    read, highlighted = [], []
    for step_text, lines in press(page, "ArrowRight", 4, STEP_TEXT_AND_LINES):
        assert "read" in step_text and "written" not in step_text.split("Step")[-1]
        read.append(list(dict.fromkeys(re.findall(r"position map (\d), level", step_text))) or ["blocks"])
        highlighted.append(lines)
    assert read == [["3"], ["2"], ["1"], ["blocks"]]
    assert all(any("of the tree of map i" in line for line in lines) for lines in highlighted[:3]) and highlighted[3]
    assert not any("of the tree of map i" in line for line in highlighted[3])


def test_a_posmap_block_under_the_pointer_shows_its_leaves_and_their_blocks(opened):
    page = opened("scheme=path&map=recursive&workload=random&step=400")
    book_hits = set(page.evaluate(POINT))
    maps = [text for text in book_hits if "PosMap block" in text]
    pattern = r"position map (\d), level \d, bucket \d+: PosMap block (\d+), with the leaves of (?:PosMap )?blocks (\d+) to (\d+)(?: of map \d)?: [\d–]+ [\d–]+;"
    for text in maps:
        found = re.match(pattern, text)
        assert found and int(found[3]) == 2 * int(found[2]) and int(found[4]) == int(found[3]) + 1, text
    assert any("position map 1" in text for text in maps) and any("position map 2" in text for text in maps)
    assert any(re.match(r"level \d, bucket \d+: block \d+, which holds", text) for text in book_hits)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_trees_of_the_map_fit_in_both_themes_and_at_both_widths(opened, viewport, theme):
    width = "phone" if viewport is PHONE else "wide"
    for scheme, capacity, side in [("path", 32, "owner"), ("ring", 32, "provider"), ("circuit", 1024, "owner")]:
        page = opened(f"scheme={scheme}&capacity={capacity}&map=recursive&workload=random&step=131&side={side}", viewport, theme)
        check_width(page)
        save_picture(page, f"map-{scheme}-{side}-{width}-{theme}")
