import subprocess
import sys

import pytest

import knotwork

HEAVY = [
    "apsw",
    "docx",
    "lxml",
    "numpy",
    "openpyxl",
    "pypdfium2",
    "rich",
    "scipy",
    "sentence_transformers",
    "torch",
    "typer",
]
PUBLIC = [
    "Answer",
    "AskRequest",
    "AsyncKnowledgeBase",
    "Chunk",
    "Citation",
    "Communities",
    "Document",
    "Entities",
    "Evidence",
    "Failure",
    "Graph",
    "Hit",
    "IndexReport",
    "IndexingInterrupted",
    "KnotworkError",
    "KnowledgeBase",
    "KnowledgeGraph",
    "Progress",
    "Run",
    "Settings",
    "Stage",
    "Statistics",
    "Subgraph",
    "Tables",
    "load_settings",
    "open",
    "open_async",
    "repair",
    "restore",
]


def test_the_public_names_are_these():
    assert knotwork.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_can_be_imported(name):
    assert getattr(knotwork, name) is not None
    assert name in dir(knotwork)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = knotwork.no_such_name


def test_importing_the_package_loads_no_library():
    code = f"import sys, knotwork; found = set({HEAVY}) & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
