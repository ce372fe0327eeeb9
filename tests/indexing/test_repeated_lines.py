"""Lines that a site repeats are not indexed, in whatever order its pages came and went."""

import os
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.pipeline_fakes import make_stages
from tests.indexing.snapshots import snapshot

from knotwork._config import IndexSettings
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.commit import remove_sources
from knotwork._indexing.loaders.boilerplate import edge_line_keys, remove_boilerplate
from knotwork._indexing.loaders.loader import Content
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.sources import select_entries, select_files, store_roots
from knotwork._stores.urls import open_store
from knotwork.records import Block, BlockKind, Span

pytestmark = pytest.mark.slow


ABOVE = """
<div class="top"><a href="/">Acme</a> | <a href="/docs">Documentation</a></div>
<div>We use cookies to remember your settings. <a href="/c">Read more</a></div>
<div class="side"><h3>Contents</h3><ul>
<li><a href="/install">Installation</a></li><li><a href="/use">First steps</a></li></ul></div>
"""
BELOW = """
<div><a href="/bugs">Report a bug in this page</a></div>
<div><h3>Support us</h3><p>Acme is made by volunteers. Your donation keeps it going.</p></div>
<div>© 2026 The Acme Collective</div>
"""
ABOVE_ZH = '<div>本站使用 Cookie 记住您的设置。</div><div><a href="/">首页</a></div>'
BELOW_ZH = '<div><a href="/edit">在 GitHub 上编辑此页</a></div><div>版权所有 © 极致公司</div>'


def page(title, body, *, above="", behind_title="", below=""):
    return (
        f"<html><head><title>{title}</title></head><body>{above}<h1>{title}</h1>"
        f"{behind_title}{body}{below}</body></html>"
    )


def body(number):
    """Text that no two pages share, longer than the edge of a page."""
    words = " ".join(f"word{number}x{i}" for i in range(60))
    return f"<p>Ada meets Bo in room {number}. {words}.</p><p>Cleo calls Dai number {number}.</p>"


