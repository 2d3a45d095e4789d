"""A static site, and pages of other sites: real clients put the files, and a real browser without a key opens them."""

from __future__ import annotations

import json
import struct
import urllib.error
import urllib.request
import uuid
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from programs import Gateway

from browser import serve_folder

SCRIPT = """
const list = document.querySelector("#pages");
for (const number of Array(PAGES).keys()) {
  const link = Object.assign(document.createElement("a"), { href: `pages/${number}.html`, textContent: `Page ${number}` });
  list.append(link, " ");
}
document.querySelector("h1").textContent = "The script has run";
"""

PAGES = 24

TYPES = {
    "index.html": "text/html",
    "style.css": "text/css",
    "script.js": ("text/javascript", "application/javascript"),
    "images/dot.png": "image/png",
    "data.json": "application/json",
}


def png(side: int) -> bytes:
    """A grey square."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\0" + b"\x80" * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A page with a stylesheet, a script, a picture, and links to many small pages."""
    files = {
        "index.html": '<!doctype html><title>A site</title><link rel="stylesheet" href="style.css">'
        '<script type="module" src="script.js"></script><link rel="icon" href="images/dot.png">'
        '<h1>Nothing has run</h1><img src="images/dot.png" alt="a dot"><p id="pages"></p>',
        "style.css": "h1 { color: rgb(11, 107, 93); }",
        "script.js": SCRIPT.replace("PAGES", str(PAGES)),
        "data.json": json.dumps({"is": "data"}),
    }
    files |= {f"pages/{number}.html": f"<!doctype html><title>{number}</title><link rel=icon href=\"data:,\"><h1>{number}</h1>" for number in range(PAGES)}
    folder = tmp_path / "site"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "images").mkdir()
    (folder / "images/dot.png").write_bytes(png(24))
    return folder


def open_page(browser, address: str) -> Page:
    page = browser.new_context().new_page()
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("response", lambda answer: page.problems.append(answer.url) if answer.status >= 400 else None)
    page.goto(address)
    return page


def check_site(browser, base: str) -> Page:
    """Checks that everything loads with its content type, and that the links lead to the other pages."""
    page = open_page(browser, f"{base}/index.html")
    expect(page.locator("h1")).to_have_text("The script has run")
    expect(page.locator("h1")).to_have_css("color", "rgb(11, 107, 93)")
    page.wait_for_function("() => document.querySelector('img').naturalWidth === 24")
    expect(page.locator("#pages a")).to_have_count(PAGES)
    page.get_by_text("Page 17", exact=True).click()
    expect(page.locator("h1")).to_have_text("17")
    page.go_back()
    expect(page.locator("h1")).to_have_text("The script has run")
    assert page.problems == []
    for name, kinds in TYPES.items():
        with urllib.request.urlopen(f"{base}/{name}") as answer:
            assert answer.headers.get_content_type() in kinds, name
    return page


def check_conditions(base: str) -> None:
    """Checks that a file in a browser's cache is confirmed and not sent again."""
    with urllib.request.urlopen(f"{base}/style.css") as answer:
        etag, modified = answer.headers["ETag"], answer.headers["Last-Modified"]
    for condition in ({"If-None-Match": etag}, {"If-Modified-Since": modified}):
        with pytest.raises(urllib.error.HTTPError) as unchanged:
            urllib.request.urlopen(urllib.request.Request(f"{base}/style.css", headers=condition))
        assert unchanged.value.code == 304 and unchanged.value.read() == b""
    with urllib.request.urlopen(urllib.request.Request(f"{base}/style.css", headers={"If-None-Match": '"x"'})) as answer:
        assert answer.status == 200


def refused(address: str) -> int:
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(address)
    return refusal.value.code


