"""Extractive reports: cited exactly, in the language of the documents, written only when needed."""

from dataclasses import replace

import pytest
from tests.indexing.communities.worlds import (
    CHINESE,
    TOPICS,
    all_documents,
    make_index,
    topic_documents,
)

from knotwork._indexing.communities.detection import (
    CommunityOptions,
    refresh_communities,
    stored_communities,
)
from knotwork._indexing.communities.extractive_reports import (
    ReportSentence,
    central_names,
    key_phrases,
)
from knotwork._indexing.communities.index_reports import refresh_reports
from knotwork._text.statements import choose_sentences, flat_text, is_prose
from knotwork.records import Document, Entity, Span, Support

OPTIONS = CommunityOptions(max_size=4)


def reported(documents, path="memory:"):
    base = make_index(documents, path)
    refresh_communities(base.store, OPTIONS)
    refresh_reports(base.store)
    return base


def reports_of(base):
    communities = stored_communities(base.store.communities)
    return base.store.communities.reports([community.id for community in communities])


def contents(base):
    return sorted(
        (r.content_key, r.title, r.summary, r.findings, r.rating) for r in reports_of(base).values()
    )


def sentence(text, coverage=1.0, origin="o"):
    return ReportSentence(Support("c", Span(0, len(text))), text, coverage, origin)


def test_every_finding_is_a_passage_of_a_chunk_of_its_community(tmp_path):
    base = reported(all_documents(), tmp_path / "a.knot")
    communities = stored_communities(base.store.communities)
    reports = reports_of(base)
    assert reports.keys() == {community.id for community in communities}
    for community in communities:
        report = reports[community.id]
        assert report.findings
        for finding in report.findings:
            (support,) = finding.supports
            assert support.chunk_id in community.chunk_ids
            chunk = base.store.documents.chunks([support.chunk_id])[support.chunk_id]
            assert support.span in chunk.sentences
            document = base.store.documents.documents([chunk.document_id])[chunk.document_id]
            assert finding.text == flat_text(document.text[slice(*support.span)])
    base.close()


def test_reports_name_their_topic_and_are_found_by_search():
    base = reported(all_documents())
    reports = reports_of(base)
    for topic, names in TOPICS.items():
        best = base.store.texts("report").search(f"{topic} {names[0]}", k=1)[0].id
        assert any(name in reports[best].summary for name in names)
        assert topic in reports[best].summary
        assert (reports[best].language, reports[best].source) == ("en", "extractive")


def test_a_chinese_document_is_reported_in_chinese():
    base = reported([Document("a.txt", CHINESE)])
    reports = reports_of(base).values()
    assert "北京大学" in {report.title for report in reports}
    for report in reports:
        assert report.language == "zh"
        assert "核心名称：" in report.summary
        assert "Names" not in report.text


def test_only_what_changed_is_written_again_and_equals_a_fresh_build():
    base = reported(all_documents())
    before = reports_of(base)
    assert refresh_reports(base.store).written == 0
    base.delete("kitchen-2.txt")
    refresh_communities(base.store, OPTIONS)
    changes = refresh_reports(base.store)
    after = reports_of(base)
    same = {key for key in after if before.get(key) == after[key]}
    assert changes.written == len(after) - len(same)
    assert 0 < changes.written < len(after)
    refresh_communities(base.store, OPTIONS, rebuild=True)
    refresh_reports(base.store)
    fresh = reported([d for d in all_documents() if d.uri != "kitchen-2.txt"])
    assert contents(base) == contents(fresh)
    assert reports_of(base) == reports_of(fresh)


def test_a_deletion_leaves_no_report_that_cites_it_nor_finds_it():
    base = reported([*all_documents(), *topic_documents("kitchen", 5)])
    (gone,) = [
        d
        for d in base.store.documents.documents(base.store.documents.document_ids()).values()
        if d.uri == "kitchen-1.txt"
    ]
    chunks = set(base.store.documents.chunk_ids_of([gone.id])[gone.id])
    cited = {key for key, report in reports_of(base).items() if chunks & set(report.chunk_ids)}
    assert cited
    base.delete("kitchen-1.txt")
    assert not cited & reports_of(base).keys()
    found = {scored.id for scored in base.store.texts("report").search("kitchen Odette", k=99)}
    assert not cited & found


