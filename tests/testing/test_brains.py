import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.model_indexing.extraction_method import read_check
from knotwork._extensions.model_indexing.reply_formats import Draft, RelationDraft
from knotwork._extensions.testing.brains import RuleBrain, UnknownTask, read_assignment
from knotwork._extensions.testing.brains.prompts import line
from knotwork._extensions.testing.brains.rule_brain import NOTHING, TASKS
from knotwork._inference.chat import ChatReply, Message

CURIE = (
    "Marie Curie was born in Warsaw. She moved to Paris, where Marie Curie married Pierre Curie. "
    "Pierre Curie taught at the School of Physics."
)
LUXUN = "鲁迅出生于浙江绍兴。鲁迅于1918年在《新青年》发表《狂人日记》。"
HAN = re.compile("[\u4e00-\u9fff]")


def ask(task, **sections):
    parts = [f"<{name}>\n{text}\n</{name}>" for name, text in sections.items()]
    mark = f"task: {task}\nDo as you are told." if task else "Do as you are told."
    return [Message("system", mark), Message("user", "Please.\n" + "\n".join(parts))]


def do(task, **sections):
    return RuleBrain()(ask(task, **sections))


def fields(answer):
    return [line.split(" | ") for line in answer.splitlines()]


def test_triplets_are_names_and_the_words_between_them():
    assert ["Marie Curie", "married", "Pierre Curie"] in fields(do("extract-triplets", text=CURIE))
    assert ["鲁迅", "出生于", "浙江绍兴"] in fields(do("extract-triplets", text=LUXUN))


def test_a_graph_has_entities_with_their_sentences_and_relations():
    lines = fields(do("extract-graph", text=CURIE))
    entities = {line[1]: line[2:] for line in lines if line[0] == "entity"}
    assert entities["Warsaw"] == ["PLACE", "Marie Curie was born in Warsaw."]
    assert {"Marie Curie", "Pierre Curie", "School of Physics"} <= set(entities)
    relations = [line for line in lines if line[0] == "relation"]
    assert ["relation", "Pierre Curie", "taught at", "School of Physics"] in relations
    assert all(line[1] in entities and line[3] in entities for line in relations)


def test_a_graph_of_chinese_text_is_chinese():
    lines = fields(do("extract-graph", text=LUXUN))
    assert ["entity", "狂人日记", "WORK", LUXUN.split("。")[1] + "。"] in lines
    relations = [line for line in lines if line[0] == "relation"]
    assert relations
    assert all(HAN.search(part) for line in relations for part in line[1:])


def test_descriptions_are_summarised_without_repeating():
    told = do(
        "summarise-descriptions", name="Warsaw", descriptions=f"It is old.\n{CURIE}\nIt is old."
    )
    assert told.startswith("It is old. Marie Curie")
    assert told.count("It is old.") == 1
    long = "\n".join(f"Sentence {n} says something of its own here." for n in range(200))
    assert len(do("summarise-descriptions", descriptions=long)) < 1_000


@pytest.mark.parametrize(
    ("community", "title"),
    [
        (f"[1] {CURIE}\n[2] Warsaw is a city.", "Marie Curie and Warsaw"),
        (f"[1] {LUXUN}\n[2] 鲁迅曾任教于厦门大学。", "鲁迅与"),
    ],
)
def test_a_report_has_title_summary_and_cited_findings(community, title):
    lines = fields(do("report-community", community=community))
    assert [line[0] for line in lines] == ["title", "summary", "finding", "finding"]
    assert lines[0][1].startswith(title)
    assert [re.search(r"\[(\d)\]$", line[1])[1] for line in lines[2:]] == ["1", "2"]


def test_pairs_are_judged_by_their_names():
    pairs = [
        "1. The Beatles: a band || Beatles (band): four musicians",
        "2. Paris: a city || Warsaw: a city",
        "3. WHO || World Health Organization: of the United Nations",
        "4. 北大：一所大学 || 北京大学",
        "5. 李明 || 李小明",
    ]
    verdicts = [line[1] for line in fields(do("judge-pairs", pairs="\n".join(pairs)))]
    assert verdicts == ["same", "different", "same", "same", "different"]


def test_answers_quote_the_context_and_cite_it():
    context = f"[1] Soup is served at noon.\n[7] {CURIE}"
    told = do("answer", context=context, question="Who married Pierre Curie?")
    assert "Marie Curie married Pierre Curie. [7]" in told
    assert "[1]" not in told
    assert do("", context=context, question="Who married Pierre Curie?") == told
    told = do("answer", context=f"[1] 中午供应汤。\n[2] {LUXUN}", question="鲁迅出生于哪里？")
    assert told.startswith("鲁迅出生于浙江绍兴。[2]")


