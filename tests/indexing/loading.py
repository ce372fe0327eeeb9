"""Load files in tests of loaders, and list the structure found in them."""

from knotwork._extensions.testing.loader_contract import check_blocks
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork.records import BlockKind


def load(name, data, **options):
    document = load_file(
        data if isinstance(data, bytes) else data.encode(), uri=f"docs/{name}", **options
    )
    assert_offsets(document)
    return document


def assert_offsets(document):
    text = document.text
    check_blocks(document)
    starts = [page.start for page in document.pages]
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)
    assert "\r" not in text
    assert "\x00" not in text
    text.encode("utf-8")


def outline(document):
    return [(b.level, b.label) for b in document.blocks if b.kind is BlockKind.SECTION]


def blocks(document, *kinds):
    """Return the kind, the label and the text of each block of some kinds, by default of all."""
    return [
        (block.kind.value, block.label, document.text[slice(*block.span)])
        for block in document.blocks
        if block.kind in (kinds or BlockKind)
    ]


def leads(document):
    """Return the kind and the lead of each block that has one."""
    return [(block.kind.value, block.lead) for block in document.blocks if block.lead]
