"""Reports by a model: few calls, each finding traced, nothing lost by faults or paid twice."""

import random
import re
from dataclasses import replace

import pytest
from tests.indexing.communities.worlds import CHINESE, TOPICS, topic_documents
from tests.indexing.communities.written import (
    OPTIONS,
    brain,
    indexed,
    reports_of,
    tops_of,
    writer,
)

from knotwork._extensions.model_indexing.written_reports import write_reports
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.communities.detection import refresh_communities, stored_communities
from knotwork._indexing.communities.index_reports import (
    bring_up_to_date,
    refresh_reports,
)
from knotwork._indexing.embedding import Embedding
from knotwork._inference.embedder import HashingEmbedder
from knotwork._text.token_counts import count_tokens
from knotwork.errors import StoreReadOnly
from knotwork.records import EXTRACTIVE_SOURCE, Document

pytestmark = pytest.mark.usefixtures("small_briefs")


def test_each_statement_of_a_report_is_traced_to_its_chunks(base):
    model = ScriptedChatModel(brain)
    changes = refresh_reports(base.store, writer=writer(model))
    communities = {c.id: c for c in stored_communities(base.store.communities)}
    assert changes.by_model > 0
    assert changes.stand_ins == 0
    written = [r for r in reports_of(base).values() if r.source == model.name]
    assert len(written) == changes.by_model
    for report in written:
        assert report.findings
        held = set(communities[report.community_id].chunk_ids)
        for finding in report.findings:
            assert finding.supports
            assert {support.chunk_id for support in finding.supports} <= held
            for support in finding.supports:
                chunk = base.store.documents.chunks([support.chunk_id])[support.chunk_id]
                assert support.span in chunk.sentences
    assert {request.stage for request in model.requests} == {"report"}


def test_a_title_of_a_model_that_names_no_theme_is_not_used(base):
    def vague(request):
        return re.sub(r"(?m)^title \|.*$", "title | Summary", brain(request))

    model = ScriptedChatModel(vague)
    refresh_reports(base.store, writer=writer(model))
    titles = {r.title for r in reports_of(base).values() if r.source == model.name}
    assert titles
    assert "Summary" not in titles


def test_nothing_is_asked_where_nothing_changed(base):
    model = ScriptedChatModel(brain)
    refresh_reports(base.store, writer=writer(model))
    before, calls = reports_of(base), len(model.requests)
    assert refresh_reports(base.store, writer=writer(model)).written == 0
    assert refresh_reports(base.store).written == 0
    assert refresh_reports(base.store, writer=writer(ScriptedChatModel([], name="o"))).written == 0
    assert (reports_of(base), len(model.requests)) == (before, calls)


def test_an_added_document_costs_the_reports_that_it_concerns(base):
    model = ScriptedChatModel(brain)
    refresh_reports(base.store, writer=writer(model, reports_a_call=1))
    before, calls = reports_of(base), len(model.requests)
    base.index_documents(list(topic_documents("kitchen", 5))[4:])
    refresh_communities(base.store, OPTIONS)
    refresh_reports(base.store, writer=writer(model, reports_a_call=1))
    after = reports_of(base)
    changed = {key for key in after if after[key].content_key != before.get(key, after[key])}
    renewed = {k for k in after if k not in before or after[k].content_key != before[k].content_key}
    by_model = [key for key in renewed if after[key].source == model.name]
    assert len(model.requests) - calls == len(by_model) > 0
    assert changed
    kept = after.keys() - renewed
    assert kept
    assert all(after[key].findings == before[key].findings for key in kept)
    prompts = "".join(r.messages[-1].content for r in model.requests[calls:])
    assert "observatory" not in prompts


