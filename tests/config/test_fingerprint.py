from dataclasses import replace

import pytest

from knotwork._config import IndexSettings, fingerprint

BASE = IndexSettings()


@pytest.mark.parametrize(
    "change",
    [
        {"splitter": "sentences"},
        {"chunk_tokens": 201},
        {"overlap_tokens": 1},
        {"parent_tokens": 801},
    ],
)
def test_it_changes_with_what_shapes_the_index(change):
    changed = replace(BASE, **change)
    assert fingerprint(changed, "e", "x") != fingerprint(BASE, "e", "x")


@pytest.mark.parametrize(
    "change",
    [
        {"include": ("*.md",)},
        {"exclude": ("*.md",)},
        {"max_file_mb": 1.0},
        # The name of the extractor stands for what it finds with its dictionary.
        {"extractor": "other"},
        {"dictionary": "names.txt"},
    ],
)
def test_it_stays_with_what_only_selects(change):
    assert fingerprint(replace(BASE, **change), "e", "x") == fingerprint(BASE, "e", "x")


def test_names_count_and_do_not_run_together():
    prints = {
        fingerprint(BASE, embedder, extractor)
        for embedder, extractor in [("e", "x"), ("x", "e"), ("", "ex"), ("ex", ""), ("e", "x2")]
    }
    assert len(prints) == 5
    assert all(len(item) == 16 for item in prints)
