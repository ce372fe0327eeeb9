"""Loaders of plugins: which files they read, and which loaders are refused."""

import io
import logging
import zipfile
from dataclasses import dataclass

import pytest

from knotwork._extensions.server.uploads import ReceivedFile, check_content
from knotwork._indexing.loaders.loader_registry import (
    LOADERS,
    _make_plugin_loaders,
    load_file,
    supported_suffixes,
)
from knotwork._registry import Entry
from knotwork.errors import LoadError
from knotwork.plugins import Content

MADE = {}


@dataclass
class Fixed:
    """A loader that returns one text for all files."""

    name: str = "fixed"
    suffixes: object = (".fix",)
    signatures: object = (b"FIXED",)

    def load(self, source):
        return Content(f"read by {self.name}", "text/plain")


def make_one():
    return MADE["one"]()


def make_two():
    return MADE["two"]()


@pytest.fixture
def plugins(monkeypatch):
    """A function that installs plugins: loaders, or functions that return them, by name."""

    def install(**loaders):
        entries = {}
        for name, loader in loaders.items():
            MADE[name] = loader if callable(loader) else lambda loader=loader: loader
            target = f"{__name__}:make_{name}"
            entries[name] = Entry(name, target, distribution=f"knotwork-{name}", version="2.0")
        monkeypatch.setitem(vars(LOADERS), "_plugins", (entries, {}))

    _make_plugin_loaders.cache_clear()
    yield install
    _make_plugin_loaders.cache_clear()


def zipped(member):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(member, "text")
    return data.getvalue()


@pytest.mark.parametrize(
    ("uri", "data"),
    [
        ("a.fix", b"any text"),
        ("A.FIX", b"\x00\x01 binary"),
        ("a.fix", b"%PDF-1.4 looks like another format"),
        ("a.fix", zipped("anything.xml")),
        ("a.fix", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 an old container"),
        ("a", b"  FIXED content"),
        ("a.unknown", b"FIXED content"),
    ],
)
def test_a_plugin_reads_its_suffixes_and_signatures(plugins, tmp_path, uri, data):
    plugins(one=Fixed())
    assert load_file(data, uri=uri).text == "read by fixed"
    assert ".fix" in supported_suffixes()
    received = tmp_path / "received"
    received.write_bytes(data)
    check_content(ReceivedFile(uri, received), max_file_mb=1)


@pytest.mark.parametrize("uri", ["a.txt", "a.md"])
def test_files_of_built_in_loaders_stay_theirs(plugins, uri):
    plugins(one=lambda: pytest.fail("no plugin is made"))
    assert load_file(b"FIXED content", uri=uri).text == "FIXED content"


def test_other_files_are_read_as_before(plugins):
    plugins(one=Fixed())
    assert load_file(b"plain words", uri="a.unknown").text == "plain words"
    for uri, data in (
        ("a.svg", b"<svg/>"),
        ("a.bin", b"\x00\x01\x02" * 99),
        ("a.zip", zipped("x")),
    ):
        with pytest.raises(LoadError) as raised:
            load_file(data, uri=uri)
        assert raised.value.reason == "unsupported"


def test_an_upload_of_an_archive_for_a_plugin_is_checked_for_its_size(plugins, tmp_path):
    plugins(one=Fixed())
    received = tmp_path / "received"
    with zipfile.ZipFile(received, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", "x" * 20_000_000)
    with pytest.raises(LoadError) as raised:
        check_content(ReceivedFile("a.fix", received), max_file_mb=1)
    assert raised.value.reason == "too_large"


def boom():
    raise RuntimeError("no library")


@pytest.mark.parametrize(
    ("loader", "reason"),
    [
        (Fixed(suffixes=(".fix", ".md")), "files named `*.md` are read by a loader of knotwork"),
        (Fixed(suffixes=("fix",)), "`suffixes` is ('fix',), but must be a tuple such as"),
        (Fixed(suffixes=(".FIX",)), "`suffixes` is"),
        (Fixed(suffixes=".fix"), "`suffixes` is '.fix'"),
        (Fixed(suffixes=(1,)), "`suffixes` is (1,)"),
        (Fixed(signatures=("FIXED",)), "`signatures` is ('FIXED',)"),
        (Fixed(signatures=(b"",)), "`signatures` is (b'',)"),
        (boom, "RuntimeError: no library"),
        (object, "it lacks `load`, `name`, `signatures`, `suffixes` of `Loader`"),
    ],
)
def test_an_invalid_loader_is_refused_and_reported(plugins, caplog, loader, reason):
    plugins(one=loader, two=Fixed("good", (".good",), ()))
    with caplog.at_level(logging.WARNING):
        assert load_file(b"words", uri="a.good").text == "read by good"
        assert load_file(b"words", uri="a.fix").text == "words"
    (record,) = caplog.records
    assert "The loader `one` of knotwork-one 2.0 cannot be used" in record.getMessage()
    (fault,) = LOADERS.faults()
    assert reason in fault.message
    assert ".fix" not in supported_suffixes()


def test_of_two_plugins_for_one_suffix_the_second_is_refused(plugins):
    plugins(two=Fixed("two"), one=Fixed("one"))
    assert load_file(b"words", uri="a.fix").text == "read by one"
    (fault,) = LOADERS.faults()
    assert "The loader `two` of knotwork-two 2.0" in fault.message
    assert "are read by a loader of knotwork-one 2.0 already" in fault.message
    assert fault.fix == "Uninstall knotwork-two, or remove the suffix from its loader."
