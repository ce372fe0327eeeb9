"""Triples as TSV and CSV, from the file to what an index answers."""

import pytest
from tests.indexing.graph_import.graph_files import edges_of, text_of, write

from knotwork.errors import IndexingError, UnknownName
from knotwork.records import ALIAS_RELATION

pytestmark = pytest.mark.slow


FILMS = (
    "Kismet\tdirected_by\tWilliam Dieterle\n"
    "Kismet\tstarred_actors\tMarlene Dietrich\n"
    "The Devil and Daniel Webster\tdirected_by\tWilliam Dieterle\n"
    "Kismet\trelease_year\t1944\n"
)


def test_each_triple_is_a_line_an_edge_and_two_mentions(opened, tmp_path):
    kb = opened()
    report = kb.graph.import_files(write(tmp_path, FILMS))
    assert (report.name, report.facts, report.things, report.relations) == ("films", 4, 5, 3)
    assert (report.documents, report.chunks, report.bad_lines) == (1, 2, {})
    assert text_of(kb) == (
        "Kismet directed by William Dieterle.\n"
        "Kismet starred actors Marlene Dietrich.\n"
        "Kismet release year 1944.\n\n"
        "The Devil and Daniel Webster directed by William Dieterle."
    )
    assert edges_of(kb) == {
        ("Kismet", "directed by", "William Dieterle"),
        ("Kismet", "starred actors", "Marlene Dietrich"),
        ("The Devil and Daniel Webster", "directed by", "William Dieterle"),
        ("Kismet", "release year", "1944"),
    }


@pytest.mark.parametrize(("header", "relation"), [("type", "directed"), ("relation", "Undirected")])
def test_a_relation_may_be_called_as_a_direction(opened, tmp_path, header, relation):
    kb = opened()
    kb.graph.import_files(
        write(tmp_path, f"source\t{header}\ttarget\nWilliam Dieterle\t{relation}\tKismet\n")
    )
    assert edges_of(kb) == {("William Dieterle", relation.lower(), "Kismet")}


def test_all_spans_point_at_what_they_say(opened, tmp_path):
    kb = opened()
    kb.graph.import_files(write(tmp_path, FILMS))
    (document,) = kb.store.documents.documents(kb.store.documents.document_ids()).values()
    chunk_ids = kb.store.documents.chunk_ids_of([document.id])[document.id]
    chunks = kb.store.documents.chunks(chunk_ids)
    for chunk in chunks.values():
        assert document.text[chunk.span.start : chunk.span.end] == chunk.text
        lines = [document.text[start:end] for start, end in chunk.sentences]
        assert lines == chunk.text.split("\n")
    for mentions in kb.store.graph.mentions(chunk_ids).values():
        for mention in mentions:
            assert mention.spans
            assert {document.text[s:e] for s, e in mention.spans} == {mention.name}


def test_it_is_asked_like_any_document(opened, tmp_path):
    kb = opened()
    kb.graph.import_files(write(tmp_path, FILMS))
    answer = kb.ask("Who directed Kismet?")
    assert answer.answered
    assert answer.citations[0].quote == "Kismet directed by William Dieterle."
    assert answer.citations[0].document == "graph:films"
    names = {node.name for node in kb.graph.explore("William Dieterle").nodes}
    assert {"Kismet", "The Devil and Daniel Webster", "1944"} <= names


def test_chinese_triples(opened, tmp_path):
    kb = opened()
    text = "权德舆\t儿子\t权璩\n权璩\t父亲\t权德舆\n权德舆\t职业\t宰相\n"
    kb.graph.import_files(write(tmp_path, text, encoding="gb18030"))
    assert "权德舆 儿子 权璩。" in text_of(kb)
    answer = kb.ask("权德舆的儿子是谁？")
    assert "权璩" in answer.text
    assert ("权璩", "父亲", "权德舆") in edges_of(kb)


def test_an_unchanged_file_is_left_as_it_is_and_a_changed_one_replaced(opened, tmp_path):
    kb = opened()
    path = write(tmp_path, FILMS)
    kb.graph.import_files(path)
    generation = kb.store.generation()
    assert kb.graph.import_files(path).unchanged
    assert kb.store.generation() == generation
    write(tmp_path, "Kismet\tdirected_by\tVincente Minnelli\n")
    report = kb.graph.import_files(path)
    assert not report.unchanged
    assert edges_of(kb) == {("Kismet", "directed by", "Vincente Minnelli")}
    assert kb.stats().documents == 1