def test_a_site_is_public_over_s3(browser, shared_gateway: Gateway, s3, aws, site: Path):
    bucket = f"site-{uuid.uuid4().hex[:12]}"
    aws("s3api", "create-bucket", "--bucket", bucket, "--object-ownership", "BucketOwnerPreferred")
    aws("s3", "sync", "--acl", "public-read", "--cache-control", "no-cache", str(site), f"s3://{bucket}")
    base = f"{shared_gateway.endpoint.url}/{bucket}"
    page = check_site(browser, base)
    check_conditions(base)

    # Neither an object that is not public nor the list can be read.
    s3.put_object(Bucket=bucket, Key="draft.html", Body=b"not yet")
    assert refused(f"{base}/draft.html") == 403
    assert refused(f"{base}/") == 403

    # A sync puts the changed file, and the browser, which asks each time, shows it.
    (site / "script.js").write_text('document.querySelector("h1").textContent = "Changed";')
    output = aws("s3", "sync", "--acl", "public-read", "--cache-control", "no-cache", str(site), f"s3://{bucket}")
    assert [line for line in output.splitlines() if "upload:" in line][0].endswith(f"s3://{bucket}/script.js")
    page.reload()
    expect(page.locator("h1")).to_have_text("Changed")
    assert page.problems == []


def test_a_site_is_public_over_swift(browser, shared_gateway: Gateway, s3, rclone, site: Path):
    container = f"site-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=container)
    rclone("sync", str(site), f"ameles:{container}")
    base = f"{shared_gateway.swift.url}/v1/AUTH_ameles/{container}"
    assert refused(f"{base}/index.html") == 401
    shared_gateway.swift.connection().post_container(container, {"X-Container-Read": ".r:*"})
    check_site(browser, base)
    check_conditions(base)
    assert refused(base) == 401, "the list must not be public"


FETCH = """
async ([address, method, headers]) => {
  try {
    const answer = await fetch(address, { method, headers, body: method === "PUT" ? "from a page" : undefined });
    return [answer.status, answer.headers.get("etag"), await answer.text()];
  } catch (error) {
    return String(error);
  }
}
"""
"""Sends a request from a page, and returns what the browser lets the page see."""


@pytest.fixture
def pages(tmp_path: Path):
    """The addresses of two sites outside of the gateway, each with an empty page."""
    (tmp_path / "index.html").write_text("<!doctype html><title>Elsewhere</title><link rel=icon href='data:,'>")
    with serve_folder(tmp_path) as one, serve_folder(tmp_path) as other:
        yield one, other


def test_a_page_of_another_site_may_do_what_the_buckets_cors_rules_allow(browser, s3, bucket: str, pages):
    allowed, other = pages
    rule = {
        "AllowedOrigins": [allowed],
        "AllowedMethods": ["PUT", "GET"],
        "AllowedHeaders": ["x-amz-meta-*", "content-type"],
        "ExposeHeaders": ["ETag"],
    }
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [rule]})
    assert s3.get_bucket_cors(Bucket=bucket)["CORSRules"] == [rule]
    named = {"Bucket": bucket, "Key": "key"}
    put = s3.generate_presigned_url("put_object", Params=named | {"Metadata": {"mood": "calm"}})
    get = s3.generate_presigned_url("get_object", Params=named)
    headers = {"x-amz-meta-mood": "calm", "content-type": "text/plain"}

    page = browser.new_context().new_page()
    page.goto(allowed)
    status, etag, _ = page.evaluate(FETCH, [put, "PUT", headers])
    assert (status, etag) == (200, s3.head_object(**named)["ETag"])
    assert page.evaluate(FETCH, [get, "GET", {}]) == [200, etag, "from a page"]
    delete = s3.generate_presigned_url("delete_object", Params=named)
    assert page.evaluate(FETCH, [delete, "DELETE", {}]) == "TypeError: Failed to fetch"
    page.goto(other)
    assert page.evaluate(FETCH, [get, "GET", {}]) == "TypeError: Failed to fetch"
    assert s3.head_object(**named)["ETag"] == etag
