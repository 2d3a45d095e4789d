"""The owner's page in a real browser: its contents, in both themes and at each width, and who cannot open it."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect
from programs import Demonstration, Gateway

expect.set_options(timeout=120_000)

WIDE = {"width": 1600, "height": 900}
MIDDLE = {"width": 800, "height": 1000}
PHONE = {"width": 375, "height": 812}


@pytest.fixture
def gateway(shared_gateway: Gateway) -> Gateway:
    """A running gateway."""
    return shared_gateway


@pytest.fixture
def demonstration(ameles, tmp_path):
    """Starts a demonstration with a pattern of reads."""
    running = []

    def start(pattern: str) -> Demonstration:
        running.append(Demonstration(ameles, tmp_path, pattern))
        return running[-1]

    yield start
    for program in running:
        program.kill()


def link(gateway: Gateway | Demonstration) -> str:
    return gateway.page_link.read_text().strip()


def open_page(browser, gateway: Gateway | Demonstration) -> Page:
    context = browser.new_context(viewport=WIDE, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.problems.append(request.url) if not _is_local(request.url, gateway) else None)
    page.goto(link(gateway))
    expect(page.locator("#state")).to_have_text("live")
    return page


def _is_local(url: str, gateway: Gateway | Demonstration) -> bool:
    return url.startswith((f"http://127.0.0.1:{gateway.admin_port}/", "data:"))


def take_picture(page: Page, path: str) -> None:
    """Takes a picture of the whole page. It tries twice, because a busy browser sometimes fails once."""
    try:
        page.screenshot(path=path, full_page=True)
    except Error as error:
        if "Unable to capture screenshot" not in error.message:
            raise
        page.screenshot(path=path, full_page=True)


def check_layouts(page: Page, name: str, folder: Path) -> None:
    """Takes a picture at each width and in both themes. The page must fit the screen and have the theme's background."""
    pictures = Path(os.environ.get("AMELES_TEST_SCREENSHOTS", folder))
    for viewport in (WIDE, MIDDLE, PHONE):
        page.set_viewport_size(viewport)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            layout = f"{name}-{viewport['width']}-{scheme}"
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{layout} is wider than the screen"
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            light = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) > 382
            assert light == (scheme == "light"), layout
            take_picture(page, str(pictures / f"{layout}.png"))


INK = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 3; at < data.length; at += 4) count += data[at] > 0;
    return count;
}"""
"""Counts the painted pixels of a canvas."""


def make_requests(gateway: Gateway, bucket: str) -> None:
    s3 = gateway.endpoint.client()
    for number in range(4):
        s3.put_object(Bucket=bucket, Key=f"key {number}", Body=os.urandom(300_000))
        s3.get_object(Bucket=bucket, Key=f"key {number}")["Body"].read()


def test_requests_and_the_providers_view_appear_together(browser, gateway, bucket):
    page = open_page(browser, gateway)
    assert "token" not in page.url
    before = page.locator("#figures dd").all_inner_texts()
    make_requests(gateway, bucket)
    page.wait_for_function("() => document.querySelector('#costs td').textContent !== '0'")
    page.wait_for_function(f"() => ({INK})(document.querySelector('#asked')) > 0")
    page.wait_for_function(f"() => ({INK})(document.querySelector('#seen')) > 0")
    page.locator("#by-tree").click()
    page.locator("#by-names").click()
    page.wait_for_function(f"() => ({INK})(document.querySelector('#asked')) > 0")
    # Every cell of the tree has at least an outline.
    page.wait_for_function(f"() => ({INK})(document.querySelector('#seen')) > 1000")
    assert page.locator("#figures dd").all_inner_texts() != before
    *requests, ratio = page.locator("#costs tr").first.locator("td").all_inner_texts()
    with_ameles, without = (int(re.sub(r"\D", "", cell)) for cell in requests)
    assert with_ameles > 0 and without > 0
    assert float(ratio.removeprefix("× ").replace(",", "")) == pytest.approx(with_ameles / without, abs=0.051)
    assert page.problems == []


def test_a_page_that_is_opened_late_shows_the_last_minute_and_its_explanation(browser, gateway, bucket):
    make_requests(gateway, bucket)
    early = open_page(browser, gateway)
    early.wait_for_function(f"() => ({INK})(document.querySelector('#asked')) > 0")
    page = open_page(browser, gateway)
    # There are no more requests: the picture shows earlier ones.
    page.wait_for_function(f"() => ({INK})(document.querySelector('#asked')) > 0")
    for legend in ["read", "written", "both", "few", "many"]:
        assert legend in page.locator(".legend").inner_text()
    assert "a default" in page.locator("#prices").inner_text()
    for word in ["stash", "Trusted memory"]:
        assert word in page.locator("#meanings").inner_text()
    # The figure that the terminal shows, and what it does not count.
    stated = re.search(r"bytes moved +([\d.]+) per byte", gateway.log.read_text()).group(1)
    assert f"move {stated} bytes" in page.locator("#moved").inner_text()
    assert "Checkpoints" in page.locator("#moved").inner_text()
    assert "$" in page.locator("#costs tr").nth(2).inner_text()
    names = page.locator("#figures dt").all_inner_texts()
    assert "Latency, median" in names and "Latency, p99" in names
    assert page.problems == [] and early.problems == []


def test_it_fits_in_both_themes_and_at_each_width(browser, gateway, bucket, tmp_path):
    page = open_page(browser, gateway)
    make_requests(gateway, bucket)
    page.wait_for_function(f"() => ({INK})(document.querySelector('#seen')) > 0")
    check_layouts(page, "page", tmp_path)
    assert page.problems == []


def test_the_keyboard_does_what_the_buttons_do(browser, gateway):
    page = open_page(browser, gateway)
    page.keyboard.press("Space")
    expect(page.locator("#state")).to_have_text("paused")
    page.keyboard.press("Space")
    expect(page.locator("#state")).to_have_text("live")
    page.keyboard.press("v")
    expect(page.locator("#by-tree")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("b")
    expect(page.locator("#by-names")).to_have_attribute("aria-pressed", "true")
    theme = page.get_by_role("button", name="Dark theme")
    expect(theme).to_have_attribute("aria-pressed", "false")
    page.emulate_media(color_scheme="dark")
    expect(theme).to_have_attribute("aria-pressed", "true")
    page.emulate_media(color_scheme="light")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(theme).to_have_attribute("aria-pressed", "true")
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert reached == ["pause", "theme", "by-blocks", "by-names", "by-time", "by-tree"]
    page.keyboard.press("Enter")
    expect(page.locator("#by-tree")).to_have_attribute("aria-pressed", "true")
    assert page.problems == []


def test_scripts_cannot_read_the_cookie_and_a_browser_without_it_sees_nothing(browser, gateway):
    page = open_page(browser, gateway)
    assert page.evaluate("document.cookie") == ""
    other_page = browser.new_context().new_page()
    answer = other_page.goto(f"http://127.0.0.1:{gateway.admin_port}/page/")
    assert answer.status == 401
    # The public figures need no token, and contain only what the provider sees.
    public = urllib.request.urlopen(f"http://127.0.0.1:{gateway.admin_port}/metrics").read().decode()
    assert "trusted" not in public and "name" not in public
    renamed = urllib.request.Request(link(gateway), headers={"Host": f"evil.example:{gateway.admin_port}"})
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(renamed)
    assert refusal.value.code == 421


def test_an_open_page_says_that_the_gateway_does_not_answer_and_does_not_delay_its_stop(browser, new_gateway):
    gateway = new_gateway()
    gateway.start()
    page = open_page(browser, gateway)
    gateway.stop()
    expect(page.locator("#state")).to_have_text("the gateway does not answer")


PAGE_STATE = """() => new Promise(resolve => {
    const stream = new EventSource("/page/stream");
    stream.onmessage = event => { stream.close(); resolve(JSON.parse(event.data)); };
})"""
"""Returns the next message of the page's stream."""


