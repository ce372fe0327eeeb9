"""Archives are indexed as folders, within limits, and hostile ones are refused with the reason."""

import bz2
import gzip
import io
import lzma
import os
import random
import stat
import tarfile
import tempfile
import time
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.office_files import make_docx

import knotwork
from knotwork._extensions.archives.listing import list_archive
from knotwork._indexing.archives import ArchivedFile, ArchiveLimits
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.sources import discover
from knotwork.errors import IndexingError, LoadError

pytestmark = pytest.mark.slow

TEXTS = {"a.md": b"The stone bridge opened in 1784.", "sub/b.txt": b"The toll is one crown."}
DEFLATE = zipfile.ZIP_DEFLATED


def make_zip(files, *, method=DEFLATE):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name) if isinstance(name, str) else name
            archive.writestr(info, data, method)
    return held.getvalue()


def make_tar(files, mode="w"):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:
        for name, data in files.items():
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


MAKERS = {
    "a.zip": make_zip,
    "a.tar": make_tar,
    "a.tar.gz": lambda files: make_tar(files, "w:gz"),
    "a.TGZ": lambda files: make_tar(files, "w:gz"),
    "a.tar.bz2": lambda files: make_tar(files, "w:bz2"),
    "a.tar.xz": lambda files: make_tar(files, "w:xz"),
}


