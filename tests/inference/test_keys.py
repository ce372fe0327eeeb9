from knotwork.inference import Passage, embedding_key
from knotwork.records import Span


def test_equal_keys_are_equal_passages_of_equal_embedders():
    base = Passage("One. Two.", "T", (Span(0, 4), Span(5, 9)))
    assert embedding_key("e", base) == embedding_key("e", Passage("One. Two.", "T", base.sentences))
    others = [
        Passage("One. Two!", "T", base.sentences),
        Passage("One. Two.", "", base.sentences),
        Passage("One. Two.", "T", (Span(0, 9),)),
        Passage("One. Two.", "T", ()),
        Passage("TOne. Two.", "", base.sentences),
    ]
    keys = {embedding_key("e", passage) for passage in (base, *others)}
    assert len(keys | {embedding_key("f", base)}) == len(others) + 2
