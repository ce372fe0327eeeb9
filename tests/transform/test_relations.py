"""Relations: words between names, pronouns, co-occurrence, aliases, bounds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import extract, mentions, relations

from knotwork._transform.rules import RuleExtractor, RuleSettings
from knotwork._transform.rules.entity_names import is_short_for
from knotwork._transform.rules.lexicon import Occurrence
from knotwork._transform.rules.sentence_relations import read_row
from knotwork.records import ALIAS_RELATION, CO_OCCURRENCE_RELATION, entity_id


def test_words_between_two_names_are_their_relation() -> None:
    (extraction,) = extract("", "Lothair II was the second son of Lothair I.")
    assert ("lothair ii", "second son of", "lothair i") in relations(extraction)


@pytest.mark.parametrize(
    ("text", "source", "relation", "target"),
    [
        ("They say that Oslo, the capital of Norway, is old.", "oslo", "capital of", "norway"),
        (
            "Critics say that Alien Moon was directed by Anna Smith.",
            "alien moon",
            "directed by",
            "anna smith",
        ),
        (
            "Alien Moon is a 1976 American drama film directed by Elia Kazan.",
            "alien moon",
            "directed by",
            "elia kazan",
        ),
        ("Anna Smith (born 3 May 1977 in Vienna) sings.", "anna smith", "born in", "vienna"),
        ("Anna Smith (born 3 May 1977) is a singer.", "anna smith", "born", "3 may 1977"),
        (
            "Debian now supports UEFI Secure Boot, which helps.",
            "debian",
            "supports",
            "uefi secure boot",
        ),
        ("The slapd package contains the OpenLDAP server.", "slapd", "contains", "openldap"),
        (
            "Kohuwala is one of the suburbs of Colombo.",
            "kohuwala",
            "one of the suburbs of",
            "colombo",
        ),
        ("Bram Ostrand has run Skarrow Station.", "bram ostrand", "ran", "skarrow station"),
        (
            "name: Bram Ostrand; role: head; manager: Ilse Tarrant; since: 2015",
            "bram ostrand",
            "has manager",
            "ilse tarrant",
        ),
        (
            "buoy: Heron Seven; place_of_use: Lake Ashmere; moored: 3 May 2018",
            "heron seven",
            "moored",
            "3 may 2018",
        ),
        ("姓名: 李克强; 毕业学校: 北京大学; 备注: 无", "李克强", "毕业学校为", "北京大学"),
        ("曹雪芹创作《红楼梦》。", "曹雪芹", "创作", "红楼梦"),
        ("7月13日,美国白宫发布《网络安全战略》。", "美国白宫", "发布", "网络安全战略"),
        ("中国联通董事长刘烈宏出席。", "刘烈宏", "董事长", "中国联通"),
        ("北京是中国的首都。", "北京", "是…的首都", "中国"),
        ("Alice is Bob's mother.", "alice", "mother of", "bob"),
        ("Oslo's mayor, Anna Smith, sang.", "anna smith", "mayor of", "oslo"),
        ("In 1999, Anna Smith founded Acme.", "acme", "founded in", "1999"),
        ("Alien Moon stars Anna Smith and Bo Finch.", "alien moon", "stars", "bo finch"),
        ("Anna Smith (3 May 1907 – 4 June 1977) sang.", "anna smith", "died", "4 june 1977"),
        ("Born in Vienna, Anna Smith sang.", "anna smith", "born in", "vienna"),
        ("Acme was founded in Vienna in 1999.", "acme", "founded in", "1999"),
        (
            "Ada Hill found the grave of Anna Smith.",
            "ada hill",
            "found the grave of",
            "anna smith",
        ),
        (
            "LHS 475 b was discovered by NASA in 2023.",
            "lhs 475 b",
            "discovered by",
            "nasa",
        ),
        ("伍德仪器公司由约翰·伍德创立。", "伍德仪器公司", "由…创立", "约翰·伍德"),
        ("伍德仪器公司成立于1984年。", "伍德仪器公司", "成立于", "1984年"),
        ("菲尔・贾伯于1978年创办了苹果公司。", "菲尔·贾伯", "创办", "苹果公司"),
        (
            "CrossOver，由 CodeWeavers 开发，是一个很好的软件集合。",
            "crossover",
            "由…开发",
            "codeweavers",
        ),
    ],
)
def test_a_pattern_states_a_relation(text: str, source: str, relation: str, target: str) -> None:
    (extraction,) = extract("", text)
    assert (source, relation, target) in relations(extraction)


@pytest.mark.parametrize(
    "text",
    [
        "The mother of Anna Smith founded Acme last year.",
        "Helen was born in Albuquerque, New Mexico, the daughter of Pablita Velarde.",
        "He met Debian users who follow Linux kernel rules.",
        "SELECT privilege on WAL is required by Acme rules.",
        "She praised Iran in Chess Olympiads at Moscow.",
        "DINUM 通过 CSRD 配套准则。",
        "顾佳丹先生、童国华先生。",
        "GitHub 或 GitLab 都可以。",
    ],
)
def test_words_between_names_that_state_nothing_are_no_relation(text: str) -> None:
    stated = {r for _, r, _ in relations(extract("", text)[0])} - {CO_OCCURRENCE_RELATION}
    assert stated <= {"born in", "located in"}


def test_a_stated_relation_is_not_also_a_co_occurrence() -> None:
    (extraction,) = extract("", "Anna Smith founded Acme.")
    assert relations(extraction) == {("anna smith", "founded", "acme")}


def test_a_pronoun_speaks_of_the_subject() -> None:
    (extraction,) = extract("Anna Smith", "She was born in Vienna.")
    assert ("anna smith", "born in", "vienna") in relations(extraction)


def test_the_with_the_noun_that_defines_the_subject_speaks_of_it() -> None:
    (extraction,) = extract("Alien Moon", "Alien Moon is a film. The film stars Anna Smith.")
    assert ("alien moon", "stars", "anna smith") in relations(extraction)
    (extraction,) = extract("Alien Moon", "Alien Moon is a film. The opera stars Anna Smith.")
    assert ("alien moon", "stars", "anna smith") not in relations(extraction)


def test_a_pronoun_does_not_speak_of_a_subject_of_another_kind() -> None:
    (extraction,) = extract("Vienna", "Vienna is a city. She was born in Peru.")
    assert ("vienna", "born in", "peru") not in relations(extraction)


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


def test_a_surname_of_two_persons_refers_to_neither() -> None:
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
def test_possible_abbreviations(short: str, full: str, *, expected: bool) -> None:
    assert is_short_for(short, full) is expected


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


@pytest.mark.parametrize(
    "text",
    [
        "Note: Bram Ostrand; manager: Ilse Tarrant",  # fewer fields than a row has
        "name: head of Bram Ostrand; manager: Ilse Tarrant; site: Tarnby",  # no name comes first
        "since: 3 May 2018; manager: Ilse Tarrant; site: Tarnby",
        "name: Bram Ostrand; manager: not Ilse Tarrant yet; site: near Tarnby",
        "He said: Bram Ostrand; then, he left; and: Ilse Tarrant; so: Tarnby",
        "name: Bram Ostrand; name: Bram Ostrand; name: Bram Ostrand",
    ],
)
def test_uncertain_rows_state_nothing(text: str) -> None:
    (extraction,) = extract("", text)
    stated = {words for _, words, _ in relations(extraction)} - {CO_OCCURRENCE_RELATION}
    assert stated == set()


@given(
    st.lists(st.tuples(st.text("ab:; .", max_size=6), st.text("XY:; 甲", max_size=8)), max_size=8)
)
def test_any_fields_are_read_without_error(fields: list[tuple[str, str]]) -> None:
    text = "; ".join(f"{column}: {value}" for column, value in fields)
    names = [Occurrence(m.start(), m.end(), m[0]) for m in re.finditer("[XY甲]+", text)]
    for source, words, target in read_row(text, names):
        assert source in names
        assert target in names
        assert words