def write(folder, pages):
    """Make a folder hold these pages and no others; the time of a file follows from its text."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if str(path.relative_to(folder)) not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            stamp = int.from_bytes(text.encode()[-6:], "big") + len(text)
            os.utime(path, ns=(stamp, stamp))


def index(store, *paths):
    selection = select_files(store, paths, IndexSettings())
    store_roots(store, selection.roots)
    pipeline = IndexingRun(store, make_stages(HashingEmbedder(16)))
    return pipeline.update(selection.files, covers=selection.covers)


def bare(pages):
    """Return the documents of pages as they are by themselves."""
    return {f"site/{n}": load_file(t.encode(), uri=f"site/{n}") for n, t in pages.items()}


def stored(store):
    return {d.uri: d for d in store.documents.documents(store.documents.document_ids()).values()}


def texts(store):
    return {uri: document.text for uri, document in stored(store).items()}


def index_site(tmp_path, pages):
    """Return a new index of the folder `site`, made to hold these pages."""
    write(tmp_path / "site", pages)
    store = open_store("memory:")
    return store, index(store, tmp_path / "site")


SITES = {
    "English": {"above": ABOVE, "below": BELOW},
    "Chinese": {"above": ABOVE_ZH, "below": BELOW_ZH},
    "behind the title": {
        "behind_title": '<p><a href="/e">Edit this page</a></p><p>This is the manual of 2.0.</p>',
    },
}


@pytest.mark.parametrize("furniture", SITES.values(), ids=SITES)
def test_pages_are_indexed_as_if_the_site_repeated_nothing(tmp_path, furniture):
    pages = {f"{n}.html": page(f"Page {n}", body(n), **furniture) for n in range(8)}

    store, report = index_site(tmp_path, pages)

    assert report.added == 8
    assert stored(store) == bare({f"{n}.html": page(f"Page {n}", body(n)) for n in range(8)})


def test_links_to_other_pages_do_not_hide_the_text_above_them(tmp_path):
    pages = {
        f"{n}.html": page(
            f"Page {n}", body(n), below=f'{BELOW}<a href="/{n}">The page behind page {n}</a>'
        )
        for n in range(8)
    }
    store, _ = index_site(tmp_path, pages)
    assert not any("volunteers" in text for text in texts(store).values())
    assert all("The page behind" in text for text in texts(store).values())


CONTENT = {
    "headings": "<h2>Description</h2><p>It is {n}.</p><h2>See also</h2><p>Page {n}.</p>",
    "a table": "<table><tr><th>Option</th><th>Default</th></tr><tr><td>level</td><td>3</td></tr>"
    "<tr><td>name</td><td>{n}</td></tr></table>",
    "a definition": "<dl><dt>exit code</dt><dd>Zero if all went well.</dd></dl>",
    "a lead": "<p>To use this command:</p><ul><li>Choose menu {n}.</li></ul>",
    "a label": "<p>Date {n}</p><p><b>Attendees</b></p><p>Ada {n}</p>",
    "code": "<pre>import acme\n\nacme.start()</pre>",
}


@pytest.mark.parametrize("content", CONTENT.values(), ids=CONTENT)
def test_content_that_all_pages_share_stays(tmp_path, content):
    pages = {f"{n}.html": page(f"Page {n}", content.replace("{n}", f"x{n}")) for n in range(8)}
    store, _ = index_site(tmp_path, pages)
    assert stored(store) == bare(pages)


def test_a_label_below_the_title_that_all_pages_have_stays(tmp_path):
    pages = {f"{n}.html": page("Minutes", f"<p>Attendees</p><p>Ada {n}</p>") for n in range(8)}
    store, _ = index_site(tmp_path, pages)
    assert stored(store) == bare(pages)


def test_text_repeated_on_a_few_pages_is_kept(tmp_path):
    warning = "<p>Warning: this command deletes files.</p>"
    pages = {
        f"{n}.html": page(f"Page {n}", body(n), behind_title=warning if n < 7 else "")
        for n in range(10)
    }
    store, _ = index_site(tmp_path, pages)
    assert stored(store) == bare(pages)


def test_documents_made_from_one_template_keep_its_clauses(tmp_path):
    clauses = "".join(
        f"<p>Clause {i}: the tenant shall keep the premises in good order and repair.</p>"
        for i in range(20)
    )
    pages = {
        f"{n}.html": page("Lease", f"<p>Between Acme and Tenant {n}.</p>{clauses}")
        for n in range(8)
    }
    store, _ = index_site(tmp_path, pages)
    assert all("Clause 0" in text and "Clause 19" in text for text in texts(store).values())


def test_a_page_that_has_nothing_of_its_own_stays_whole(tmp_path):
    pages = {f"{n}.html": page("Moved", "<p>This page has moved.</p>") for n in range(6)}
    store, report = index_site(tmp_path, pages)
    assert not report.failures
    assert stored(store) == bare(pages)


def test_four_pages_are_no_site(tmp_path):
    pages = {f"{n}.html": page(f"Page {n}", body(n), above=ABOVE, below=BELOW) for n in range(4)}
    store, _ = index_site(tmp_path, pages)
    assert stored(store) == bare(pages)


def test_sites_in_one_folder_have_their_own_lines(tmp_path):
    english = {f"en/{n}.html": page(f"Page {n}", body(n), below=BELOW) for n in range(6)}
    chinese = {f"zh/a/{n}.html": page(f"Page {n}", body(n), below=BELOW_ZH) for n in range(3)}
    chinese |= {f"zh/b/{n}.html": page(f"Page {n}", body(n), below=BELOW_ZH) for n in range(3)}
    store, _ = index_site(tmp_path, english | chinese)
    everything = "\n".join(texts(store).values())
    assert "Report a bug" not in everything
    assert "编辑" not in everything


def test_a_page_alone_is_read_when_it_changes_and_what_repeats_does_not(tmp_path):
    site = tmp_path / "site"
    pages = {f"{n}.html": page(f"Page {n}", body(n), below=BELOW) for n in range(9)}
    store, _ = index_site(tmp_path, pages)

    assert index(store, site).unchanged == 9
    write(site, pages | {"9.html": page("Page 9", body(9), below=BELOW)})
    report = index(store, site)
    assert (report.added, report.changed, report.unchanged) == (1, 0, 9)
    write(site, pages | {"8.html": page("Page 8", body(80), below=BELOW)})
    report = index(store, site)
    assert (report.changed, report.unchanged, len(report.removed)) == (1, 8, 1)


def test_pages_edited_without_a_change_of_size_and_time_count_with_their_new_lines(tmp_path):
    site = tmp_path / "site"
    store, _ = index_site(
        tmp_path, {f"{n}.html": page(f"Page {n}", body(n), below=BELOW) for n in range(6)}
    )
    times = {path: path.stat().st_mtime_ns for path in site.iterdir()}
    new = BELOW.replace("Report", "Mentor")
    write(site, {f"{n}.html": page(f"Page {n}", body(n), below=new) for n in range(6)})
    for path, modified_ns in times.items():
        os.utime(path, ns=(modified_ns, modified_ns))

    index(store, site)
    fresh = open_store("memory:")
    index(fresh, site)
    assert texts(store) == texts(fresh)
    assert [(e.edge_keys, e.repeated) for e in store.ledger.entries()] == [
        (e.edge_keys, e.repeated) for e in fresh.ledger.entries()
    ]


def test_all_pages_are_read_again_when_what_repeats_changes(tmp_path):
    site = tmp_path / "site"
    pages = {f"{n}.html": page(f"Page {n}", body(n), below=BELOW) for n in range(5)}
    write(site, {name: pages[name] for name in list(pages)[:4]})
    store = open_store("memory:")
    index(store, site)
    write(site, pages)

    report = index(store, site / "4.html")  # the fifth makes them a site

    assert (report.added, report.changed) == (1, 4)
    assert not any("volunteers" in text for text in texts(store).values())


def test_pages_get_their_lines_back_by_the_run_after_others_were_deleted(tmp_path):
    site = tmp_path / "site"
    pages = {f"{n}.html": page(f"Page {n}", body(n), below=BELOW) for n in range(5)}
    store, _ = index_site(tmp_path, pages)
    (site / "4.html").unlink()
    remove_sources(store, select_entries(store, ["site/4.html"]))
    del pages["4.html"]

    assert index(store, site / "0.html").changed == 4
    assert stored(store) == bare(pages)


def test_an_index_from_before_is_brought_up_to_date(tmp_path):
    site = tmp_path / "site"
    pages = {f"{n}.html": page(f"Page {n}", body(n)) for n in range(6)}
    store, _ = index_site(tmp_path, pages)
    now = snapshot(store)
    store.ledger.put([replace(e, edge_keys=b"", repeated="") for e in store.ledger.entries()])

    assert index(store, site).unchanged == 6
    assert snapshot(store) == now


def test_a_page_that_cannot_be_read_today_counts_as_it_was(tmp_path):
    site = tmp_path / "site"
    pages = {f"{n}.html": page(f"Page {n}", body(n), below=BELOW) for n in range(5)}
    store, _ = index_site(tmp_path, pages)
    before = texts(store)
    (site / "0.html").write_bytes(b"")

    report = index(store, site)

    assert [failure.kept for failure in report.failures] == [True]
    assert report.changed == 0
    assert texts(store) == before


LINES = (
    '<p><a href="/x">Report a bug</a></p>',
    "<p>Acme is made by volunteers.</p>",
    "<div>© Acme</div>",
    "<h2>Support</h2><p>Write to us.</p>",
    "<div>在 GitHub 上编辑此页</div>",
)


def change(pages, random_):
    """Change a few pages: add, remove, rewrite, or change what the site repeats."""
    pages = dict(pages)
    for _ in range(random_.randint(1, 5)):
        name = f"{random_.choice(['', 'a/', 'a/b/'])}{random_.randrange(6)}.html"
        match random_.randrange(4):
            case 0:
                pages.pop(name, None)
            case 1 | 2:
                below = "".join(line for line in LINES if random_.random() < 0.9)
                pages[name] = page(name, body(random_.randrange(40)), below=below)
            case 3:
                line = random_.choice(LINES)
                pages = {name: text.replace(line, "") for name, text in pages.items()}
    return pages


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(3, 20))]
)
def test_any_history_of_a_site_equals_a_fresh_build(tmp_path, seed):
    random_ = random.Random(seed)
    store = open_store(str(tmp_path / "index.knot"), create=True)
    pages = {
        f"{folder}{n}.html": page(f"Page {n}", body(n), below="".join(LINES))
        for folder in ("", "a/")
        for n in range(4)
    }
    removed = 0
    for _ in range(5):
        write(tmp_path / "site", pages)
        index(store, tmp_path / "site")
        removed += sum("volunteers" in text for text in pages.values())
        removed -= sum("volunteers" in text for text in texts(store).values())
        fresh, _ = index_site(tmp_path, pages)
        assert snapshot(store) == snapshot(fresh)
        pages = change(pages, random_)
    assert removed
    store.close()


texts_of_lines = st.lists(
    st.sampled_from(["Acme", "Report a bug.", "  code", "See:", "own text", "中文。", "- item"]),
    min_size=1,
    max_size=12,
)


@given(texts_of_lines, st.data())
def test_kept_parts_are_unchanged(lines, data):
    gaps = [data.draw(st.sampled_from(["\n", "\n\n", "\n\n\n"])) for _ in lines]
    text, spans = "", []
    for line, gap in zip(lines, gaps, strict=True):
        spans.append(Span(len(text), len(text) + len(line)))
        text += line + gap
    chosen = data.draw(st.lists(st.sampled_from(spans), unique=True))
    content = Content(
        text,
        "text/html",
        blocks=(
            *(Block(BlockKind.SECTION, s, text[slice(*s)], level=1) for s in sorted(chosen)),
            *(Block(BlockKind.LIST, Span(s.start, spans[-1].end), lead="x") for s in chosen),
        ),
        link_lines=tuple(data.draw(st.lists(st.sampled_from(spans), unique=True))),
    )
    keys = data.draw(st.lists(st.sampled_from([0, *edge_line_keys(content)])))

    left = remove_boilerplate(content, keys)

    kept = iter(line for line in text.split("\n") if line.strip())
    assert all(line in kept for line in left.text.split("\n") if line.strip())
    assert all(left.text[slice(*block.span)].strip() for block in left.blocks)
    sections = [block for block in left.blocks if block.kind is BlockKind.SECTION]
    assert all(left.text[slice(*block.span)] == block.label for block in sections)
    assert remove_boilerplate(content, ()) == content
