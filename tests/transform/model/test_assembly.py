from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut, mentions, relations

from knotwork._extensions.model_indexing.reply_formats import Draft, EntityDraft, RelationDraft
from knotwork._extensions.model_indexing.reply_grounding import Assembled, ReplyContext, assemble
from knotwork._transform.rules import RuleExtractor
from knotwork.records import Extraction, Mention, Span

TEXT = "Ada Lovelace wrote notes. She praised the difference engine of Charles Babbage in London."
HAN = "蔡元培曾任北京大学校长。北京大学位于北京。"


def assembled(
    text: str,
    draft: Draft,
    *,
    around: ReplyContext | None = None,
    title: str = "",
    rules: bool = True,
) -> tuple[Assembled, Extraction, str]:
    document, chunks = cut(title, "An opening that is another chunk.", text)
    bases = RuleExtractor().extract(document, chunks)
    base = bases[1] if rules else Extraction(chunks[1].id)
    return assemble(draft, chunks[1], base, around), base, document.text


def test_a_model_adds_to_the_results_of_rules() -> None:
    draft = Draft(
        (EntityDraft("difference engine", "PRODUCT", "a machine"), EntityDraft("ADA LOVELACE")),
        (RelationDraft("Ada Lovelace", "Praised", "Difference Engine", "She praised it."),),
    )
    made, base, text = assembled(TEXT, draft)
    found = mentions(made.extraction)
    assert set(found) >= {m.normal_form for m in base.mentions} | {"difference engine"}
    engine = found["difference engine"]
    (span,) = engine.spans
    assert text[span.start : span.end] == engine.name == "difference engine"
    assert (engine.type, engine.about > 0) == ("PRODUCT", True)
    assert ("ada lovelace", "praised", "difference engine") in relations(made.extraction)
    (added,) = [r for r in made.extraction.relations if r.relation == "praised"]
    assert added.description == "She praised it."
    assert added.span is not None
    assert text[added.span.start : added.span.end].startswith("She praised")
    assert [d.text for d in made.descriptions] == ["a machine"]
    assert (made.kept, made.complaints) == (3, ())


def test_a_name_that_is_not_in_the_chunk_is_dropped_with_its_relations() -> None:
    draft = Draft(
        (EntityDraft("Isaac Newton"), EntityDraft("Charles Babbage")),
        (RelationDraft("Isaac Newton", "taught", "Charles Babbage"),),
    )
    made, base, _ = assembled(TEXT, draft)
    assert "isaac newton" not in mentions(made.extraction)
    assert relations(made.extraction) == relations(base)
    assert [c.reason for c in made.complaints] == [
        "the name is not in the text",
        "an end of the relation is not in the text",
    ]


def test_titles_documents_and_memory_may_name_what_the_chunk_calls_shorter() -> None:
    draft = Draft((EntityDraft("Ebenezer Scrooge"),))
    text = "Then Scrooge went home."
    assert assembled(text, draft, rules=False)[0].kept == 0
    for around in (
        ReplyContext(document_text="Ebenezer Scrooge was old. Then Scrooge went home."),
        ReplyContext(document_text="He was old: Ebenezer\n  Scrooge. Then Scrooge went home."),
        ReplyContext(memory="Ebenezer Scrooge (PERSON)\nEbenezer Scrooge | employs | Cratchit"),
    ):
        made, _, whole = assembled(text, draft, around=around, rules=False)
        (mention,) = made.extraction.mentions
        (span,) = mention.spans
        assert (mention.name, whole[span.start : span.end]) == ("Ebenezer Scrooge", "Scrooge")
    made, _, _ = assembled("He went home.", draft, title="Ebenezer Scrooge", rules=False)
    assert [m.spans for m in made.extraction.mentions] == [()]


@pytest.mark.parametrize("name", ["She", "他们", "该", "it"])
def test_pronouns_are_no_entities(name) -> None:
    made, _, _ = assembled(f"{TEXT} 他们来了。该人走了。", Draft((EntityDraft(name),)), rules=False)
    assert made.kept == 0


def test_an_end_that_no_line_lists_is_an_entity_if_the_text_has_it() -> None:
    draft = Draft((), (RelationDraft("Charles Babbage", "was in", "London"),))
    made, _, _ = assembled(TEXT, draft, rules=False)
    assert set(mentions(made.extraction)) == {"charles babbage", "london"}


def test_a_relation_of_a_thing_to_itself_is_no_relation() -> None:
    draft = Draft((), (RelationDraft("London", "is", "LONDON"),))
    made, _, _ = assembled(TEXT, draft, rules=False)
    assert made.extraction.relations == ()
    assert "itself" in made.complaints[0].reason