def test_growing_a_community_changes_its_rating_without_a_call():
    base = indexed()
    model = ScriptedChatModel(brain)
    refresh_reports(base.store, writer=writer(model))
    report = next(r for r in reports_of(base).values() if r.source == model.name)
    base.store.communities.put_reports([replace(report, rating=9.9)])
    calls = len(model.requests)
    refresh_reports(base.store)
    assert reports_of(base)[report.community_id] == report
    assert len(model.requests) == calls


def test_small_communities_keep_the_sentences_of_the_documents():
    base = indexed()
    model = ScriptedChatModel(brain)
    refresh_reports(base.store, writer=writer(model, least_tokens=100_000))
    tops = {community.id for community in tops_of(base)}
    by_model = {key for key, r in reports_of(base).items() if r.source == model.name}
    assert by_model == tops
    assert tops


def test_chosen_reports_are_written_alone_and_stay(base):
    refresh_reports(base.store)
    before = reports_of(base)
    top = tops_of(base)[0]
    model = ScriptedChatModel(brain)
    found = write_reports(base.store, [top.id], writer(model))
    assert found.keys() == {top.id}
    assert found[top.id].source == model.name
    assert len(model.requests) == 1
    after = reports_of(base)
    assert {key for key in after if after[key] != before[key]} == {top.id}
    write_reports(base.store, [top.id], writer(model))
    assert len(model.requests) == 1
    # The parent was written from extractive reports; that its children are written later, and
    # that the index is brought up to date without a model, takes nothing of it away.
    children = [c.id for c in stored_communities(base.store.communities) if c.parent_id == top.id]
    written = write_reports(base.store, children, writer(model))
    assert model.name in {report.source for report in written.values()}
    assert refresh_reports(base.store).written == 0
    assert reports_of(base)[top.id] == found[top.id]


def test_reports_are_written_where_none_are_yet():
    base = indexed()
    top = tops_of(base)[0]
    found = write_reports(base.store, [top.id], writer())
    assert found[top.id].source != EXTRACTIVE_SOURCE
    assert reports_of(base).keys() == {top.id}
    assert (
        refresh_reports(base.store).written == len(stored_communities(base.store.communities)) - 1
    )
    assert reports_of(base)[top.id] == found[top.id]


def test_extractive_reports_quote_the_documents_whoever_wrote_below():
    base = indexed()
    plain = indexed()
    refresh_reports(plain.store)
    tops = {community.id for community in tops_of(base)}
    below = [c.id for c in stored_communities(base.store.communities) if c.id not in tops]
    write_reports(base.store, below, writer(ScriptedChatModel(_rewrite)))
    assert "They say that" in str(reports_of(base))
    refresh_reports(base.store)
    for key in tops:
        assert reports_of(base)[key] == reports_of(plain)[key]


def _rewrite(request):
    """Return reports whose findings are no sentences of the documents."""
    return re.sub(r"finding \| (\w+)", r"finding | They say that \1", brain(request))


def test_briefs_of_parents_hold_the_reports_below():
    base = indexed()
    model = ScriptedChatModel(_rewrite)
    refresh_reports(base.store, writer=writer(model))
    assert any("They say that" in request.messages[-1].content for request in model.requests)
    top = reports_of(base)[tops_of(base)[0].id]
    assert all(finding.supports for finding in top.findings)


def test_a_chinese_document_is_reported_in_chinese():
    base = indexed([Document("a.txt", CHINESE), *topic_documents("kitchen")])
    model = ScriptedChatModel(brain)
    refresh_reports(base.store, writer=writer(model, least_tokens=30))
    languages = {(r.language, r.source) for r in reports_of(base).values() if "北京" in r.text}
    assert languages == {("zh", model.name)}
    for request in model.requests:
        system, user = (message.content for message in request.messages)
        assert ("北京" in user) == ("报告" in system)
        assert system.startswith("task: report-community\n")


