"""Original files: as they were sent, their pages as pictures, the lines of passages on them."""

from __future__ import annotations

import os
import struct

import pytest
from tests.indexing.office_files import draw_page, make_pdf, make_picture, make_zip, printed
from tests.service.serving import API, add_key, await_job, make_settings, open_client, upload

from knotwork._extensions.server import originals
from knotwork._extensions.server.server import ServerConfig
from knotwork._indexing.loaders.loader import can_recognise

pytestmark = pytest.mark.slow

NEW = f"{API}/workspaces/new"
LOWER = "The northern buoy was moored in 2019."
PAGES = [
    ["Survey of the northern basin", "", "It was led by Oriane Keld from the harbour."],
    [
        printed("The southern buoy drifted off in a storm, and was never", 300),
        printed("found again by anybody.", 286),
        printed(LOWER, 200),
    ],
]
PATTERN = (
    "<< /Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 90 90] "
    "/XStep 0.0001 /YStep 0.0001 /Resources << >> /Length 14 >>\nstream\n0 0 90 90 re f\nendstream"
)
"""A pattern that takes forever to fill a page."""


def tiled_pdf() -> bytes:
    """Return a PDF that is read at once and drawn never."""
    text = "BT /F1 12 Tf 72 720 Td (The keeper of the light is Ivo Brandt since 2004.) Tj ET"
    shown = f"{text} /Pattern cs /P1 scn 0 0 612 792 re f"
    used = "<< /Font << /F1 3 0 R >> /Pattern << /P1 6 0 R >> >>"
    page = f"/Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources {used}"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Type /Page {page} >>",
        f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        PATTERN,
    ]
    body = "".join(f"{n} 0 obj\n{o}\nendobj\n" for n, o in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body.encode() + b"trailer\n<< /Size 7 /Root 1 0 R >>\n%%EOF"


@pytest.fixture
def new(tmp_path):
    """A client of a server with one workspace, `new`, and some files in it."""
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        assert client.post(f"{API}/workspaces", json={"name": "new"}).status_code == 201
        yield client


def send(client, files, **options) -> dict[str, str]:
    """Index files, and return the addresses of their documents by name."""
    data = upload(client, "new", files, **options).json()["data"]
    assert await_job(client, "new", data["job"], **options)["report"]["skipped"] == []
    listed = client.get(f"{NEW}/documents", **options).json()["data"]["documents"]
    return {d["uri"].removeprefix("uploads/"): f"{NEW}/documents/{d['id']}" for d in listed}


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def boxes_of(client, address: str, passage: str) -> list[dict]:
    text = client.get(address).json()["data"]["text"]
    start = text.index(passage)
    asked = {"start": start, "end": start + len(passage)}
    return client.get(f"{address}/boxes", params=asked).json()["data"]["boxes"]


def test_a_file_comes_as_it_was_sent_whole_or_in_ranges(new):
    pdf = make_pdf(PAGES)
    address = send(new, {"plans/survey.pdf": pdf})["plans/survey.pdf"] + "/original"
    whole = new.get(address)
    assert whole.content == pdf
    assert whole.headers["content-type"] == "application/pdf"
    assert whole.headers["content-disposition"] == "attachment; filename*=utf-8''survey.pdf"
    assert whole.headers["cache-control"] == "private, no-cache"
    part = new.get(address, headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, pdf[5:10])
    assert part.headers["content-range"] == f"bytes 5-9/{len(pdf)}"
    assert new.get(address, headers={"Range": "bytes=-4"}).content == pdf[-4:]
    assert new.get(address, headers={"Range": f"bytes={len(pdf)}-"}).status_code == 416
    again = new.get(address, headers={"If-None-Match": whole.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_nothing_in_a_file_runs_on_the_server_s_pages(new):
    page = "<!doctype html><title>Lamps</title><p>Lamps are lit by Ivo.<script>alert(1)</script>"
    addresses = send(new, {"lamps.html": page, "日程 2024.md": "# 日程\n\n出差由王芳审批。"})
    shown = new.get(addresses["lamps.html"] + "/original")
    assert shown.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in shown.headers["content-security-policy"]
    assert shown.headers["x-content-type-options"] == "nosniff"
    named = new.get(addresses["日程 2024.md"] + "/original").headers["content-disposition"]
    assert named.startswith("attachment; filename*=utf-8''%E6%97%A5%E7%A8%8B")


def test_pages_are_drawn_as_wide_as_asked_and_not_again(new):
    address = send(new, {"survey.pdf": make_pdf(PAGES)})["survey.pdf"]
    assert new.get(address).json()["data"]["original"] == "pages"
    sizes = new.get(f"{address}/pages").json()["data"]["pages"]
    assert sizes == [{"width": 612.0, "height": 792.0}] * 2
    drawn = new.get(f"{address}/pages/2.png", params={"width": 612})
    assert drawn.headers["content-type"] == "image/png"
    assert size_of(drawn.content) == (612, 792)
    assert size_of(new.get(f"{address}/pages/1.png").content)[0] == 1000
    tag = drawn.headers["etag"]
    again = new.get(f"{address}/pages/2.png?width=612", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert new.get(f"{address}/pages/3.png").status_code == 404
    for wrong in ("pages/0.png", "pages/x.png", "pages/1.png?width=9", "pages/1.png?width=9999"):
        assert new.get(f"{address}/{wrong}").status_code == 422, wrong


def test_the_lines_of_a_passage_are_found_on_its_page(new):
    address = send(new, {"survey.pdf": make_pdf(PAGES)})["survey.pdf"]
    upper, lower = boxes_of(new, address, "storm, and was never found again")
    assert (upper["page"], lower["page"]) == (2, 2)
    assert upper["edges"][1] == pytest.approx((792 - 310) / 792, abs=0.01)
    assert upper["edges"][0] > 0.3 > lower["edges"][2]  # the end of a line, the start of the next
    assert lower["edges"][0] == pytest.approx(72 / 612, abs=0.01)
    across = boxes_of(new, address, new.get(address).json()["data"]["text"])
    assert [box["page"] for box in across] == [1, 1, 2, 2, 2]
    assert new.get(f"{address}/boxes", params={"start": 5, "end": 5}).status_code == 422
    far = new.get(f"{address}/boxes", params={"start": 10**6, "end": 10**6 + 9})
    assert far.json()["data"]["boxes"] == []


@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
def test_a_scan_is_shown_with_the_lines_that_were_recognised(new):
    lines = ["The keeper of the light was Ivo Brandt.", "He lived in the town of Marrow."]
    scan = make_picture(draw_page([(120, 200 + 60 * n, line) for n, line in enumerate(lines)]))
    address = send(new, {"scan.png": scan})["scan.png"]
    assert size_of(new.get(f"{address}/pages/1.png", params={"width": 620}).content) == (620, 877)
    (box,) = boxes_of(new, address, "town of Marrow")
    (above,) = boxes_of(new, address, "keeper of the light")
    assert box["page"] == 1
    assert above["edges"][3] <= box["edges"][1] + 0.01
    original = new.get(f"{address}/original")
    assert original.content == scan
    assert original.headers["content-type"] == "image/png"
    assert original.headers["content-disposition"].startswith("inline")


def test_a_file_in_an_archive_is_read_from_it(new):
    pdf = make_pdf(PAGES)
    addresses = send(new, {"plans.zip": make_zip({"a/survey.pdf": pdf})})
    address = addresses["plans.zip/a/survey.pdf"]
    part = new.get(f"{address}/original", headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"%PDF")
    assert size_of(new.get(f"{address}/pages/1.png").content)[0] == 1000


def test_what_is_not_there_as_it_was_indexed_is_not_served(new, tmp_path):
    (tmp_path / "secret.pdf").write_bytes(make_pdf(PAGES))
    names = ("changed.pdf", "gone.pdf", "linked.pdf", "notes.md")
    addresses = send(new, {n: make_pdf([[n, LOWER]]) for n in names[:3]} | {"notes.md": "# Notes"})
    folder = tmp_path / "new.files/uploads"
    (folder / "changed.pdf").write_bytes(make_pdf(PAGES))
    (folder / "gone.pdf").unlink()
    linked = folder / "linked.pdf"
    times = linked.stat()
    linked.rename(tmp_path / "moved.pdf")  # the same bytes and times, outside of the uploads
    linked.symlink_to(tmp_path / "moved.pdf")
    os.utime(linked, ns=(times.st_atime_ns, times.st_mtime_ns))
    for name, reason in zip(names, ("changed", "no longer", "no longer", "no pages"), strict=True):
        for part in ("pages", "pages/1.png", "boxes?start=0&end=3"):
            response = new.get(f"{addresses[name]}/{part}")
            assert response.status_code == 404, (name, part)
            assert reason in response.json()["error"]["message"]
        assert new.get(addresses[name]).json()["data"]["original"] in ("", "file")
    assert new.get(f"{addresses['linked.pdf']}/original").status_code == 404
    assert new.get(f"{addresses['notes.md']}/original").text == "# Notes"
    assert new.get(f"{NEW}/documents/0123456789abcdef/original").status_code == 404


def test_a_document_that_was_not_read_from_a_file_has_no_original(client):
    listed = client.get(f"{API}/workspaces/open/documents").json()["data"]["documents"]
    assert listed
    address = f"{API}/workspaces/open/documents/{listed[0]['id']}"
    shown = client.get(address).json()["data"]
    found = client.get(f"{address}/original")
    assert (found.status_code == 200) == (shown["original"] == "file")


def test_originals_need_a_key_that_may_read_the_document(tmp_path):
    place = ServerConfig(tmp_path, make_settings())
    writer = {"headers": add_key(place, "writer", "admin", "new")}
    other = add_key(place, "other", "read", "elsewhere")
    with open_client(place) as client:
        client.post(f"{API}/workspaces", json={"name": "new"}, **writer)
        address = send(client, {"survey.pdf": make_pdf(PAGES)}, **writer)["survey.pdf"]
        for part in ("original", "pages", "pages/1.png", "boxes?start=0&end=3"):
            assert client.get(f"{address}/{part}").status_code == 401
            assert client.get(f"{address}/{part}", headers=other).status_code == 404
            assert client.get(f"{address}/{part}", **writer).status_code == 200


def test_a_page_that_never_ends_costs_its_picture_alone(new, monkeypatch):
    monkeypatch.setattr(originals, "_SECONDS", 1.0)
    addresses = send(new, {"tiled.pdf": tiled_pdf(), "survey.pdf": make_pdf(PAGES)})
    refused = new.get(f"{addresses['tiled.pdf']}/pages/1.png")
    assert refused.status_code == 422
    assert "too much time" in refused.json()["error"]["message"]
    assert "Ivo Brandt" in new.get(addresses["tiled.pdf"]).json()["data"]["text"]
    assert new.get(f"{addresses['survey.pdf']}/pages/1.png").status_code == 200
