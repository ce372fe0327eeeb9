"""A statement that its passages do not say is found; one that they say in other words is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.synthesis.written import chunk_of

from knotwork._synthesis.grounding.statement_check import (
    ALIKE,
    SAME_GROUP,
    CitedSources,
    Fault,
    SourcePlaces,
    StatementCheck,
    read_model,
)
from knotwork._synthesis.grounding.texts import read_text
from knotwork._synthesis.prompt_context import PromptPassage
from knotwork._text.sentences import split_sentences
from knotwork.errors import ConfigError
from knotwork.records import Document

PUMP = (
    "The Orion pump was designed by Ina Berg in 1998. It holds 12 patents and weighs 40 kg. "
    "The default limit is 100 connections per minute. Ina Berg left Acme Corporation in 2004. "
    "Acme Corporation acquired Bolt Systems after the fire. "
    "The pump cannot be used under water. In Oslo it is sold by Nordvann."
)
OFFICE = (
    "海外出差由办事处主任审批，每次不超过十二天。主任是温青岚，副主任是林婉清。"
    "办事处于1998年在杭州成立。旅客不需要签证。温青岚在2004年接替了赵国强。"
)


def sentences(text):
    return [text[start:end] for start, end in split_sentences(text)]


def fault(statement, source, question="", titles=""):
    found = CitedSources(sentences(source), titles, question).find_fault(statement)
    return found and found.fault


@pytest.mark.parametrize(
    "statement",
    [
        "Ina Berg designed the Orion pump in 1998.",
        "In 1998, the pump was designed by Berg.",
        "It weighs 40 kg and has twelve patents.",
        "By default, 100 connections are allowed per minute.",
        "Bolt Systems was acquired by Acme Corporation.",
        "Under water the pump cannot be used.",
        "The pump is unusable under water.",
        "Nordvann sells it in Oslo.",
        "The pump weighs about 41 kg.",
        "There are two dates: 1998 and 2004.",
        "The documents do not say how loud the pump is.",
    ],
)
def test_paraphrases_are_accepted(statement):
    assert fault(statement, PUMP, question="What about the pump?") is None


@pytest.mark.parametrize(
    "statement",
    [
        "海外出差须由办事处主任审批。",
        "每次出差最多12天。",
        "办事处1998年成立于杭州。",
        "赵国强在2004年被温青岚接替。",
        "旅客无需签证。",
        "副主任林婉清。",
    ],
)
def test_chinese_paraphrases_are_accepted(statement):
    assert fault(statement, OFFICE) is None


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Ina Berg designed the Orion pump in 1989.", Fault.NUMBER),
        ("The pump holds 99 patents.", Fault.NUMBER),
        ("The pump weighs 40 kg and costs 900 euros.", Fault.NUMBER),
        ("It holds 40 patents.", Fault.NUMBER),
        ("Paris is the capital of France.", Fault.NAME),
        ("The Orion pump was designed by Karl Lund.", Fault.NAME),
        ("The setting max_flow limits the connections per minute.", Fault.NAME),
        ("The Orion pump was not designed by Ina Berg.", Fault.NEGATION),
        ("The pump can be used under water.", Fault.NEGATION),
        ("The default limit is never 100 connections per minute.", Fault.NEGATION),
        ("Bolt Systems acquired Acme Corporation after the fire.", Fault.ROLES),
        ("Acme Corporation was acquired by Bolt Systems after the fire.", Fault.ROLES),
        ("Regular lubrication extends bearing life considerably.", Fault.WORDS),
    ],
)
def test_unsupported_statements_are_found(statement, expected):
    assert fault(statement, PUMP) is expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("办事处于1989年在杭州成立。", Fault.NUMBER),
        ("海外出差每次不超过二十天。", Fault.NUMBER),
        ("办事处于1998年在北京成立。", Fault.NAME),
        ("海外出差不由办事处主任审批。", Fault.NEGATION),
        ("旅客需要签证。", Fault.NEGATION),
        ("赵国强在2004年接替了温青岚。", Fault.ROLES),
        ("水泵应当定期润滑轴承。", Fault.WORDS),
    ],
)
def test_statements_that_a_chinese_passage_does_not_support_are_found(statement, expected):
    assert fault(statement, OFFICE) is expected


COMPANY = (
    "Acme Corporation, which Ina Berg founded in Oslo, bought Bolt Systems in 2004. Karl Lund had "
    "led Bolt Systems since 1998 and moved to Bergen after the sale. Forty engineers joined Acme "
    "Corporation, and 17 salesmen left Bolt Systems. The new owner does not sell pumps in Sweden."
)
HARBOUR = (
    "港务局由温青岚于1998年创立，总部设在杭州。2004年，赵国强接任局长，并将三号码头租给林婉清的公司。"
    "林婉清的公司不从事渔业。三号码头长420米，五号码头长260米。"
)


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("Ina Berg established Acme Corporation in Oslo.", "Who established Acme Corporation?"),
        ("Acme Corporation was founded by Ina Berg.", ""),
        ("Karl Lund was the leader of Bolt Systems from 1998.", "Who was the leader?"),
        ("Bolt Systems was bought by Acme Corporation in 2004.", ""),
        ("After the sale, Karl Lund lived in Bergen.", "Where did Karl Lund live?"),
        ("Acme Corporation never sells pumps in Sweden.", ""),
    ],
)
def test_free_wording_is_right(statement, question):
    assert fault(statement, COMPANY, question) is None


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        ("Take red-stop: each pump then halts.", "red-stop halts every pump."),
        ("Each pump writes about 1 kB an hour.", "Per hour, a pump writes one kilobyte."),
        ("A pump goes on without its log.", "If the log is gone, a pump does not stop."),
        ("The later entry wins.", "Of two entries, the later one is taken."),
        ("密码不得少于五位。", "密码至少要有五位。"),
        ("两种做法差不多，都由办事处决定。", "这两种做法相近，由办事处来决定。"),
        ("参数可以填 yes 或 no。", "参数的值是 yes 或 no 之一。"),
    ],
)
def test_free_wording_of_an_assistant_is_accepted(statement, source):
    assert fault(statement, source) is None


@pytest.mark.parametrize(
    ("statement", "source", "question"),
    [
        ("Visitors leave their coats with the guard.", PUMP, ""),
        ("参观者应当把外套放在门口的柜子里。", OFFICE, ""),
        ("The pump is painted green.", "The pump stands outside.", "How is the pump painted?"),
    ],
)
def test_a_statement_about_something_else_is_found(statement, source, question):
    assert fault(statement, source, question) is Fault.WORDS


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        pytest.param(
            "Karl Lund founded Acme Corporation in Oslo.",
            "Who founded Acme Corporation in Oslo?",
            marks=pytest.mark.xfail(reason="its odds are below the limit", strict=True),
        ),
        ("Ina Berg had led Bolt Systems since 1998.", "Who had led Bolt Systems?"),
        ("Bolt Systems bought Acme Corporation in 2004.", "Who bought Bolt Systems in 2004?"),
        ("Karl Lund moved to Oslo after the sale.", "Where did Karl Lund move?"),
        ("17 engineers joined Acme Corporation.", ""),
        ("Acme Corporation bought Bolt Systems in 1998.", "When was Bolt Systems bought?"),
        ("The new owner sells pumps in Sweden.", ""),
        ("Karl Lund did not move to Bergen after the sale.", ""),
    ],
)
def test_statements_about_another_subject_are_found(statement, question):
    assert fault(statement, COMPANY, question) is not None


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("温青岚在1998年创立了港务局。", "谁创立了港务局？"),
        ("赵国强在2004年接任局长。", ""),
        ("三号码头有420米长。", "三号码头有多长？"),
        ("林婉清的公司并不从事渔业。", ""),
    ],
)
def test_chinese_in_free_wording_is_right(statement, question):
    assert fault(statement, HARBOUR, question) is None


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("局长在2004年将三号码头租给温青岚的公司。", "局长将三号码头租给谁的公司？"),
        ("港务局于2004年创立。", "港务局何时创立？"),
        ("林婉清的公司从事渔业。", ""),
    ],
)
def test_statements_about_another_subject_are_found_in_chinese(statement, question):
    assert fault(statement, HARBOUR, question) is not None


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        ("Bolt Systems was approached by Acme.", "Acme approached Bolt Systems in May."),
        ("Acme approached Bolt Systems.", "Bolt Systems was approached by Acme in May."),
        ("Ina Berg founded Acme.", "Acme, which Ina Berg founded, left Norway."),
        ("太宗被蒙军击败。", "蒙军击败太宗之后回师。"),
        ("蒙军击败了太宗。", "越南太宗被蒙军击败，上表称臣。"),
    ],
)
def test_the_voice_of_a_clause_may_change(statement, source):
    assert fault(statement, source) is None


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        ("Bolt Systems approached Acme.", "Acme approached Bolt Systems in May."),
        ("Acme was approached by Bolt Systems.", "Acme approached Bolt Systems in May."),
        ("Acme was approached by Bolt Systems.", "Bolt Systems was approached by Acme in May."),
        ("Acme founded Ina Berg.", "Acme, which Ina Berg founded, left Norway."),
        ("蒙军被太宗击败。", "蒙军击败太宗之后回师。"),
        ("太宗击败了蒙军。", "越南太宗被蒙军击败，上表称臣。"),
    ],
)
def test_who_acts_may_not_change(statement, source):
    assert fault(statement, source) is not None


def test_a_denied_verb_is_denied_though_the_passage_denies_it_elsewhere():
    source = "一年级不可以离校。高年级学生午间可以离校。访客不是学生。"
    assert fault("高年级学生午间不可以离校。", source) is Fault.NEGATION
    assert fault("一年级不可以离校。", source) is None


def test_a_chinese_sentence_full_of_commands_is_compared_with_chinese():
    source = "amd64 是 64-bit 架构。Debian Edu 的主服务器提供 DHCP。"
    assert fault("amd64 不是 64-bit 架构。", source) is Fault.NEGATION


def test_words_are_placed_by_stem_by_beginning_and_by_relation():
    sources = SourcePlaces([read_text("Ina Berg, the founder, wrote a song in Oslo.")])
    said = read_text("Ina founded it, an author of songs in Kyoto.")
    items = {said.text[i.start :].split()[0].strip(",."): i for i in sources.items_of(said)}
    assert items["Ina"].strength == items["songs"].strength == 1
    assert items["founded"].strength == ALIKE
    assert items["author"].strength == SAME_GROUP
    assert items["Kyoto"].matches == ()


def test_a_mention_has_the_places_of_its_name():
    sources = SourcePlaces([read_text("Ina Berg left."), read_text("In Oslo, Berg met Ada Lund.")])
    said = read_text("The house of Ina Berg is beside that of Ada.")
    berg, ada = (sources.find_mention(mention, said) for mention in said.mentions)
    assert [place.sentence for place in berg] == [0]
    assert [place.shown for place in ada] == ["ada"]
    assert [place.sentence for place in ada] == [1]


def test_a_model_of_other_features_is_refused():
    with pytest.raises(ConfigError, match="other features"):
        read_model("placement", ("near",))


def test_a_number_of_the_question_may_be_denied_and_not_affirmed():
    question = "Does the pump hold 99 patents?"
    assert fault("The pump holds 99 patents.", PUMP, question) is Fault.NUMBER
    assert fault("No, the pump holds 12 patents, not 99.", PUMP, question) is None
    asked = "How many patents did the pump hold when it was shown at 7 fairs?"
    assert fault("The pump shown at 7 fairs holds 12 patents.", PUMP, asked) is None


def test_names_may_come_from_titles():
    assert fault("The Kestrel pump weighs 40 kg.", PUMP) is Fault.NAME
    assert fault("The Kestrel pump weighs 40 kg.", PUMP, titles="Kestrel / Data sheet") is None


def test_dates_are_compared_in_any_form():
    source = "The contract ends on 2021-05-03."
    assert fault("The contract ends on May 3, 2021.", source) is None
    assert fault("The contract ends on June 3, 2021.", source) is Fault.NAME


def test_an_abbreviation_stands_for_its_words():
    source = "Long term support lasts five years."
    assert fault("LTS lasts five years.", source) is None
    assert fault("ESR lasts five years.", source) is Fault.NAME


def test_a_statement_in_another_language_is_checked_for_numbers_and_identifiers():
    assert fault("主任在1998年设计了这台水泵。", PUMP) is None
    assert fault("这台水泵设计于1977年。", PUMP) is Fault.NUMBER
    assert fault("The head of the office is Wen Qinglan.", OFFICE) is None
    assert fault("The office was founded in 1997.", OFFICE) is Fault.NUMBER
    assert fault("参数 max_flow 限制连接数。", PUMP) is Fault.NAME


@given(st.sampled_from(sentences(PUMP) + sentences(OFFICE)))
def test_a_sentence_of_the_passage_is_always_right(sentence):
    source = PUMP if sentence in PUMP else OFFICE
    assert fault(sentence, source) is None


@given(st.text(max_size=80), st.lists(st.text(max_size=60), max_size=4))
def test_any_text_can_be_checked(statement, sources):
    CitedSources(sources, question="Why?").find_fault(statement)


@pytest.mark.parametrize("distance", [10, 1_500, 3_000])
def test_a_denial_far_from_the_words_of_a_statement_is_not_theirs(distance):
    source = "The Orion pump weighs little, " + "and very much oil " * distance + "is not sold."
    assert CitedSources([source]).find_fault("The Orion pump weighs little.") is None


def passages(*texts):
    found = {}
    for number, text in enumerate(texts, start=1):
        chunk = chunk_of(Document(uri=f"{number}.txt", title="", text=text))
        found[number] = PromptPassage(number, chunk, chunk.sentences, text, chunk.sentences[0])
    return found


def test_a_statement_without_a_mark_may_be_said_by_any_passage():
    check = StatementCheck(passages(PUMP, OFFICE))
    assert check.find_fault("The pump weighs 40 kg.", []) is None
    assert check.find_fault("The pump weighs 41,000 kg.", []).fault is Fault.NUMBER


def test_a_conclusion_may_be_said_by_passages_together():
    check = StatementCheck(passages("Ina Berg works in Bergen.", "Karl Lund works in Oslo."))
    assert check.find_fault("Ina Berg works in Bergen and Karl Lund works in Oslo.", []) is None
    assert check.find_fault("Ina Berg works in Bergen and Karl Lund in Oslo.", [1, 2]) is None


@pytest.mark.parametrize(
    "statement",
    [
        "As an AI language model, the pump weighs 40 kg.",
        "I'm sorry, the pump weighs 40 kg.",
        "作为一个人工智能，主任是温青岚。",
    ],
)
def test_a_model_that_speaks_about_itself_is_not_quoted(statement):
    check = StatementCheck(passages(PUMP, OFFICE))
    assert check.find_fault(statement, [1, 2]).fault is Fault.SELF


def test_a_document_may_speak_of_language_models():
    check = StatementCheck(passages("The reply began: as an AI language model I cannot vote."))
    said = "The reply began: as an AI language model I cannot vote."
    assert check.find_fault(said, [1]) is None


def test_the_passage_that_says_a_statement_is_found():
    check = StatementCheck(passages(OFFICE, PUMP))
    assert check.find_passage("The Orion pump was designed by Ina Berg in 1998.") == 2
    assert check.find_passage("The Orion pump was designed by Karl Lund in 1998.") is None
