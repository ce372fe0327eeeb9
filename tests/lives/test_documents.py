"""Files of a folder become documents, change, move, disappear, and cost nothing while they stay."""

import shutil
import zipfile

import pytest

import knotwork
from knotwork.records import Document

pytestmark = pytest.mark.slow


def uris(base):
    return {entry.uri for entry in base.documents() if not entry.error}


def test_a_folder_of_many_formats_is_indexed_and_a_bad_file_is_reported(kb, papers):
    found = uris(kb)
    assert len(found) == 28
    assert {"papers/en/travel-policy.docx", "papers/en/annual-report-2023.pdf"} <= found
    assert {"papers/en/kestrel-probe.html", "papers/en/staff.csv"} <= found
    assert {"papers/en/deployments.json", "papers/zh/差旅管理办法.md"} <= found
    (failed,) = [entry for entry in kb.documents() if entry.error]
    assert failed.uri == "papers/more/broken.docx"
    assert failed.error_reason
    stats = kb.stats()
    assert (stats.documents, stats.failed, stats.embedder) == (28, 1, "hashing:64")
    assert stats.chunks > stats.documents
    assert stats.graph.relations["has manager"] >= 7


def test_files_in_an_archive_are_documents_of_their_own(kb):
    inside = sorted(uri for uri in uris(kb) if "notes.zip" in uri)
    assert inside == [
        "papers/more/notes.zip/workshop/rope-log.md",
        "papers/more/notes.zip/workshop/tools.csv",
    ]
    answer = kb.ask("At what weight does the grey rope break?")
    assert "900 kilograms" in answer.text
    assert answer.citations[0].document == inside[0]


def test_a_document_has_its_text_and_a_tree_of_blocks(kb):
    document = kb.document("papers/more/handbook.md")
    assert document.title == "Handbook"
    assert document.metadata["author"] == "Dario Fenn"
    assert document.language == "en"
    blocks = [node.block for root in document.tree for node in root.walk()]
    sections = [block.label for block in blocks if block.kind == "section"]
    assert sections == ["Handbook", "Approval", "Steps"]
    items = [b for b in blocks if b.kind == "item"]
    assert [document.text[b.span.start : b.span.end] for b in items] == [
        "1. Ask the workshop.",
        "2. Fill in the blue form.",
        "3. Send the form to Dario Fenn.",
    ]


def test_a_word_file_a_page_of_the_web_and_a_table_are_read_as_markdown(kb):
    policy = kb.document("papers/en/travel-policy.docx")
    assert "# Travel policy" in policy.text
    assert "Trips abroad are approved by the Travel Office" in policy.text
    probe = kb.document("papers/en/kestrel-probe.html")
    assert probe.title == "The Kestrel probe"
    assert "<" not in probe.text
    staff = kb.document("papers/en/staff.csv")
    assert "Petra Oyelund" in staff.text
    report = kb.document("papers/en/annual-report-2023.pdf")
    assert report.pages
    assert report.media_type == "application/pdf"


def test_files_that_did_not_change_cost_nothing(own_papers, tmp_path):
    with knotwork.open(tmp_path / "a.knot") as base:
        first = base.index(own_papers)
        assert (first.added, first.changed, first.unchanged) == (4, 0, 0)
        assert first.embedded > 0
        before = base.stats()
        again = base.index(own_papers)
        assert (again.added, again.changed, again.unchanged) == (0, 0, 4)
        assert (again.embedded, again.chunks) == (0, 0)
        assert base.stats() == before


def test_a_changed_file_is_read_again_and_the_others_are_not(own_papers, tmp_path):
    handbook = own_papers / "more" / "handbook.md"
    with knotwork.open(tmp_path / "a.knot") as base:
        base.index(own_papers)
        text = handbook.read_text("utf-8")
        handbook.write_text(text.replace("blue form", "yellow form"), "utf-8")
        report = base.index(own_papers)
        assert (report.added, report.changed, report.unchanged) == (0, 1, 3)
        assert "yellow form" in base.document("papers/more/handbook.md").text
        hits = base.search("Which form is it?", retriever="bm25").hits
        assert not any("blue" in hit.chunk.text for hit in hits)