def put(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def read_all(path, **options):
    """Return the texts of all files by uri, or the errors in their place."""
    found = {}
    with tempfile.TemporaryDirectory() as unpacked:
        for source in discover([path], **options):
            file = source.path
            if isinstance(file, ArchivedFile):
                file = replace(file, kept_in=unpacked)
            try:
                found[source.uri] = load_file(file, uri=source.uri).text
            except LoadError as error:
                found[source.uri] = error
    return found


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def kb(tmp_path):
    with knotwork.open(tmp_path / "i.knot", embedding_model="none", index_workers=0) as opened:
        yield opened


def counts(report):
    removed, failed = len(report.removed), len(report.failures)
    return (report.added, report.changed, removed, report.unchanged, failed)


@pytest.mark.parametrize("name", MAKERS)
def test_an_archive_is_a_folder(docs, name):
    put(docs, name, MAKERS[name](TEXTS))
    assert read_all(docs) == {f"docs/{name}/{n}": data.decode() for n, data in TEXTS.items()}
    assert list(read_all(docs / name)) == [f"{name}/{inner}" for inner in TEXTS]


@pytest.mark.parametrize("outer", MAKERS)
@pytest.mark.parametrize("inner", ["a.zip", "a.tar.gz"])
def test_an_archive_in_an_archive_is_a_folder(docs, kb, outer, inner):
    put(docs, outer, MAKERS[outer]({f"deep/{inner}": MAKERS[inner](TEXTS), "c.md": b"Top."}))
    expected = [f"docs/{outer}/c.md", *(f"docs/{outer}/deep/{inner}/{n}" for n in TEXTS)]
    assert list(read_all(docs)) == expected
    kb.index(docs)
    assert [entry.uri for entry in kb.documents()] == expected
    assert not any(entry.error for entry in kb.documents())


def test_a_document_in_a_zip_file_stays_a_document(docs):
    put(docs, "letter.zip", make_docx(lambda d: d.add_paragraph("Dear Ada.")))
    assert read_all(docs) == {"docs/letter.zip": "Dear Ada."}


def test_patterns_and_hidden_names_hold_inside(docs):
    names = ["x.md", "x.txt", ".git/y.md", "d/.z.md", "__MACOSX/x.md", "node_modules/p.md"]
    put(docs, "a.zip", make_zip({name: name.encode() for name in names}))
    assert list(read_all(docs)) == ["docs/a.zip/x.md", "docs/a.zip/x.txt"]
    assert list(read_all(docs, include=["*.md"])) == ["docs/a.zip/x.md"]
    assert list(read_all(docs, exclude=["*.txt"])) == ["docs/a.zip/x.md"]
    assert list(read_all(docs, exclude=["a.zip/x.md"])) == ["docs/a.zip/x.txt"]
    assert list(read_all(docs, exclude=["*.zip"])) == []
    put(docs, ".knotignore", b"x.txt\n")
    assert list(read_all(docs)) == ["docs/a.zip/x.md"]


@pytest.mark.parametrize("name", MAKERS)
def test_an_unchanged_archive_is_not_read_again(docs, kb, name):
    path = put(docs, name, MAKERS[name](TEXTS))
    assert counts(kb.index(docs)) == (2, 0, 0, 0, 0)
    assert counts(kb.index(docs)) == (0, 0, 0, 2, 0)
    data = path.read_bytes()
    path.unlink()
    put(docs, name, data)
    os.utime(path, (1, 1))
    assert counts(kb.index(docs)) == (0, 0, 0, 2, 0)


@pytest.mark.parametrize("name", MAKERS)
def test_inner_files_come_change_and_go(docs, kb, name):
    put(docs, name, MAKERS[name](TEXTS))
    kb.index(docs)
    put(docs, name, MAKERS[name]({"a.md": b"The bridge opened in 1790.", "n.md": b"New."}))
    assert counts(kb.index(docs)) == (1, 1, 1, 0, 0)
    assert "1790" in kb.ask("When did the bridge open?").text
    (docs / name).unlink()
    assert counts(kb.index(docs)) == (0, 0, 2, 0, 0)


def test_a_named_archive_is_covered_as_a_folder(docs, kb):
    path = put(docs, "a.zip", make_zip(TEXTS))
    kb.index(path)
    assert [e.uri for e in kb.documents()] == ["a.zip/a.md", "a.zip/sub/b.txt"]
    put(docs, "a.zip", make_zip({"a.md": TEXTS["a.md"]}))
    assert counts(kb.index(path)) == (0, 0, 1, 1, 0)


def test_a_file_in_an_archive_can_be_named(docs, kb):
    put(docs, "a.zip", make_zip(TEXTS))
    kb.index(docs)
    assert counts(kb.index(docs / "a.zip" / "sub")) == (0, 0, 0, 1, 0)
    assert counts(kb.index(docs / "a.zip" / "a.md")) == (0, 0, 0, 1, 0)
    put(docs, "a.zip", make_zip({**TEXTS, "sub/c.md": b"See."}))
    assert counts(kb.index(docs / "a.zip" / "sub")) == (1, 0, 0, 1, 0)
    assert counts(kb.index(docs)) == (0, 0, 0, 3, 0)
    with pytest.raises(IndexingError, match="does not exist"):
        kb.index(docs / "a.zip" / "none.md")


def test_a_glob_removes_only_from_archives_that_it_matches(docs, kb):
    put(docs, "a.zip", make_zip(TEXTS))
    put(docs, "n.md", b"Note.")
    kb.index(docs)
    assert counts(kb.index(f"{docs}/*.md")) == (0, 0, 0, 1, 0)
    put(docs, "a.zip", make_zip({"a.md": TEXTS["a.md"]}))
    assert counts(kb.index(f"{docs}/*.zip")) == (0, 0, 1, 1, 0)


@pytest.mark.parametrize("damage", ["cut", "empty", "noise"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_damaged_archive_loses_nothing(docs, kb, name, damage):
    big = b"Stone. " + random.Random(1).randbytes(9_000).hex().encode()
    data = MAKERS[name]({**TEXTS, "big.txt": big})
    path = put(docs, name, data)
    kb.index(docs)
    noise = random.Random(2).randbytes(400)
    damaged = {"cut": data[: len(data) // 2], "empty": b"", "noise": noise + data[400:-400] + noise}
    path.write_bytes(damaged[damage])
    report = kb.index(docs)
    assert report.removed == ()
    assert [failure.uri for failure in report.failures] == [f"docs/{name}"]
    assert sum(not entry.error for entry in kb.documents()) == 3
    path.write_bytes(data)
    repaired = kb.index(docs)
    assert (repaired.unchanged, repaired.failures) == (3, ())


def refused(docs, name, data, **limits):
    """Return the only failure of an archive, which must be refused without much work."""
    path = put(docs, name, data)
    started = time.process_time()
    found = read_all(path, archives=ArchiveLimits(**limits))
    assert time.process_time() - started < 20
    (error,) = [value for value in found.values() if isinstance(value, LoadError)]
    assert name in error.message
    return error


def special(kind, linkname=""):
    info = tarfile.TarInfo("odd.md")
    info.type, info.linkname = kind, linkname
    return info


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE]
)
def test_links_and_devices_are_refused_alone(docs, kind):
    data = make_tar({special(kind, "/etc/passwd"): b"", **TEXTS})
    error = refused(docs, "a.tar", data)
    assert (error.reason, "is a link or a device" in error.message) == ("not_a_file", True)
    assert sum(isinstance(v, str) for v in read_all(docs).values()) == 2


def test_a_hard_link_inside_is_the_file(docs):
    data = make_tar({"a.md": b"Text.", special(tarfile.LNKTYPE, "a.md"): b""})
    put(docs, "a.tar.gz", gzip.compress(data))
    assert read_all(docs) == {"docs/a.tar.gz/a.md": "Text.", "docs/a.tar.gz/odd.md": "Text."}


def test_a_link_in_a_zip_file_is_refused(docs):
    info = zipfile.ZipInfo("odd.md")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert refused(docs, "a.zip", make_zip({info: b"/etc/passwd", **TEXTS})).reason == "not_a_file"


@pytest.mark.parametrize("name", ["../x.md", "a/../../x.md", "/etc/x.md", "C:\\x.md", "..\\x.md"])
@pytest.mark.parametrize("archive", ["a.zip", "a.tar.gz"])
def test_names_that_lead_out_are_refused(docs, archive, name):
    error = refused(docs, archive, MAKERS[archive]({name: b"x", **TEXTS}))
    assert (error.reason, "leads out of the archive" in error.message) == ("broken", True)


def test_encrypted_files_are_refused_alone(docs):
    data = bytearray(make_zip(TEXTS))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    error = refused(docs, "a.zip", bytes(data))
    assert (error.reason, "is encrypted" in error.message) == ("password", True)
    assert sum(isinstance(v, str) for v in read_all(docs).values()) == 1


def test_bombs_are_refused(docs):
    zeros = bytes(30_000_000)
    assert refused(docs, "a.zip", make_zip({"x.txt": zeros})).reason == "too_large"
    for name in ("a.tar.gz", "a.tar.bz2", "a.tar.xz"):
        assert "times as much" in refused(docs, name, MAKERS[name]({"x.txt": zeros})).message


def test_a_zip_file_that_lies_about_its_sizes_is_not_read_past_them(docs):
    data = bytearray(make_zip({"x.txt": b"word " * 2_000_000}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = data.index(mark) + offset
        data[start : start + 4] = (100).to_bytes(4, "little")
    assert refused(docs, "a.zip", bytes(data)).reason == "broken"


def test_nested_bombs_are_refused(docs):
    data = make_zip({f"{n}.txt": bytes(4_000_000) for n in range(5)})
    for _ in range(2):
        data = make_zip({f"{n}.zip": data for n in range(16)})
    put(docs, "bomb.zip", data)
    started = time.process_time()
    found = read_all(docs, archives=ArchiveLimits(max_mb=100))
    assert time.process_time() - started < 20
    assert any(isinstance(v, LoadError) and v.reason == "too_large" for v in found.values())
    assert sum(len(v) for v in found.values() if isinstance(v, str)) <= 100_000_000


def test_archives_in_archives_have_a_depth(docs):
    data = make_zip({"a.md": b"Deep."})
    for level in range(2):
        data = make_zip({f"{level}.zip": data})
    put(docs, "three.zip", data)
    assert list(read_all(docs / "three.zip").values()) == ["Deep."]
    assert "3 archives" in refused(docs, "four.zip", make_zip({"x.zip": data})).message


def test_limits_of_settings_are_named(docs):
    files = {f"{n}.txt": b"x" * 2_000 for n in range(30)}
    for name in ("a.zip", "a.tar"):
        assert "max_archive_files" in refused(docs, name, MAKERS[name](files), max_files=20).fix
        assert "max_archive_mb" in refused(docs, name, MAKERS[name](files), max_mb=0.05).fix
    (docs / "a.tar").unlink()
    assert len(read_all(docs, archives=ArchiveLimits(max_files=30, max_mb=0.06))) == 30


@pytest.mark.parametrize("large", ["big.txt", "big.zip"])
def test_a_large_file_in_an_archive_is_refused_alone(docs, tmp_path, large):
    data = make_zip({large: b"word " * 1_000, **TEXTS}, method=zipfile.ZIP_STORED)
    put(docs, "a.zip", data)
    options = {"embedding_model": "none", "index_workers": 0, "index_max_file_mb": 0.001}
    with knotwork.open(tmp_path / "j.knot", **options) as kb:
        report = kb.index(docs)
    assert (report.added, [f.reason for f in report.failures]) == (2, ["too_large"])


def test_a_damaged_archive_in_an_archive_is_refused_alone(docs):
    inner = make_zip({"x.md": b"word " * 50})
    error = refused(docs, "a.zip", make_zip({"in.zip": inner[:80], **TEXTS}))
    assert error.reason == "broken"
    assert sum(isinstance(v, str) for v in read_all(docs).values()) == 2


def test_an_archive_without_permission_is_reported(docs, monkeypatch):
    put(docs, "a.zip", make_zip(TEXTS))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("knotwork._extensions.archives.listing.list_archive", refuse)
    (source,) = discover([docs])
    assert source.uri == "docs/a.zip"


def test_names_of_chinese_programs_are_read(docs):
    data = make_zip({"XXXX.md": b"Text."}).replace(b"XXXX", "石桥".encode("gb18030"))
    put(docs, "a.zip", data)
    assert list(read_all(docs)) == ["docs/a.zip/石桥.md"]


def test_a_name_that_is_not_text_is_stored(docs, kb):
    data = make_tar({"XXXX.md": b"Text."}).replace(b"XXXX", b"\xff\xfe\x80\x81")
    header = bytearray(data[:512])
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    put(docs, "a.tar", bytes(header) + data[512:])
    assert kb.index(docs).added == 1


def test_a_changed_archive_is_not_read_by_old_positions(docs):
    path = put(docs, "a.tar", make_tar(TEXTS))
    sources = list(discover([docs]))
    path.write_bytes(make_tar({f"{n}.md": b"Other." for n in range(20)}))
    with pytest.raises(LoadError, match="changed while it was read"):
        load_file(sources[0].path, uri=sources[0].uri)


def test_a_later_file_of_a_name_replaces_the_earlier(docs):
    with tarfile.open(put(docs, "a.tar", b""), "w") as archive:
        for data in (b"Old.", b"New."):
            info = tarfile.TarInfo("a.md")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert read_all(docs) == {"docs/a.tar/a.md": "New."}


def test_several_streams_are_one(docs):
    data = make_tar({"a.md": b"Text.", "b.md": b"More."})
    for name, module in (("a.tar.gz", gzip), ("a.tar.bz2", bz2), ("a.tar.xz", lzma)):
        put(docs, name, module.compress(data[:700]) + module.compress(data[700:]))
        assert list(read_all(docs / name).values()) == ["Text.", "More."]


def test_a_huge_header_is_refused(docs):
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.XHDTYPE, 10**9
    assert refused(docs, "a.tar", info.tobuf() + bytes(1_000)).reason == "broken"


def test_kept_copies_are_deleted(docs, kb, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    put(docs, "a.tar.gz", make_tar({"in.zip": make_zip(TEXTS)}, "w:gz"))
    assert kb.index(docs).added == 2
    assert not list(tmp_path.glob("knotwork-pages-*"))


def test_workers_read_archives(docs, tmp_path):
    put(docs, "a.tar.gz", make_tar({f"{n}.md": f"Text {n}.".encode() for n in range(40)}, "w:gz"))
    with knotwork.open(tmp_path / "w.knot", embedding_model="none", index_workers=2) as kb:
        assert kb.index(docs).added == 40


@given(st.data())
def test_any_bytes_are_listed_or_refused(tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(MAKERS)))
    good = bytearray(MAKERS[name]({**TEXTS, "in.zip": make_zip(TEXTS)}))
    for _ in range(data.draw(st.integers(1, 6))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(bytes(good[: data.draw(st.integers(0, len(good)))]))
    try:
        members = list_archive(path, name, ArchiveLimits()) or []
    except LoadError as error:
        members, reasons = [], {error.reason}
    else:
        reasons = {member.refusal.reason for member in members if member.refusal}
    assert reasons <= {"broken", "too_large", "unsupported", "password", "not_a_file"}
    assert all(".." not in member.parts for member in members)