def test_lines_that_cannot_be_read_are_counted_and_shown(opened, tmp_path):
    kb = opened()
    broken = "one\ttwo\n\tdirected_by\tNobody\nA\t\tB\nA\tb\t\na\tb\tc\td\n"
    report = kb.graph.import_files(write(tmp_path, FILMS + broken))
    assert report.facts == 4
    assert sum(report.bad_lines.values()) == 5
    assert [(bad.line, bad.reason) for bad in report.examples] == [
        (5, "expected 3 columns, found 2"),
        (6, "the subject is empty"),
        (7, "the relation is empty"),
        (8, "the object is empty"),
        (9, "expected 3 columns, found 4"),
    ]
    assert report.examples[0].text == "one\ttwo"


@pytest.mark.parametrize(
    "text",
    [
        "subject\trelation\tobject\n" + FILMS,
        "head,relation,tail\n" + FILMS.replace("\t", ","),
        "object;predicate;subject\n"
        + "".join(";".join(reversed(line.split("\t"))) + "\n" for line in FILMS.splitlines()),
        "主语|谓语|宾语\n" + FILMS.replace("\t", "|"),
        "\ufeff" + FILMS,
        FILMS.replace("\n", "\r\n"),
        FILMS.replace("\n", "\r"),
        "sep=;\n" + FILMS.replace("\t", ";"),
        "\n" + FILMS.replace("\n", "\n\n"),
        "# made by a program\n" + FILMS,
    ],
)
def test_headers_delimiters_and_line_ends_are_recognised(opened, tmp_path, text):
    kb = opened()
    kb.graph.import_files(write(tmp_path, text, name="films.csv"))
    assert ("Kismet", "directed by", "William Dieterle") in edges_of(kb)
    assert len(edges_of(kb)) == 4


def test_a_header_in_unknown_words_is_no_fact(opened, tmp_path):
    kb = opened()
    lines = "".join(
        f"film {n}\t{'made_in' if n % 2 else 'shot_in'}\tplace {n}\n" for n in range(20)
    )
    kb.graph.import_files(write(tmp_path, "movie\twhat\twhere\n" + lines))
    assert len(edges_of(kb)) == 20
    assert ("film 1", "made in", "place 1") in edges_of(kb)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_recognised(opened, tmp_path, encoding):
    kb = opened()
    text = "".join(
        f"Gert Fröbe\tspielte_in\tDer Film Nummer {n} für die große Bühne\n" for n in range(30)
    )
    kb.graph.import_files(write(tmp_path, text, encoding=encoding))
    assert ("Gert Fröbe", "spielte in", "Der Film Nummer 3 für die große Bühne") in edges_of(kb)


def test_quotation_marks_are_text_in_triples_with_tabs(opened, tmp_path):
    kb = opened()
    kb.graph.import_files(write(tmp_path, 'Ann\tknows\t"Red" Bob\nAnn\tknows\tCy "the Fox\n'))
    assert {target for *_, target in edges_of(kb)} == {'"Red" Bob', 'Cy "the Fox'}


def test_a_quotation_mark_that_is_never_closed_costs_its_line_alone(opened, tmp_path):
    kb = opened()
    text = 'a,"knows",b\n"c",knows,"never closed\n' + "x,knows,y\n" * 3 + '"p, q",knows,"r\ns"\n'
    report = kb.graph.import_files(write(tmp_path, text, name="people.csv"))
    assert edges_of(kb) == {("a", "knows", "b"), ("x", "knows", "y"), ("p, q", "knows", "r s")}
    assert report.examples[0].line == 2


