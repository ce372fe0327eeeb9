"""Settings show where an index is without the user and the password of its URL."""

from __future__ import annotations

import json

import pytest

from knotwork._companions import companion_path
from knotwork._config import is_server_url, load_settings, render_config, shown_url

_URL = "postgresql://ann:s3cret@db.example:5433/docs?sslmode=require&password=s3cret&index=films"
_SHOWN = "postgresql://db.example:5433/docs?index=films"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (_URL, _SHOWN),
        ("postgresql://ann:s3/cret@db/docs?index=a", "postgresql:///docs?index=a"),
        ("other://u:p@host/path#s3cret", "other://host/path"),
        ("folder/a@b:c.knot", "folder/a@b:c.knot"),
        ("file:///folder/index.knot", "file:///folder/index.knot"),
        ("memory:", "memory:"),
    ],
)
def test_only_the_place_of_an_index_is_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown
    assert is_server_url(url) == (not url.startswith(("f", "m")))


def test_no_view_of_the_settings_has_the_password() -> None:
    loaded = load_settings(overrides={"store.path": _URL}, environ={})
    settings = loaded.settings
    assert settings.store.path == _URL
    views = (
        repr(settings),
        json.dumps(loaded.described()),
        str(list(loaded.rows())),
        render_config(settings),
    )
    for view in views:
        assert _SHOWN in view
        assert "s3cret" not in view


def test_files_beside_a_server_differ_by_index_and_have_no_password() -> None:
    paths = {companion_path(url, ".calls") for url in (_URL, _URL.replace("films", "books"))}
    assert len(paths) == 2
    assert all("s3cret" not in path and "ann" not in path for path in paths)