def test_reports_are_found_by_what_they_say(base):
    embedding = Embedding(HashingEmbedder(64))
    refresh_reports(base.store, embedding=embedding)
    assert base.store.vectors("report").count() == len(reports_of(base))
    changes = refresh_reports(base.store, writer=writer(), embedding=embedding)
    assert changes.by_model > 0
    for key, report in reports_of(base).items():
        row = embedding.embed_names([f"{report.title}\n{report.summary}"])[0]
        assert base.store.vectors("report").search(row, k=1)[0].score == pytest.approx(1, abs=1e-3)
        assert base.store.vectors("report").get([key])[key][0] @ row == pytest.approx(1, abs=1e-3)
        assert key in {s.id for s in base.store.texts("report").search(report.summary, k=20)}
    base.delete("kitchen-1.txt")
    assert base.store.vectors("report").count() == len(reports_of(base))
    refresh_communities(base.store, OPTIONS)
    refresh_reports(base.store)
    refresh_reports(base.store, embedding=embedding)
    assert base.store.vectors("report").count() == len(reports_of(base))


class _English(HashingEmbedder):
    languages = frozenset({"en"})


def test_a_report_in_a_language_that_is_not_read_gets_no_vector():
    base = indexed([Document("a.txt", CHINESE), *topic_documents("kitchen")])
    refresh_reports(base.store, embedding=Embedding(_English(32)))
    reports = reports_of(base)
    vectors = base.store.vectors("report").get(reports.keys())
    assert vectors.keys() == {key for key, report in reports.items() if report.language == "en"}
    assert vectors
    assert len(vectors) < len(reports)


def test_nothing_is_asked_that_cannot_be_kept(tmp_path):
    import knotwork

    base = indexed(path=tmp_path / "a.knot")
    refresh_reports(base.store)
    top = tops_of(base)[0].id
    base.close()
    model = ScriptedChatModel(brain)
    with knotwork.open(tmp_path / "a.knot", read_only=True, embedding_model="none") as reader:
        with pytest.raises(StoreReadOnly):
            bring_up_to_date(reader.store, writer=writer(model))
        with pytest.raises(StoreReadOnly):
            write_reports(reader.store, [top], writer(model))
    assert model.requests == []


def test_a_brief_keeps_its_ceiling_and_cannot_end_itself():
    documents = [
        Document(f"{n}.txt", f"{d.text} </community> See [{n}] and [site](https://a.example/{n}).")
        for n, d in enumerate(topic_documents("harbour", 5))
    ]
    base = indexed(documents)
    model = ScriptedChatModel(brain)
    refresh_reports(base.store, writer=writer(model, least_tokens=0, reports_a_call=1))
    for request in model.requests:
        system, user = (message.content for message in request.messages)
        assert count_tokens(user) <= 180 + 20
        assert user.count("</community>") == 1
        assert "[site]" not in user
        assert "(https" not in user
        numbers = [int(n) for n in re.findall(r"^\[(\d+)\]", user, re.MULTILINE)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(re.findall(r"\[\d+\]", user)) == len(numbers)
        assert count_tokens(system) <= 175


def test_order_of_documents_makes_no_difference():
    documents = [document for topic in TOPICS for document in topic_documents(topic)]
    shuffled = documents[:]
    random.Random(3).shuffle(shuffled)
    base, other = indexed(documents), indexed(shuffled)
    refresh_reports(base.store, writer=writer())
    refresh_reports(other.store, writer=writer())
    assert reports_of(base) == reports_of(other)


def test_reports_of_others_stay_while_their_material_is_the_same(base):
    """As those do that were brought in from another system, with its ratings."""
    refresh_reports(base.store)
    top = tops_of(base)[0].id
    foreign = replace(reports_of(base)[top], summary="Theirs.", rating=7.25, source="graphrag")
    base.store.communities.put_reports([foreign])
    model = ScriptedChatModel(brain)
    assert write_reports(base.store, [top], writer(model)) == {top: foreign}
    assert model.requests == []
    refresh_reports(base.store, writer=writer(model))
    assert reports_of(base)[top] == foreign
