"""Tables of nodes and edges, in the layouts of several systems."""

import pytest
from tests.indexing.graph_import.graph_files import edges_of, text_of, type_of, write

from knotwork.errors import IndexingError

PEOPLE = "id,name,age,member\n1,Ada Stone,44,true\n2,Bo Finch,31,false\n3,Cy Moss,,true\n"
KNOWS = "source,target,since\n1,2,2019\n2,3,2021\n"


def test_edges_name_the_nodes_by_their_ids(opened, tmp_path):
    kb = opened()
    files = write(tmp_path, PEOPLE, "person.csv"), write(tmp_path, KNOWS, "knows.csv")
    report = kb.graph.import_files(files, name="friends")
    assert (report.things, report.facts, report.bad_lines) == (3, 2, {})
    assert edges_of(kb) == {("Ada Stone", "knows", "Bo Finch"), ("Bo Finch", "knows", "Cy Moss")}
    assert text_of(kb).startswith(
        "Ada Stone is a person.\nAda Stone id: 1.\nAda Stone age: 44.\nAda Stone member: true.\n"
        "Ada Stone knows Bo Finch (since: 2019)."
    )
    assert type_of(kb, "ada stone") == "PERSON"
    assert type_of(kb, "bo finch") == "PERSON"


def test_the_order_of_files_makes_no_difference_to_the_graph(opened, tmp_path):
    files = write(tmp_path, PEOPLE, "person.csv"), write(tmp_path, KNOWS, "knows.csv")
    one, other = opened(path="one.knot"), opened(path="other.knot")
    one.graph.import_files(files, name="friends")
    other.graph.import_files(files[::-1], name="friends")
    assert edges_of(one) == edges_of(other)


def test_the_layout_of_neo4j(opened, tmp_path):
    kb = opened()
    nodes = (
        "movieId:ID(Movie),title,year:int,tags:string[],:LABEL\n"
        "m1,The Matrix,1999,sci-fi;cult,Movie;Film\nm2,Kismet,1944,,Movie\n"
    )
    actors = "personId:ID(Actor),name,:LABEL\nm1,Keanu Reeves,Actor\n"
    roles = ":START_ID(Actor),role,:END_ID(Movie),:TYPE\nm1,Neo,m1,ACTED_IN\nm1,Extra,m2,ACTED_IN\n"
    kb.graph.import_files(
        [
            write(tmp_path, nodes, "movies.csv"),
            write(tmp_path, actors, "actors.csv"),
            write(tmp_path, roles, "roles.csv"),
        ],
        name="films",
    )
    assert edges_of(kb) == {
        ("Keanu Reeves", "acted in", "The Matrix"),
        ("Keanu Reeves", "acted in", "Kismet"),
    }
    assert "Keanu Reeves acted in The Matrix (role: Neo)." in text_of(kb)
    assert "The Matrix tags: sci-fi, cult." in text_of(kb)
    found = kb.store.cypher("MATCH (m:Film) RETURN m.title, m.year, m.tags", graph="films")
    assert found.rows == (("The Matrix", 1999, ["sci-fi", "cult"]),)
    acted = "MATCH (a:Actor)-[r:ACTED_IN]->(m) RETURN a.name, r.role, m.title ORDER BY r.role"
    assert kb.store.cypher(acted, graph="films").rows == (
        ("Keanu Reeves", "Extra", "Kismet"),
        ("Keanu Reeves", "Neo", "The Matrix"),
    )


def test_the_layout_of_ldbc(opened, tmp_path):
    kb = opened()
    files = {
        "person_0_0.csv": "id|firstName|lastName\n7|Jose|Alonso\n8|Ann|Lee\n",
        "place_0_0.csv": "id|name|url|type\n7|Hamid_Karzai_Square|http://x/y|square\n",
        "person_knows_person_0_0.csv": "Person.id|Person.id|creationDate\n7|8|1278777892244\n",
        "person_isLocatedIn_place_0_0.csv": "Person.id|Place.id\n7|7\n",
    }
    kb.graph.import_files([write(tmp_path, text, name) for name, text in files.items()], name="net")
    assert edges_of(kb) == {
        ("Jose Alonso", "knows", "Ann Lee"),
        ("Jose Alonso", "is located in", "Hamid Karzai Square"),
    }
    assert type_of(kb, "hamid karzai square") == "SQUARE"