def test_names_that_differ_by_their_brackets_are_two_things(opened, tmp_path):
    kb = opened()
    text = (
        "中国地质大学（武汉）\t位于\t武汉\n中国地质大学（北京）\t位于\t北京\n"
        "李四\t毕业于\t中国地质大学（武汉）\n"
    )
    report = kb.graph.import_files(write(tmp_path, text))
    assert report.shared_names == 2
    edges = edges_of(kb)
    assert ("李四", "毕业于", "中国地质大学，武汉") in edges or (
        "李四", "毕业于", "中国地质大学, 武汉"
    ) in edges  # fmt: skip
    assert not any(target == "北京" and "武汉" in source for source, _, target in edges)
    assert {relation for _, relation, _ in edges} == {"位于", "毕业于", ALIAS_RELATION}
    assert {"武汉", "北京"} <= {node.name for node in kb.graph.explore("中国地质大学").nodes}


def test_a_relation_of_a_thing_to_itself_is_text_alone(opened, tmp_path):
    kb = opened()
    report = kb.graph.import_files(write(tmp_path, "Annie Hall\thas_tags\tannie hall\n"))
    assert report.loops == 1
    assert edges_of(kb) == set()
    assert "Annie Hall has tags annie hall." in text_of(kb)


def test_relations_stay_apart_when_their_words_are_the_same(opened, tmp_path):
    kb = opened()
    kb.graph.import_files(write(tmp_path, "a1\tdirected_by\tb1\na1\tdirectedBy\tc1\n"))
    assert {relation for _, relation, _ in edges_of(kb)} == {"directed by", "directed_by"}


def test_a_hub_has_several_chunks(opened, tmp_path):
    kb = opened()
    report = kb.graph.import_files(
        write(tmp_path, "".join(f"Hub City\tborders\tVillage {n}\n" for n in range(300)))
    )
    assert report.chunks > 5
    assert len(edges_of(kb)) == 300


def test_a_graph_joins_documents_by_the_names_of_things(opened, tmp_path):
    kb = opened()
    kb.graph.import_files(write(tmp_path, FILMS))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(
        "# Visit\n\nMarlene Dietrich visited Fort Wayne with Ada Stone.", "utf-8"
    )
    kb.index(tmp_path / "notes")
    entity = kb.store.graph.lookup(["marlene dietrich"])["marlene dietrich"]
    assert entity.chunk_count == 2
    nodes = {node.name for node in kb.graph.explore("Ada Stone", depth=3).nodes}
    assert "Kismet" in nodes
    kb.index(tmp_path / "notes")
    assert kb.stats().documents == 2


@pytest.mark.parametrize("text", ["", "\n\n", "   \n"])
def test_a_file_without_a_fact_is_an_error(opened, tmp_path, text):
    with pytest.raises(IndexingError, match="No entity or relation"):
        opened().graph.import_files(write(tmp_path, text))


def test_invalid_graphs_are_reported(opened, tmp_path):
    kb = opened()
    with pytest.raises(IndexingError, match="does not exist"):
        kb.graph.import_files(tmp_path / "none.tsv")
    with pytest.raises(UnknownName):
        kb.graph.import_files(write(tmp_path, FILMS), format="triplet")
    path = tmp_path / "image.tsv"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(IndexingError, match="binary"):
        kb.graph.import_files(path)
    assert kb.stats().documents == 0


def test_one_thing_is_shown_in_its_best_spelling(opened, tmp_path):
    kb = opened()
    tagged = "".join(f"Film {n}\thas_tags\tcharles bronson\n" for n in range(3))
    text = f"{tagged}Film 9\tstarred\tCharles Bronson\nFilm 8\thas_genre\tWar\n"
    text += "Film 7\thas_genre\tWar\nThe War\tdirected_by\tJon Avnet\n"
    kb.graph.import_files(write(tmp_path, text))
    assert ("Film 0", "has tags", "Charles Bronson") in edges_of(kb)
    assert {("Film 7", "has genre", "War"), ("War", "directed by", "Jon Avnet")} <= edges_of(kb)
    assert "Film 0 has tags charles bronson." in text_of(kb)


def test_bytes_of_no_encoding_cost_no_fact(opened, tmp_path):
    kb = opened()
    path = tmp_path / "films.tsv"
    names = "".join(f"Gert Fröbe\tspielte_in\tDer große Film {n}\n" for n in range(60))
    path.write_bytes(names.encode() + b"Ann\tknows\tB\xf6b\n")
    report = kb.graph.import_files(path)
    assert report.facts == 61
    assert report.bad_lines == {"bytes that are not valid utf-8": 1}
    assert report.examples[0].kept
    assert report.examples[0].line == 61
