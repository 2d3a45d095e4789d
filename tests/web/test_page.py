"""The visualizer's page: every scheme steps forward and back, and answers as an array does."""

from __future__ import annotations

import re

import pytest
from conftest import PHONE, PIXELS, SCHEMES, WIDE, check_width, press, read_by_hand, save_picture, step_of, to_the_end_of_a_sort
from playwright.sync_api import Page, expect


def test_the_list_of_schemes_is_the_one_that_is_tested(opened):
    page = opened()
    assert page.locator("#scheme option").evaluate_all("options => options.map(option => option.value)") == SCHEMES


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sort_over_every_scheme_sorts_and_answers_as_an_array_does(opened, scheme):
    page = opened(f"scheme={scheme}&capacity=8&workload=bubble&label=number")
    to_the_end_of_a_sort(page)
    found = []
    for block in range(4):
        step_text = re.search(r"Block (\d+) held (\d+)", read_by_hand(page, str(block)))
        assert int(step_text.group(1)) == block
        found.append(int(step_text.group(2)))
    assert found == sorted(found) and found[0] > 0
    save_picture(page, f"sorted-{scheme}")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_going_back_shows_the_same_picture(opened, scheme):
    # The blocks that a search reads depend on the numbers in them. A program that was not restored would read others.
    page = opened(f"scheme={scheme}&capacity=8&workload=search&step=50")

    def snapshot(page: Page) -> tuple:
        pixels = page.locator("#memory, #asked, #seen").evaluate_all(f"canvases => canvases.map({PIXELS})")
        return step_of(page), page.locator("#said").inner_text(), page.locator("#note").inner_text(), pixels

    there = snapshot(page)
    assert there[0] == 50
    press(page, "ArrowRight", 2)
    assert snapshot(page) != there
    press(page, "ArrowLeft", 2)
    assert snapshot(page) == there
    highlighted = press(page, "ArrowRight", 14, "() => document.querySelectorAll('#code li.now').length")
    assert sum(highlighted) > 0, "no line was highlighted as it ran"
    # A link opens the same step, by steps forward only.
    again = opened(page.evaluate("location.hash.slice(1)"))
    assert snapshot(again) == snapshot(page)
    save_picture(page, f"step-{scheme}")


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("side", ["owner", "provider"])
def test_it_fits_in_both_themes_and_at_both_widths(opened, viewport, theme, side):
    width = "phone" if viewport is PHONE else "wide"
    for scheme in ["path", "hierarchical", "curious", "oblivistore", "parallel"]:
        page = opened(f"scheme={scheme}&workload=merge&side={side}&step=61", viewport, theme)
        check_width(page)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(int(part) for part in re.findall(r"\d+", ground)[:3]) > 382) == (theme == "light")
        save_picture(page, f"{scheme}-{side}-{width}-{theme}")


def test_the_providers_view_shows_nothing_that_only_the_owner_knows(opened):
    page = opened("scheme=path&workload=again&step=9")
    expect(page.locator("#program-pane")).to_be_visible()
    owners = page.locator("#said").inner_text()
    page.keyboard.press("v")
    expect(page.locator("#provider")).to_have_attribute("aria-pressed", "true")
    for secret in ["#program-pane", "#asked-pane", "#hand-pane"]:
        expect(page.locator(secret)).to_be_hidden()
    step_text = page.locator("#said").inner_text()
    assert "block" not in step_text.lower() and step_text != owners
    assert page.locator("#trusted").inner_text() == ""


def test_contents_heat_and_theme_change_the_picture(opened):
    page = opened("scheme=ring&workload=random&step=80")
    seen = {page.locator("#memory").evaluate(PIXELS)}
    for key in ["c", "c", "h", "t"]:
        page.keyboard.press(key)
        seen.add(page.locator("#memory").evaluate(PIXELS))
    assert len(seen) == 5


def test_it_plays_by_itself_and_pauses(opened):
    page = opened("scheme=path&workload=random")
    page.locator("#speed").fill("9")
    page.locator("#play").click()
    page.wait_for_function("() => Number(document.querySelector('#at').textContent.match(/\\d+/)[0]) > 200")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
    stopped = step_of(page)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert step_of(page) == stopped


def test_a_step_with_hundreds_of_blocks_is_fast(opened):
    page = opened("scheme=path&capacity=512&workload=random&step=400")
    took = page.evaluate(
        """() => {
            const began = performance.now();
            for (let nth = 0; nth < 40; nth++) document.querySelector("#step").click();
            return (performance.now() - began) / 40;
        }"""
    )
    assert took < 100, f"a step takes {took:.0f} ms"


def test_the_keyboard_alone_reaches_every_control(opened):
    page = opened()
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    wanted = {"scheme", "capacity", "workload", "seed", "lazy", "trace", "play", "step", "finish", "speed", "owner"}
    assert wanted | {"provider", "label", "heat", "hand-block", "hand-read", "hand-write", "hand-idle"} <= reached


def test_with_reduced_motion_there_is_one_step_a_second(opened):
    page = opened(motion="reduce")
    expect(page.locator("#speed-text")).to_have_text("1 /s")


def test_the_memory_takes_the_whole_width_in_the_large_view(opened):
    page = opened("scheme=ring&capacity=128&workload=random&step=300&heat=true")
    before = page.locator("#memory").bounding_box()["width"]
    page.keyboard.press("l")
    assert page.locator("#memory").bounding_box()["width"] > 1.3 * before
    check_width(page)
    save_picture(page, "large")


def test_a_recorded_trace_is_stepped_and_a_broken_one_is_refused_with_its_line(opened, tmp_path):
    page = opened()
    trace = tmp_path / "trace.csv"
    trace.write_text("fault,slot\n" + "".join(f"{fault},{slot}\n" for fault in range(1, 9) for slot in (fault, fault + 8)))
    page.locator("#trace").set_input_files(trace)
    expect(page.locator("#about")).to_contain_text("trace.csv")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#said")).to_contain_text("Fault 1. 2 slots are changed")
    expect(page.locator("#owner")).to_be_disabled()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#at")).to_have_text("step 8, the end")
    trace.write_text("fault,slot\n1,2\n1;3\n")
    page.locator("#trace").set_input_files(trace)
    expect(page.locator("#problem")).to_contain_text("line 3 is “1;3”")