def test_a_renamed_file_is_the_same_document_under_another_name(own_papers, tmp_path):
    with knotwork.open(tmp_path / "a.knot") as base:
        base.index(own_papers)
        shutil.move(own_papers / "en" / "oriane-keld.txt", own_papers / "en" / "keld.txt")
        report = base.index(own_papers)
        assert report.added == 1
        assert report.removed == ("papers/en/oriane-keld.txt",)
        assert report.unchanged == 3
        assert "papers/en/keld.txt" in uris(base)
        assert "papers/en/oriane-keld.txt" not in uris(base)
        cited = base.ask("Where was Oriane Keld born?").citations[0]
        assert cited.document == "papers/en/keld.txt"


def test_a_file_that_is_gone_is_forgotten_with_its_entities(own_papers, tmp_path):
    with knotwork.open(tmp_path / "a.knot") as base:
        base.index(own_papers)
        assert base.graph.explore("Tarnby").nodes
        (own_papers / "en" / "oriane-keld.txt").unlink()
        report = base.index(own_papers)
        assert report.removed == ("papers/en/oriane-keld.txt",)
        assert base.stats().documents == 3
        with pytest.raises(knotwork.KnotworkError, match="Tarnby"):
            base.graph.explore("Tarnby")


def test_deleting_documents_by_name_leaves_an_index_of_the_others(own_papers, tmp_path):
    with knotwork.open(tmp_path / "a.knot") as base:
        base.index(own_papers)
        assert base.delete("papers/zh/温青岚.txt") == ("papers/zh/温青岚.txt",)
        assert len(uris(base)) == 3
        assert not base.search("海图", retriever="bm25").hits
        with pytest.raises(knotwork.KnotworkError, match="温青岚"):
            base.delete("papers/zh/温青岚.txt")


def test_documents_in_memory_are_indexed_replaced_and_dropped():
    with knotwork.open("memory:") as base:
        texts = {"a": "Ada Stone leads the Night Squad.", "b": "乙队由李华带领。"}
        report = base.index_documents([Document(uri, text) for uri, text in texts.items()])
        assert report.added == 2
        assert "李华" in base.ask("乙队由谁带领？").text
        report = base.index_documents([Document("a", "Bo Finch leads it.")], remove_others=True)
        assert (report.changed, report.removed) == (1, ("b",))
        assert base.document("a").text == "Bo Finch leads it."


def test_steps_report_the_progress_of_indexing(own_papers, tmp_path):
    (own_papers / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    with knotwork.open(tmp_path / "a.knot") as base:
        run = base.index.run(own_papers)
        steps = list(run)
    kinds = [step.stage for step in steps]
    assert kinds[-1] == "finished"
    assert kinds.count("added") == 4
    assert "discovered" in kinds
    (failure,) = [step.value for step in steps if step.stage == "failed"]
    assert failure.uri == "papers/bad.pdf"
    assert failure.message
    assert run.result().failures[0].uri == "papers/bad.pdf"


def test_worker_processes_make_the_same_index_as_one_process(own_papers, tmp_path):
    figures = []
    for workers in (0, 2):
        with knotwork.open(tmp_path / f"{workers}.knot", index_workers=workers) as base:
            base.index(own_papers)
            figures.append(base.stats())
            base.graph.explore("Oriane Keld", depth=1).format()
    assert figures[0] == figures[1]


def test_a_bad_archive_does_not_stop_the_good_files_beside_it(own_papers, tmp_path):
    (own_papers / "bad.zip").write_bytes(b"PK\x03\x04 cut off")
    with zipfile.ZipFile(own_papers / "outside.zip", "w") as packed:
        packed.writestr("../outside.txt", "I got out.")
        packed.writestr("inside.txt", "I stayed inside.")
    with knotwork.open(tmp_path / "a.knot") as base:
        report = base.index(own_papers)
        assert any(failure.uri.startswith("papers/bad.zip") for failure in report.failures)
        assert not (tmp_path / "outside.txt").exists()
        assert report.added >= 4


def test_embedding_anew_replaces_all_vectors_without_reading_files(own_papers, tmp_path):
    path = tmp_path / "a.knot"
    with knotwork.open(path) as base:
        base.index(own_papers)
        report = base.embed("hashing:32")
        assert report.embedder == "hashing:32"
        assert report.embedded > 0
    with knotwork.open(path, embedder="hashing:32") as base:
        assert base.stats().embedder == "hashing:32"
        assert base.index(own_papers).unchanged == 4
        assert base.search("Who founded it?", retriever="dense").hits