def test_a_report_of_a_model_is_kept_while_its_material_is_the_same():
    base = reported(all_documents())
    key, report = next(iter(reports_of(base).items()))
    written = replace(report, summary="By a model.", source="some-model")
    base.store.communities.put_reports([written])
    refresh_reports(base.store)
    assert reports_of(base)[key] == written
    base.store.communities.put_reports([replace(written, content_key="old")])
    refresh_reports(base.store)
    assert reports_of(base)[key] == report


def central(sentences, count):
    texts, worths = [s.text for s in sentences], [s.coverage for s in sentences]
    places = choose_sentences(texts, worths, [s.origin for s in sentences], count=count)
    return [sentences[place] for place in places]


def test_sentences_are_not_repeated():
    sentences = [
        sentence("The harbour master counted every boat in the bay.", 1.0, "a"),
        sentence("The harbour master counted every boat in the bay today.", 0.9, "b"),
        sentence("A storm destroyed the northern pier during winter.", 0.6, "c"),
    ]
    assert central(sentences, count=2) == [sentences[0], sentences[2]]
    assert central([], count=3) == []


def test_sentences_like_many_others_are_central():
    others = [f"The council discussed the harbour budget in meeting {n}." for n in "abcd"]
    sentences = [sentence(text, 0.5, text) for text in others]
    odd = sentence("Purple elephants rarely enjoy cinnamon tea at midnight.", 0.5, "odd")
    assert central([odd, *sentences], count=1)[0] != odd


@pytest.mark.parametrize(
    ("texts", "language", "expected"),
    [
        (
            ["Solar panel prices fell.", "Cheap solar panel prices rose again."],
            "en",
            ["solar panel prices"],
        ),
        (["数据中心的能源消耗。", "数据中心的能源效率。"], "zh", ["数据中心"]),
        (["Only once here."], "en", []),
        ([], "en", []),
    ],
)
def test_key_phrases_round_trip(texts, language, expected):
    assert key_phrases(texts, language=language)[: len(expected)] == expected
    assert bool(key_phrases(texts, language=language)) == bool(expected)


def test_key_phrases_are_written_as_in_the_text():
    texts = [
        "Mail queues of Ilse Tarrant use pg_restore jobs.",
        "The mail queues and pg_restore jobs belong to Ilse Tarrant.",
        "Mail queues grow.",
        "Release 15 notes.",
        "Release 16 notes.",
    ]
    found = key_phrases(texts, language="en")
    assert {"Mail queues", "Ilse Tarrant", "pg_restore jobs"} <= set(found)
    assert key_phrases(texts[:2], language="en").count("mail queues") == 1
    assert not any("release" in phrase.lower() for phrase in found)


def test_names_in_a_title_differ():
    entities = [
        Entity("1", "2020", "2020", "DATE", 9),
        Entity("2", "Ada Lovelace", "ada lovelace", "", 5),
        Entity("3", "Lovelace", "lovelace", "", 3),
        Entity("4", "notes_of_ada", "notes_of_ada", "", 2),
        Entity("5", "Byron", "byron", "", 1),
    ]
    assert central_names(entities) == ["Ada Lovelace", "Byron"]
    assert central_names(entities[:1]) == ["2020"]


def test_prose_is_separated_from_the_rest():
    assert is_prose("The harbour was closed for the whole winter.")
    assert is_prose("北京大学位于北京市海淀区中关村。")
    assert not is_prose("| 1 | 2 | a table with some words in it |")
    assert not is_prose("12 340 551 22 98 112 4 7 99 2024 12 1 9 8")
    assert not is_prose("Short.")
    assert not is_prose("Minutes_of_the_Harbour_Board.txt and so the meeting went on.")
