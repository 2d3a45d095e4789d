"""Several accesses at a time: batches of every scheme, and the rounds of the parallel RAM with their messages."""

from __future__ import annotations

import re

import pytest
from conftest import (
    PHONE,
    PIXELS,
    SCHEMES,
    STEP_TEXT_AND_LINES,
    check_width,
    press,
    read_by_hand,
    save_picture,
    to_the_end_of_a_sort,
)
from playwright.sync_api import Page, expect


def step_text(page: Page) -> str:
    return page.locator("#said").inner_text()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_copies_of_a_sort_sort_their_own_parts_in_batches(opened, scheme):
    page = opened(f"scheme={scheme}&capacity=16&batch=4&workload=bubble&label=number")
    to_the_end_of_a_sort(page)
    for part in range(4):
        answer = read_by_hand(page, ", ".join(str(4 * part + nth) for nth in range(4)))
        held = re.findall(r"lock (\d+) held (\d+)", answer)
        assert [int(block) for block, _ in held] == [4 * part + nth for nth in range(4)]
        numbers = [int(number) for _, number in held]
        assert numbers == sorted(numbers) and numbers[0] > 0


def test_all_concurrent_reads_of_one_block_get_the_last_number_written(opened):
    page = opened("scheme=parallel&capacity=32&workload=none")
    page.locator("#hand-block").fill("5, 5, 5, 5")
    page.locator("#hand-number").fill("99")
    page.locator("#hand-write").click()
    page.locator("#finish").click()
    page.locator("#hand-read").click()
    page.locator("#finish").click()
    expect(page.locator("#answer")).to_have_text(re.compile(r"^(block 5 held 99(, )?){4} when they", re.IGNORECASE))


def test_each_part_of_a_round_is_named_in_order_and_its_lines_are_highlighted(opened):
    page = opened("scheme=parallel&workload=random")
    seen = press(page, "ArrowRight", 27, STEP_TEXT_AND_LINES)
    rounds = [(text, highlighted) for text, highlighted in seen if "messages of" in text]
    named = [re.search(r"(Processors sort|Neighbours|All learn|Contents|Blocks are|Answers)", text) for text, _ in rounds]
    book_hits = [match.group() for match in named if match]
    assert list(dict.fromkeys(book_hits)) == ["Processors sort", "Neighbours", "All learn", "Contents", "Blocks are", "Answers"]
    assert all(highlighted and highlighted[0].strip() for _, highlighted in rounds)
    save_picture(page, "round")


def test_the_provider_sees_the_ends_and_lengths_of_messages_and_no_requests(opened):
    page = opened("scheme=parallel&workload=random&step=1")
    owners = page.locator("#memory").evaluate(PIXELS)
    assert "block" in step_text(page)
    page.keyboard.press("v")
    book_hits = step_text(page)
    assert re.search(r"4 messages of 36 bytes: \d → \d", book_hits) and not re.search(r"block \d|into", book_hits)
    assert page.locator("#memory").evaluate(PIXELS) != owners


def test_the_number_of_processors_is_chosen_and_the_picture_fits_a_phone(opened):
    page = opened("scheme=path")
    expect(page.locator("#batch")).to_have_value("1")
    page.locator("#scheme").select_option("parallel")
    expect(page.locator("#batch")).to_have_value("4")
    expect(page.locator("#batch-label")).to_have_text("Processors")
    page.locator("#scheme").select_option("ring")
    expect(page.locator("#batch")).to_have_value("1")
    page.locator("#batch").select_option("2")
    page.locator("#scheme").select_option("path")
    expect(page.locator("#batch")).to_have_value("2")
    for batch in (1, 2, 8):
        page = opened(f"scheme=parallel&capacity=64&batch={batch}&workload=random&step=60&heat=true", PHONE, "dark")
        check_width(page)
        expect(page.locator("#problem")).to_be_hidden()
        save_picture(page, f"parallel-{batch}-phone-dark")


def test_accesses_by_hand_do_not_change_the_programs_answers(opened):
    page = opened("scheme=path&capacity=16&workload=bubble")
    for nth in range(29):
        press(page, "ArrowDown")
        if nth % 3 == 0:
            read_by_hand(page, "15")
    press(page, "ArrowDown", 60)
    expect(page.locator("#at")).to_contain_text("the end")
    expect(page.locator("#problem")).to_be_hidden()
    found = []
    for block in range(8):
        found.append(int(re.search(r"held (\d+)", read_by_hand(page, str(block))).group(1)))
    assert found == sorted(found) and found[0] > 0
