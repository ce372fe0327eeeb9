"""Relations: words between names, pronouns, co-occurrence, aliases, bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transform.documents import extract, mentions, relations

from knotwork.records import ALIAS_RELATION, CO_OCCURRENCE_RELATION, entity_id
from knotwork.transform.rules import RuleExtractor, RuleSettings
from knotwork.transform.rules.aliases import is_short_for
from knotwork.transform.rules.relations import relation_words


def test_words_between_two_names_are_their_relation() -> None:
    (extraction,) = extract("", "Lothair II was the second son of Lothair I.")
    assert ("lothair ii", "second son of", "lothair i") in relations(extraction)


def test_a_pronoun_speaks_of_the_subject() -> None:
    (extraction,) = extract("Anna Smith", "She was born in Vienna.")
    assert ("anna smith", "born in", "vienna") in relations(extraction)


def test_names_without_words_between_co_occur_from_the_smaller_id() -> None:
    (extraction,) = extract("", "They visited Vienna, Peru, and Kenya.")
    found = [r for r in extraction.relations if r.relation == CO_OCCURRENCE_RELATION]
    assert len(found) == 3
    assert all(r.source < r.target for r in found)


def test_weight_counts_occurrences_and_the_span_is_the_sentence() -> None:
    text = "Anna Smith founded Acme. In 1999, Anna Smith founded Acme."
    (extraction,) = extract("", text)
    (relation,) = [r for r in extraction.relations if r.relation == "founded"]
    assert relation.weight == 2
    assert relation.span is not None
    assert text[slice(*relation.span)].strip() == "Anna Smith founded Acme."


@pytest.mark.parametrize(
    ("text", "short", "full"),
    [
        ("Asynchronous Transfer Mode (ATM) is old.", "atm", "asynchronous transfer mode"),
        ("He left the World Health Organization (WHO).", "who", "world health organization"),
        ("Ogden Mills, also known as Buck Mills, ran.", "buck mills", "ogden mills"),
        ("Lewis Kaplan spoke. Later Kaplan left.", "kaplan", "lewis kaplan"),
    ],
)
def test_aliases_lead_from_the_short_to_the_full_name(text: str, short: str, full: str) -> None:
    (extraction,) = extract("", text)
    assert (short, ALIAS_RELATION, full) in relations(extraction)


def test_a_surname_of_two_persons_stands_for_neither() -> None:
    (extraction,) = extract("", "Anna Smith met Bob Smith. Then Smith left.")
    assert all(relation != ALIAS_RELATION for _, relation, _ in relations(extraction))


def test_a_surname_mentions_the_full_name_of_an_earlier_chunk() -> None:
    _, second = extract("", "Judge Lewis Kaplan spoke.", "Nobody heard what Kaplan said.")
    full = mentions(second)["lewis kaplan"]
    assert full.spans == mentions(second)["kaplan"].spans


@pytest.mark.parametrize(
    ("short", "full", "expected"),
    [
        ("NIST", "National Institute of Standards and Technology", True),
        ("BBC", "British Broadcasting Corporation", True),
        ("BBC", "Boston Red Sox", False),
        ("Anna", "Anna Smith", False),
        ("北大", "北京大学", True),
        ("上海", "北京大学", False),
    ],
)
def test_what_can_be_short_for_what(short: str, full: str, *, expected: bool) -> None:
    assert is_short_for(short, full) is expected


@given(st.text(alphabet="abc ,'was theof", max_size=60))
def test_relation_words_are_few_and_lower_case(between: str) -> None:
    words = relation_words(between, longest=6)
    assert len(words.split()) <= 6
    assert words == words.lower().strip()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(["Anna Smith", "Peru", "met", "of", ",", ".", "It", "Acme Inc"]),
        max_size=120,
    )
)
def test_relations_are_bounded_and_their_ends_are_mentioned(words: list[str]) -> None:
    limits = RuleSettings(relations_per_chunk=5, entities_per_chunk=4)
    (extraction,) = extract("", " ".join([*words, "x"]), extractor=RuleExtractor(settings=limits))
    known = {mention.entity_id for mention in extraction.mentions}
    plain = [r for r in extraction.relations if r.relation != ALIAS_RELATION]
    assert len(plain) <= 5
    assert len(known) <= 4
    assert len({(r.source, r.relation, r.target) for r in plain}) == len(plain)
    assert all({r.source, r.target} <= known and r.source != r.target for r in extraction.relations)
    assert known == {entity_id(mention.normal_form) for mention in extraction.mentions}
