from knotwork._inference.embedder import PassageText, embedding_key
from knotwork.records import Span


def test_equal_keys_are_equal_passages_of_equal_embedders():
    base = PassageText("One. Two.", "T", (Span(0, 4), Span(5, 9)))
    assert embedding_key("e", base) == embedding_key(
        "e", PassageText("One. Two.", "T", base.sentences)
    )
    others = [
        PassageText("One. Two!", "T", base.sentences),
        PassageText("One. Two.", "", base.sentences),
        PassageText("One. Two.", "T", (Span(0, 9),)),
        PassageText("One. Two.", "T", ()),
        PassageText("TOne. Two.", "", base.sentences),
    ]
    keys = {embedding_key("e", passage) for passage in (base, *others)}
    assert len(keys | {embedding_key("f", base)}) == len(others) + 2
