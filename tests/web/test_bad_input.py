"""Invalid input is refused in a sentence or corrected, and the page continues."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

NONSENSE = [
    ("scheme=nonsense&capacity=-1&step=1e9", "scheme=nonsense, capacity=-1, step=1e9,"),
    ("step=abc&seed=99999999999999999999", "seed=99999999999999999999, step=abc,"),
    ("scheme=parallel&batch=3&capacity=12", "capacity=12, batch=3,"),
    ("%E0%A4%A", "which is invalid"),
    ("label=%00&heat=maybe&lazy=1", "heat=maybe"),
    ("tab=constructor&workload=__proto__&scheme=toString", "scheme=toString, workload=__proto__, tab=constructor,"),
    ("seed=1.5&step=-2.5", "seed=1.5, step=-2.5,"),
]


@pytest.mark.parametrize(("setting", "named"), NONSENSE)
def test_an_invalid_address_is_reported_and_opens_the_page_with_defaults(opened, setting, named):
    page = opened(setting)
    expect(page.locator("#problem")).to_contain_text("The link says ")
    expect(page.locator("#problem")).to_contain_text(named)
    expect(page.locator("#at")).to_have_text("step 0")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#at")).to_have_text("step 1")
    expect(page.locator("#problem")).to_be_hidden()


def test_an_invalid_part_of_an_address_does_not_change_the_rest(opened):
    page = opened("scheme=ring&capacity=7&step=5&what=1")
    expect(page.locator("#problem")).to_contain_text("The link says what=1, capacity=7,")
    expect(page.locator("#scheme")).to_have_value("ring")
    expect(page.locator("#at")).to_have_text("step 5")


@pytest.mark.parametrize("setting", ["scheme=ring&step=40", "scheme=parallel&batch=8&capacity=8&step=40"])
def test_the_largest_seed_is_a_seed(opened, setting):
    page = opened(f"seed=2147483647&{setting}")
    expect(page.locator("#at")).to_have_text("step 40")
    page.locator("#game-tab").click()
    page.keyboard.press("a")
    expect(page.locator("#verdict")).to_contain_text("it was")


@pytest.mark.parametrize(
    ("trace", "complaint"),
    [
        (b"", "line 1 is “”: a trace begins with “fault,slot”"),
        (b"fault,slot\n", "no line after its heading"),
        (b"\x89PNG\r\n\x1a\n\x00\x01", "line 1 is"),
        (b"fault,slot\n1,-2\n", "line 2 is “1,-2”"),
        (b"fault,slot\n1,2,3\n", "line 2 is “1,2,3”"),
        (b"fault,slot\n9,2\n8,2\n", "line 3 goes back from fault 9 to 8"),
        (b"fault,slot\n1,65536\n", "at most 65536 slots"),
        (b"fault,slot\n1,99999999999999999999\n", "line 2 is"),
        (b"fault,slot\n1,<img src=x onerror=alert(1)>\n", "line 2 is “1,<img"),
    ],
)
def test_a_bad_trace_is_refused_with_its_line_and_the_scheme_goes_on(opened, tmp_path, trace, complaint):
    page = opened("scheme=ring&step=5")
    file = tmp_path / "trace.csv"
    file.write_bytes(trace)
    page.locator("#trace").set_input_files(file)
    expect(page.locator("#problem")).to_contain_text(complaint)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#at")).to_have_text("step 6")
    expect(page.locator("#problem")).to_be_hidden()


def test_the_longest_trace_and_the_highest_slot_are_drawn(opened, tmp_path):
    page = opened()
    file = tmp_path / "trace.csv"
    file.write_text("fault,slot\r\n" + "".join(f"{fault},{fault * 7919 % 65536}\r\n" for fault in range(50_000)) + "50000,65535\r\n")
    page.locator("#trace").set_input_files(file)
    expect(page.locator("#about")).to_contain_text("trace.csv")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#said")).to_contain_text("Fault 0. 1 slot is changed")


def test_a_scheme_is_chosen_again_after_a_trace(opened, tmp_path):
    page = opened("scheme=circuit")
    file = tmp_path / "trace.csv"
    file.write_text("fault,slot\n1,2\n")
    page.locator("#trace").set_input_files(file)
    expect(page.locator("#scheme")).to_have_value("recorded")
    page.locator("#capacity").select_option("64")
    expect(page.locator("#scheme")).to_have_value("circuit")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#said")).to_contain_text("level 0")


@pytest.mark.parametrize(("blocks", "complaint"), [("32", "no block 32"), ("1, 2", "choose at most 1")])
def test_missing_or_too_many_blocks_by_hand_are_refused(opened, blocks, complaint):
    page = opened("scheme=path&capacity=32&workload=none")
    page.locator("#hand-block").fill(blocks)
    page.locator("#hand-read").click()
    expect(page.locator("#problem")).to_contain_text(complaint)
    page.locator("#hand-block").fill("31")
    page.locator("#hand-read").click()
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#said")).to_contain_text("Read block 31")


def test_a_text_that_is_no_list_of_blocks_causes_no_access(opened):
    page = opened("scheme=path&workload=none")
    for text in ["", "x", "1;2", "-1", "1e3", "1,,2,"]:
        page.locator("#hand-block").fill(text)
        page.locator("#hand-read").click()
        assert page.locator("#at").inner_text() == "step 0", text


def test_the_page_opened_without_scripts_says_what_it_needs(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    expect(page.locator("#waits")).to_contain_text("ameles visualize")
    context.close()


def test_the_whole_page_is_usable_with_keys_alone(opened):
    page = opened()
    for key, changes in [("ArrowRight", "step 1"), ("ArrowRight", "step 2"), ("ArrowLeft", "step 1"), ("Home", "step 0")]:
        page.keyboard.press(key)
        expect(page.locator("#at")).to_have_text(changes)
    page.locator("#save").focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    text = download.value.path().read_text()
    assert text.startswith("<svg") and re.search(r"aria-label=\"Nothing has been done", text)
    assert download.value.suggested_filename == "path-0-owner.svg"
    page.keyboard.press("g")
    expect(page.locator("#game")).to_be_visible()
    page.keyboard.press("c")
    expect(page.locator("#verdict")).to_contain_text("it was")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("Now it reads")