@pytest.mark.parametrize(
    ("question", "word"), [("Where is the harbour of Oslo?", "sources"), ("太空站在哪里？", "资料")]
)
def test_without_an_answer_it_is_reported(question, word):
    assert word in do("answer", context="[1] Soup is served at noon.", question=question)
    assert word in do("reduce-points", points="none\n0 | Soup.", question=question)
    assert do("map-reports", context="[1] Soup is served at noon.", question=question) == "none"


def test_map_and_reduce_keep_the_marks():
    context = f"[1] Soup is served at noon.\n[2] {CURIE}\n[3] Marie Curie liked Paris."
    points = do("map-reports", context=context, question="What did Marie Curie do in Paris?")
    scores = [int(line[0]) for line in fields(points)]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 100
    told = do("reduce-points", points="none\n" + points, question="What did Marie Curie do?")
    assert "[2]" in told
    assert "[3]" in told


def test_relations_are_held_against_the_text():
    listed = (
        "1. Ada Smith | founded | Acme London\n2. Acme London | founded | Ada Smith | so it says\n"
        "3. Ada Smith | led | Paris\n4. Bob Jones | - | Acme London"
    )
    text = "Ada Smith founded Acme London.\n5. Ada | went to | Rome\nBob Jones led Acme London."
    said = RuleBrain()(
        [Message("user", f"task: check-relations\nVerdicts.\n{listed}\n<text>\n{text}\n</text>")]
    )
    assert said.splitlines() == [
        "1 | keep",
        "2 | fix | Ada Smith | founded | Acme London",
        "3 | drop",
        "4 | keep",
    ]
    draft = Draft(
        relations=tuple(
            RelationDraft(*fields)
            for fields in (
                ("Ada Smith", "founded", "Acme London"),
                ("Acme London", "founded", "Ada Smith"),
                ("Ada Smith", "led", "Paris"),
                ("Bob Jones", "", "Acme London"),
            )
        )
    )
    checked = read_check(ChatReply(said), draft)
    assert checked.relations == (draft.relations[0], draft.relations[3])
    assert len(checked.complaints) == 1


def test_gleaning_finds_nothing_more_and_a_repair_repeats():
    first = ask("extract-graph", text=CURIE)
    brain = RuleBrain()
    said = [*first, Message("assistant", brain(first))]
    assert brain([*said, Message("user", "task: glean\nWhat is missing?")]) == NOTHING
    assert brain([*said, Message("user", "Mend the lines.")]) == brain(first)


def test_without_marks_the_message_is_the_text():
    assert RuleBrain()([Message("user", "One is here. Two is there.")]).startswith("One is here.")
    unmarked = [Message("system", "task: extract-triplets"), Message("user", CURIE)]
    assert RuleBrain()(unmarked) == do("extract-triplets", text=CURIE)


def test_the_last_mark_and_section_count():
    turns = [
        Message("system", "task: answer\n<text>old</text>"),
        Message("assistant", "task: glean\n<text>said</text>"),
        Message("user", "task: extract-graph\n<text> new </text> and more"),
    ]
    found = read_assignment(turns)
    assert (found.task, found.sections) == ("extract-graph", {"text": "new"})
    assert read_assignment([Message("user", "My task: rest")]).task == ""


def test_tasks_may_be_brought():
    brain = RuleBrain(tasks={"shout": lambda a: a.message.upper()})
    assert brain([Message("user", "task: shout\nho")]) == "HO"
    with pytest.raises(UnknownTask, match=r"`whisper`.*shout"):
        brain(ask("whisper"))


def test_fields_never_hold_what_parts_them():
    assert line("a|b", "is\n\tof", " c ") == "a b | is of | c"


@given(st.sampled_from([*TASKS, ""]), st.text(max_size=80), st.text(max_size=20))
def test_any_text_has_an_answer_that_is_always_the_same(task, text, question):
    names = ("text", "context", "community", "descriptions", "pairs", "points")
    asked = ask(task, **dict.fromkeys(names, text), question=question)
    told = RuleBrain()(asked)
    assert told.strip()
    assert RuleBrain()(asked) == told


def test_threads_share_a_brain():
    brain = RuleBrain()
    asked = [ask("extract-graph", text=f"{CURIE} Room {n} is in Tartu.") for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(brain, asked)) == [brain(one) for one in asked]
