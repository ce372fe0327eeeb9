"""Load files in tests of loaders, and list the structure found in them."""

from knotwork._indexing.loaders import load_document


def load(name, data, **options):
    document = load_document(
        data if isinstance(data, bytes) else data.encode(), uri=f"docs/{name}", **options
    )
    assert_offsets(document)
    return document


def assert_offsets(document):
    text = document.text
    position = 0
    for heading in document.headings:
        start, end = heading.span
        assert position <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]
        position = end
    starts = [page.start for page in document.pages]
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)
    assert "\r" not in text
    assert "\x00" not in text
    text.encode("utf-8")


def outline(document):
    return [(heading.level, heading.title) for heading in document.headings]


def frames(document):
    return [
        (frame.kind.value, frame.label, document.text[slice(*frame.span)].strip())
        for frame in document.frames
    ]
