import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut, extract, mentions, relations

from knotwork._extensions.graphs.recorded_extractor import RecordedExtractor, Recording
from knotwork._transform.extractor import make_extractor
from knotwork._transform.rules import RuleExtractor
from knotwork.errors import ConfigError
from knotwork.records import Document
from knotwork.testing import ExtractorContract

TEXT = "Ada Lovelace wrote notes. She praised the difference engine of Charles Babbage."
OTHER = "Charles Babbage was born in London."


def recording(tmp_path: Path, *rows: object) -> Recording:
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return Recording.read(path)


def row(*triples: object, entities: object = (), pid: str = "test.txt") -> dict[str, object]:
    return {"pid": pid, "entities": list(entities), "triples": list(triples)}


class TestRecorded(ExtractorContract):
    @pytest.fixture
    def extractor(self, tmp_path):
        triple = ["Ada Lovelace", "wrote", "first program"]
        said = row(triple, entities=["first program", "张伟"], pid="engine.md")
        return RecordedExtractor(recording(tmp_path, said))


def test_a_recording_adds_to_the_rules_and_says_where(tmp_path) -> None:
    said = row(["Ada Lovelace", "praised", "difference engine"], entities=["difference engine"])
    document, chunks = cut("", TEXT)
    extractor = RecordedExtractor(recording(tmp_path, said))
    (made,) = extractor.extract(document, chunks)
    (base,) = extract("", TEXT)
    assert set(mentions(made)) == set(mentions(base)) | {"difference engine"}
    assert ("ada lovelace", "praised", "difference engine") in relations(made)
    (added,) = [r for r in made.relations if r.relation == "praised" and r.span]
    assert document.text[added.span.start : added.span.end].startswith("She praised")
    assert added.description == "Ada Lovelace praised difference engine"
    assert relations(base) <= relations(made)


def test_each_chunk_has_its_own_facts_and_complaints_belong_to_the_document(tmp_path) -> None:
    said = row(
        ["Ada Lovelace", "praised", "difference engine"],
        ["Charles Babbage", "born in", "London"],
        ["Isaac Newton", "born in", "Woolsthorpe"],
    )
    document, chunks = cut("", TEXT, OTHER)
    extractor = RecordedExtractor(recording(tmp_path, said))
    (first, second), complaints = extractor.read_document(document, chunks)
    assert ("charles babbage", "born in", "london") not in relations(first)
    assert ("charles babbage", "born in", "london") in relations(second)
    assert "isaac newton" not in {*mentions(first), *mentions(second)}
    (complaint,) = complaints
    assert "Isaac Newton" in complaint.line


def test_longer_triples_are_read_shorter_ones_are_counted(tmp_path) -> None:
    recorded = recording(
        tmp_path,
        row(
            ["Ada Lovelace", "is", "admirer of", "Charles Babbage"],
            ["Ada Lovelace", "wrote notes"],
            ["Ada Lovelace", "wrote", 3],
            ["Ada Lovelace", "wrote", "notes"],
            ["Ada Lovelace", "wrote", "notes"],
            ["Ada Lovelace", "wrote", "..."],
            "Ada Lovelace wrote notes",
            entities=["Ada Lovelace", 7],
        ),
    )
    (draft,) = recorded.drafts.values()
    assert [r.relation for r in draft.relations] == ["is admirer of", "wrote"]
    assert Counter(complaint.reason for complaint in draft.complaints) == {
        "a triple with 2 parts": 1,
        "not a triple of texts": 2,
        "a name is missing": 1,
        "not a name": 1,
    }
    assert draft.records + len(draft.complaints) + draft.repeated == 9


def test_lines_of_one_document_add_up_and_others_have_the_rules_alone(tmp_path) -> None:
    recorded = recording(
        tmp_path,
        row(entities=["notes"]),
        {"uri": "test.txt", "triples": [["Ada Lovelace", "wrote", "notes"]]},
        row(entities=["notes"], pid="elsewhere.txt"),
    )
    assert set(recorded.drafts) == {"test.txt", "elsewhere.txt"}
    assert recorded.drafts["test.txt"].records == 2
    document, chunks = cut("", TEXT)
    extractor = RecordedExtractor(recorded)
    other = Document("other.txt", document.text)
    assert extractor.extract(other, chunks) == RuleExtractor().extract(other, chunks)
    assert extractor.read_document(other, chunks)[1] == []


def test_the_name_changes_with_the_recording(tmp_path) -> None:
    first = RecordedExtractor(recording(tmp_path, row(entities=["notes"])))
    second = RecordedExtractor(recording(tmp_path, row(entities=["engine"])))
    assert first.name != second.name
    assert first.name.endswith(RuleExtractor().name)


def test_a_recording_is_added_to_an_extractor_by_its_path(tmp_path) -> None:
    recording(tmp_path, row(entities=["difference engine"]))
    extractor = make_extractor(recording=tmp_path / "recorded.jsonl")
    (made,) = extractor.extract(*cut("", TEXT))
    assert "difference engine" in mentions(made)
    with pytest.raises(ConfigError, match="does not exist"):
        make_extractor(recording=tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 does not name its document"),
        ('{"entities": []}', "line 2 does not name its document"),
        ('{"pid": "a", "triples": "x"}', "`triples` in .*, line 2 is not a list"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path, line, said) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(f'{{"pid": "a"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        Recording.read(path)
    with pytest.raises(ConfigError, match="does not exist"):
        Recording.read(tmp_path / "none.jsonl")


@given(
    triples=st.lists(
        st.lists(
            st.sampled_from(["Ada Lovelace", "London", "notes", "praised", "", "X" * 200, "她"]),
            max_size=5,
        ),
        max_size=6,
    )
)
def test_nothing_is_lost_in_silence_and_the_rules_keep_all(tmp_path_factory, triples) -> None:
    recorded = recording(tmp_path_factory.mktemp("recorded"), row(*triples))
    draft = recorded.drafts["test.txt"]
    assert draft.records + len(draft.complaints) + draft.repeated == len(triples)
    document, chunks = cut("", TEXT, OTHER)
    made, _ = RecordedExtractor(recorded).read_document(document, chunks)
    for extraction, base in zip(made, extract("", TEXT, OTHER), strict=True):
        assert relations(base) <= relations(extraction)
        for form, mention in mentions(base).items():
            assert set(mention.spans) <= set(mentions(extraction)[form].spans)
            assert mention.about <= mentions(extraction)[form].about