def test_a_relation_that_rules_found_too_is_one_with_a_description() -> None:
    text = " ".join(["Charles Babbage designed the Analytical Engine."] * 2)
    draft = Draft(
        (), (RelationDraft("Charles Babbage", "designed", "Analytical Engine", "From 1837."),)
    )
    made, base, _ = assembled(text, draft)
    assert relations(made.extraction) == relations(base)
    (one,) = [r for r in made.extraction.relations if r.relation == "designed"]
    assert (one.weight, one.description) == (2, "From 1837.")


def test_a_relation_without_a_label_has_one_in_its_language() -> None:
    draft = Draft((), (RelationDraft("蔡元培", "", "北京大学", "他曾任校长。"),))
    made, _, _ = assembled(HAN, draft, around=ReplyContext(language="zh"), rules=False)
    assert [r.relation for r in made.extraction.relations] == ["相关"]


def test_chinese_names_inside_longer_ones_are_not_counted_twice() -> None:
    draft = Draft(
        (
            EntityDraft("北京", "地点", "城市"),
            EntityDraft("北京大學", "组织"),
            EntityDraft("蔡元培", "人物"),
        )
    )
    made, _, text = assembled(HAN, draft, rules=False)
    found = mentions(made.extraction)
    assert {form: m.type for form, m in found.items()} == {
        "北京": "PLACE", "北京大学": "ORGANIZATION", "蔡元培": "PERSON"
    }  # fmt: skip
    assert len(found["北京大学"].spans) == 2
    (alone,) = found["北京"].spans
    assert text[alone.start - 1] == "于"
    assert found["北京大学"].name == "北京大学"


def test_a_name_inside_a_longer_one_is_not_counted_where_rules_saw_more() -> None:
    document, chunks = cut("", "An opening.", "We read the New York Times in York.")
    chunk = chunks[1]
    start = document.text.index("York Times")
    across = Span(start, start + len("York Times"))
    base = Extraction(chunk.id, (Mention(chunk.id, "york", "York Times", "", (across,)),))
    draft = Draft((EntityDraft("New York Times"), EntityDraft("York")))
    found = mentions(assemble(draft, chunk, base).extraction)
    alone = Span(document.text.rindex("York"), document.text.rindex("York") + len("York"))
    assert found["york"].spans == (across, alone)
    assert [found[form].about for form in ("york", "new york times")] == [0.3, 0.3]


def test_types_of_a_schema_precede_types_of_rules() -> None:
    draft = Draft(
        (EntityDraft("London", "Town"),), (RelationDraft("Ada Lovelace", "IN_TOWN", "London"),)
    )
    made, _, _ = assembled(TEXT, draft, around=ReplyContext(typed=True))
    assert mentions(made.extraction)["london"].type == "Town"
    assert "IN_TOWN" in {r.relation for r in made.extraction.relations}
    made, base, _ = assembled(TEXT, draft)
    assert mentions(made.extraction)["london"].type == mentions(base)["london"].type


WORDS = ["Ada Lovelace", "lovelace", "London", "notes", "the engine", "Babbage", "Paris", "她", ""]
ENTITIES = st.builds(
    EntityDraft, st.sampled_from(WORDS), st.sampled_from(["", "PERSON", "x"]), st.just("s")
)
RELATIONS = st.builds(
    RelationDraft, st.sampled_from(WORDS), st.sampled_from(["", "of"]), st.sampled_from(WORDS)
)


@given(st.lists(ENTITIES, max_size=5), st.lists(RELATIONS, max_size=5))
def test_nothing_of_the_rules_is_taken_away_and_records_add_up(entities, relations_drafted) -> None:
    draft = Draft(tuple(entities), tuple(relations_drafted))
    made, base, _ = assembled(TEXT, draft)
    assert made.kept + len(made.complaints) == draft.records
    found = mentions(made.extraction)
    for mention in base.mentions:
        after = found[mention.normal_form]
        assert after.about >= mention.about
        assert set(after.spans) >= set(mention.spans)
        assert after.type == mention.type or not mention.type
    weights = {(r.source, r.relation, r.target): r.weight for r in made.extraction.relations}
    assert all(weights[r.source, r.relation, r.target] == r.weight for r in base.relations)
    assert Counter(m.normal_form for m in made.extraction.mentions).most_common(1)[0][1] == 1
    ids = {m.entity_id for m in made.extraction.mentions}
    assert all({r.source, r.target} <= ids for r in made.extraction.relations)