def test_the_layout_of_tugraph(opened, tmp_path):
    kb = opened()
    files = {
        "vertex_person.csv": "LABEL=person\nid:INT32:ID,name:STRING,born:INT32:OPTIONAL\n"
        "1,Laurence Fishburne,1961\n",
        "vertex_movie.csv": "LABEL=movie\nid:INT32:ID,title:STRING\n1,The Matrix\n",
        "edge_acted_in.csv": "LABEL=acted_in,SRC_LABEL=person,DST_LABEL=movie\n"
        "id:INT32:SRC_ID,SKIP,id:INT32:DST_ID,role:STRING\n1,x,1,Morpheus\n",
    }
    kb.graph.import_files(
        [write(tmp_path, text, name) for name, text in files.items()], name="films"
    )
    assert edges_of(kb) == {("Laurence Fishburne", "acted in", "The Matrix")}
    assert "(role: Morpheus)" in text_of(kb)
    born = kb.store.cypher("MATCH (p:person) RETURN p.born", graph="films")
    assert born.rows == ((1961,),)


def test_a_folder_is_one_graph(opened, tmp_path):
    folder = tmp_path / "friends"
    folder.mkdir()
    write(folder, PEOPLE, "person.csv")
    write(folder, KNOWS, "knows.csv")
    write(folder, "not a graph", "README.md")
    report = opened().graph.import_files(folder)
    assert (report.name, report.things, report.facts) == ("friends", 3, 2)
    assert set(report.formats) == {"person.csv", "knows.csv"}


def test_things_that_share_a_name_stay_apart(opened, tmp_path):
    kb = opened()
    people = "id,name\n1,Todd Hamilton\n2,Todd Hamilton\n3,Kismet\n"
    films = "id,title\nf1,Kismet\n"
    knows = "source_id,relation,target_id\n1,likes,f1\n2,knows,3\n"
    report = kb.graph.import_files(
        [
            write(tmp_path, people, "person.csv"),
            write(tmp_path, films, "film.csv"),
            write(tmp_path, knows, "facts.csv"),
        ],
        name="crowd",
    )
    assert report.shared_names == 4
    assert edges_of(kb, aliases=False) == {
        ("Todd Hamilton, Person 1", "likes", "Kismet, Film"),
        ("Todd Hamilton, Person 2", "knows", "Kismet, Person"),
    }
    assert ("Todd Hamilton", "also known as", "Todd Hamilton, Person 2") in edges_of(kb)
    nodes = {node.name for node in kb.graph.explore("Todd Hamilton").nodes}
    assert {"Kismet, Film", "Kismet, Person"} <= nodes


def test_a_name_is_found_among_the_properties(opened, tmp_path):
    kb = opened()
    phones = "id,phoneNo\n" + "".join(f"{n},{n}-(070)893-{3000 + n}\n" for n in range(40))
    crimes = "id,outcome\n" + "".join(f"{n},open\n" for n in range(40))
    kb.graph.import_files(
        [write(tmp_path, phones, "phone.csv"), write(tmp_path, crimes, "crime.csv")], name="pole"
    )
    text = text_of(kb)
    assert "3-(070)893-3003 is a phone." in text
    assert "Crime 3 outcome: open." in text


def test_aliases_in_a_column(opened, tmp_path):
    kb = opened()
    kb.graph.import_files(
        write(tmp_path, "id,name,aliases\n1,Marlene Dietrich,Lola Lola; Die Dietrich\n", "a.csv")
    )
    assert "Marlene Dietrich is also known as Lola Lola." in text_of(kb)
    assert ("Lola Lola", "also known as", "Marlene Dietrich") in edges_of(kb)


def test_a_table_without_a_header_is_read_by_named_columns(opened, tmp_path):
    kb = opened()
    report = kb.graph.import_files(
        write(tmp_path, "Adam,30\nKarissa,40\n", "user.csv"), columns=["name", "age"]
    )
    assert (report.facts, report.things) == (0, 2)
    assert "Karissa age: 40." in text_of(kb)


