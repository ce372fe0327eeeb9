"""The contract of extractors catches extractors that break it."""

from dataclasses import replace

import pytest
from tests.testing.broken_parts import UNSENDABLE, Unsendable, broken, caught

from knotwork._transform.rules import RuleExtractor
from knotwork.records import (
    Description,
    Mention,
    Relation,
    Span,
    content_id,
)
from knotwork.testing import (
    ExtractorContract,
)

pytestmark = pytest.mark.slow

EXTRACTORS = ExtractorContract()
TEXT = "Ada Lovelace wrote a program in London.\n\nCharles Babbage built an engine in Paris."


class EditedExtractor:
    """A sound extractor whose result is edited."""

    def __init__(self, edit=lambda found: found, name="edited-1"):
        self.name = name
        self._inner = RuleExtractor()
        self._edit = edit

    def extract(self, document, chunks):
        return self._edit(self._inner.extract(document, chunks))


def each_extraction(edit):
    return lambda found: [edit(extraction) for extraction in found]


def each_mention(edit):
    return each_extraction(lambda e: replace(e, mentions=tuple(edit(m) for m in e.mentions)))


def add_mention(**fields):
    """Return an edit that adds a mention with these fields."""
    return each_extraction(
        lambda e: replace(
            e, mentions=(*e.mentions, replace(Mention(e.chunk_id, "x", "X"), **fields))
        )
    )


def each_relation(edit):
    return each_extraction(lambda e: replace(e, relations=tuple(edit(r) for r in e.relations)))


def add_relation(**fields):
    """Return an edit that adds a relation of two mentioned entities, with these fields."""

    def edit(extraction):
        ends = [mention.entity_id for mention in extraction.mentions][:2]
        made = Relation(extraction.chunk_id, ends[0], "knows", ends[1])
        return replace(extraction, relations=(*extraction.relations, replace(made, **fields)))

    return each_extraction(edit)


def describe(text, form=""):
    """Return an edit that describes an entity, the first one by default."""
    return each_extraction(
        lambda e: replace(
            e, descriptions=(Description(e.chunk_id, form or e.mentions[0].normal_form, text),)
        )
    )


def check_order(extractor):
    EXTRACTORS.test_leaf_chunks_have_one_extraction_each_in_order(extractor, TEXT)


@pytest.mark.parametrize(
    "edit", [lambda found: found, add_mention(), add_relation(), describe("One.")], ids=range(4)
)
def test_sound_extractions_pass(edit):
    check_order(EditedExtractor(edit))


@broken(
    {
        "a chunk is left out": lambda found: found[1:],
        "a parent is read": lambda found: [
            *found,
            replace(found[0], chunk_id=content_id("parent")),
        ],
        "the order is lost": lambda found: found[::-1],
        "nothing is found": each_extraction(lambda e: replace(e, mentions=(), relations=())),
        "another chunk is named": add_mention(chunk_id=content_id("x")),
        "mentions repeat": each_extraction(lambda e: replace(e, mentions=e.mentions * 2)),
        "the key is not a normal form": add_mention(normal_form="The X"),
        "the key is empty": add_mention(normal_form=""),
        "the name is empty": add_mention(name=""),
        "the name has lines": add_mention(name="One\nTwo"),
        "aboutness is above 1": add_mention(about=1.5),
        "aboutness is not a number": add_mention(about=float("nan")),
        "a span is too long": add_mention(spans=(Span(0, 9_000),)),
        "a span is empty": each_mention(
            lambda m: replace(m, spans=tuple(Span(s, s) for s, _ in m.spans))
        ),
        "a span is blank": lambda found: [*add_mention(spans=(Span(3, 4),))(found[:1]), *found[1:]],
        "spans repeat": each_mention(lambda m: replace(m, spans=m.spans * 2)),
        "an end is not mentioned": add_relation(target=content_id("x")),
        "both ends are one": each_relation(lambda r: replace(r, target=r.source)),
        "a relation repeats": each_extraction(lambda e: replace(e, relations=e.relations * 2)),
        "a relation has no name": add_relation(relation=" "),
        "a relation is of another chunk": add_relation(chunk_id=content_id("x")),
        "a relation has no weight": add_relation(weight=0),
        "a relation is elsewhere": add_relation(span=Span(9_000, 9_010)),
        "a description has lines": describe("One.\nTwo."),
        "a description is of another chunk": each_extraction(
            lambda e: replace(
                e, descriptions=(Description(content_id("x"), e.mentions[0].normal_form, "One."),)
            )
        ),
        "a description is of nobody": describe("One.", form="nobody"),
    }
)
def test_unsound_extractions_are_caught(edit):
    with caught():
        check_order(EditedExtractor(edit))


class Remembers(EditedExtractor):
    """Mentions in each document how many it has read."""

    def extract(self, document, chunks):
        self.read = getattr(self, "read", 0) + 1
        return [
            replace(
                found, mentions=(*found.mentions, Mention(found.chunk_id, f"n{self.read}", "n"))
            )
            for found in super().extract(document, chunks)
        ]


class RenamesItself(EditedExtractor):
    def extract(self, document, chunks):
        self.name = f"edited-{len(chunks)}"
        return super().extract(document, chunks)


class NeedsSentences(EditedExtractor):
    def extract(self, document, chunks):
        assert all(chunk.sentences for chunk in chunks)
        return super().extract(document, chunks)


class ForgetsItsEdit(EditedExtractor):
    def __reduce__(self):
        return EditedExtractor, ()


@pytest.mark.parametrize(
    ("extractor", "check"),
    [
        (
            ForgetsItsEdit(each_extraction(lambda e: replace(e, relations=()))),
            lambda e: EXTRACTORS.test_a_worker_process_finds_the_same(e, TEXT),
        ),
        (
            ForgetsItsEdit(name="edited-2"),
            lambda e: EXTRACTORS.test_a_worker_process_finds_the_same(e, TEXT),
        ),
        (Remembers(), lambda e: EXTRACTORS.test_other_documents_change_nothing(e, TEXT)),
        (RenamesItself(), lambda e: EXTRACTORS.test_the_name_is_stable(e, TEXT)),
        (EditedExtractor(name=""), lambda e: EXTRACTORS.test_the_name_is_stable(e, TEXT)),
        (EditedExtractor(name="one\ntwo"), lambda e: EXTRACTORS.test_the_name_is_stable(e, TEXT)),
        (NeedsSentences(), lambda e: EXTRACTORS.test_a_chunk_without_sentences_is_read(e, TEXT)),
        (NeedsSentences(), lambda e: EXTRACTORS.test_any_text_is_read(e, "")),
        (
            EditedExtractor(lambda found: found or [None]),
            EXTRACTORS.test_no_chunks_have_no_extractions,
        ),
        (
            EditedExtractor(
                each_mention(lambda m: replace(m, spans=tuple(Span(s, s + 2) for s, _ in m.spans)))
            ),
            lambda e: EXTRACTORS.test_mentions_are_where_the_text_names_them(e, TEXT),
        ),
    ],
)
def test_a_careless_extractor_is_caught(extractor, check):
    check(RuleExtractor())
    with caught():
        check(extractor)


def test_an_extractor_that_cannot_be_sent_is_caught():
    with pytest.raises(UNSENDABLE):
        EXTRACTORS.test_a_worker_process_finds_the_same(Unsendable(RuleExtractor()), TEXT)