def _growth(before: dict, after: dict) -> list[int]:
    return [now - then for now, then in zip(after["reads"], before["reads"])]


def test_the_switch_shows_the_pattern_of_requests_at_the_provider_and_hides_it_again(browser, demonstration):
    gateway = demonstration("quiet")
    page = open_page(browser, gateway)
    s3 = gateway.endpoint.client()

    def count_reads(objects: list[int]) -> tuple[list[int], list[int]]:
        before = page.evaluate(PAGE_STATE)
        for number in objects:
            s3.get_object(Bucket="demonstration", Key=f"object-{number:02}")["Body"].read()
        after = page.evaluate(PAGE_STATE)
        requested = _growth(before["requests"]["blocks"], after["requests"]["blocks"])
        return requested, _growth(before["store"]["whole"], after["store"]["whole"])

    switch = page.get_by_role("switch", name="Oblivious")
    expect(switch).to_be_checked()
    expect(page.locator("#bare")).to_be_hidden()
    reads = [3, 4, 5, 40, 40, 40, 40]
    pattern = [16 if cell in (3, 4, 5) else 64 if cell == 40 else 0 for cell in range(64)]
    requested, seen = count_reads(reads)
    assert requested == pattern
    assert max(seen) < sum(seen) / 2 and sum(cell > 0 for cell in seen) > 32

    switch.click()
    expect(page.locator("#bare")).to_be_visible()
    expect(page.locator("#with")).to_have_text("without the ORAM")
    expect(page.locator("#finding")).to_contain_text("Without the ORAM it is there")
    expect(page.locator("#switch-words")).to_contain_text("The ORAM is off")
    assert count_reads(reads) == (pattern, pattern)
    page.wait_for_function("() => document.querySelector('#costs td').textContent === '112'")
    assert page.locator("#costs tr").first.locator("td").all_inner_texts() == ["112"], "there must be one column without the ORAM"

    page.locator("body").click()
    page.keyboard.press("o")
    expect(page.locator("#bare")).to_be_hidden()
    expect(page.locator("#finding")).to_contain_text("With Ameles there is none")
    expect(page.locator("#switch-words")).to_contain_text("The ORAM is on")
    expect(switch).to_be_checked()
    requested, seen = count_reads(reads)
    assert requested == pattern and max(seen) < sum(seen) / 2
    assert page.problems == []
    gateway.stop()
    assert list(gateway.temporary.iterdir()) == [], "the demonstration left something behind"


def test_a_demonstration_fits_in_both_themes_and_at_each_width(browser, demonstration, tmp_path):
    page = open_page(browser, demonstration("sweep"))
    for state in ("on", "off"):
        if state == "off":
            page.get_by_role("switch", name="Oblivious").click()
            expect(page.locator("#bare")).to_be_visible()
        requests = "() => Number(document.querySelector('#costs td').textContent.replace(/,/g, '')) > 100"
        page.wait_for_function(requests)
        check_layouts(page, f"demonstration-{state}", tmp_path)
    assert page.problems == []


def test_an_ordinary_vault_shows_no_switch(browser, gateway):
    page = open_page(browser, gateway)
    page.wait_for_function("() => document.querySelector('#costs td')")
    expect(page.get_by_role("switch")).to_have_count(0)
    page.keyboard.press("o")
    assert page.evaluate("fetch('/page/oblivious', { method: 'POST', body: 'false' }).then(a => a.status)") == 409