@pytest.mark.parametrize("text", ["1,2\n2,3\n", "1 2\n2 3\n", "# FromNodeId\n1\t2\n2\t3\n"])
def test_pairs_are_edges_named_after_the_file(opened, tmp_path, text):
    kb = opened()
    kb.graph.import_files(write(tmp_path, text, "votes_for.csv"), name="wiki")
    assert edges_of(kb) == {
        ("wiki 1", "votes for", "wiki 2"),
        ("wiki 2", "votes for", "wiki 3"),
    }


def test_edges_of_nodes_without_a_row_are_imported(opened, tmp_path):
    kb = opened()
    files = write(tmp_path, PEOPLE, "person.csv"), write(tmp_path, "source,target\n1,9\n", "e.csv")
    kb.graph.import_files(files, name="friends")
    assert edges_of(kb) == {("Ada Stone", "e", "friends 9")}


def test_a_long_text_goes_on_over_several_lines(opened, tmp_path):
    kb = opened()
    summary = " ".join(f"Sentence {n} describes the valley and its people." for n in range(80))
    kb.graph.import_files(
        write(tmp_path, f'id,title,summary\n1,The Valley,"{summary}"\n', "film.csv")
    )
    assert "The Valley summary: Sentence 0 describes" in text_of(kb)
    assert "Sentence 79 describes the valley and its people." in text_of(kb)
    assert kb.stats().chunks > 2


def test_a_table_with_unclear_columns_is_refused(opened, tmp_path):
    path = write(tmp_path, "0,2,2021-06-30,good\n0,3,2021-07-01,bad\n", "eKnows.csv")
    with pytest.raises(IndexingError, match="no header"):
        opened().graph.import_files(path)
    kb = opened()
    kb.graph.import_files(path, columns=["source", "target", "since", "mood"])
    assert "eKnows 0 eKnows 2" not in text_of(kb)
    assert "(since: 2021-06-30; mood: good)" in text_of(kb)


def test_numbers_that_no_float_holds_stay_text(opened, tmp_path):
    kb = opened()
    rows = "id,name,big,code,share\n1,Ann,1844674407370955161811111111,007,0.25\n"
    kb.graph.import_files(write(tmp_path, rows, "person.csv"))
    found = kb.store.cypher("MATCH (n) RETURN n.big, n.code, n.share", graph="person")
    assert found.rows == (("1844674407370955161811111111", "007", 0.25),)


def test_the_layout_of_gephi(opened, tmp_path):
    kb = opened()
    nodes = "Id,Label,timeset\n1,Valjean,\n2,Myriel,\n3,Fantine,\n4,Cosette,\n"
    edges = (
        "Source,Target,Type,Id,Label,timeset,Weight\n1,2,Undirected,0,,,5\n3,4,Undirected,1,,,3\n"
    )
    files = write(tmp_path, nodes, "nodes.csv"), write(tmp_path, edges, "meets.csv")
    kb.graph.import_files(files, name="miserables")
    assert edges_of(kb) == {("Valjean", "meets", "Myriel"), ("Fantine", "meets", "Cosette")}


def test_a_long_text_at_the_end_of_a_fact_is_no_thing(opened, tmp_path):
    kb = opened()
    told = " ".join(f"The valley has a river number {n}." for n in range(60))
    kb.graph.import_files(
        write(tmp_path, f"Valley\tdescription\t{told}\nValley\tnear\tHill\n", "a.tsv")
    )
    assert edges_of(kb) == {("Valley", "near", "Hill")}
    assert "Valley description: The valley has a river number 0." in text_of(kb)
    assert kb.store.graph.entity_count() == 2


def test_named_columns_are_for_the_tables_without_a_header(opened, tmp_path):
    kb = opened()
    files = write(tmp_path, PEOPLE, "person.csv"), write(tmp_path, "1,2,yes\n2,3,no\n", "likes.csv")
    kb.graph.import_files(files, name="friends", columns=["source", "target", "close"])
    assert edges_of(kb) == {("Ada Stone", "likes", "Bo Finch"), ("Bo Finch", "likes", "Cy Moss")}
    assert "(close: yes)" in text_of(kb)
