"""The graph: entities, relations, paths, communities, names, links, Cypher."""

import pytest

import knotwork
from knotwork.errors import QueryRefused, QuerySyntaxError

pytestmark = pytest.mark.slow


def test_the_surroundings_of_an_entity_are_a_subgraph_and_a_text(kb):
    around = kb.graph.explore("Oriane Keld", depth=1)
    assert {"Ilse Tarrant", "Tarnby", "Petra Oyelund"} <= {node.name for node in around.nodes}
    text = around.format()
    assert "- Oriane Keld -born in→ Tarnby" in text.splitlines()
    assert "- Petra Oyelund -has manager→ Oriane Keld" in text.splitlines()
    assert "关系" in around.format(language="zh")
    assert ("PERSON", "has manager", "PERSON") in {
        (kind.source, kind.relation, kind.target) for kind in around.schema().relation_types
    }
    short = around.format(budget=120)
    assert len(short) <= 120
    assert "Not shown" in short


def test_directions_and_limits_bound_what_is_shown(kb):
    outwards = kb.graph.explore("Oriane Keld", depth=1, direction="out").format()
    assert "Petra Oyelund -has manager" not in outwards
    assert len(kb.graph.explore("Oriane Keld", depth=3, limit=5).edges) <= 5


def test_an_unknown_name_is_refused_with_a_near_one(kb):
    with pytest.raises(knotwork.KnotworkError, match="Oriane Keld"):
        kb.graph.explore("Oriane Kel")


def test_a_description_of_an_entity_names_passages_and_neighbours(kb):
    (found,) = kb.graph.describe("Oriane Keld")
    assert found.entity.name == "Oriane Keld"
    assert {"Ilse Tarrant", "Tarnby"} <= {other.name for other in found.others.values()}
    assert found.communities
    assert found.passages
    assert any("Keld" in passage.chunk.text for passage in found.passages)


def test_shortest_paths_join_two_names_with_their_sources(kb):
    paths = kb.graph.shortest_paths("Petra Oyelund", "Tarnby")
    best = paths[0]
    assert [hop.relation for hop in best.hops] == ["has manager", "born in"]
    assert [hop.forward for hop in best.hops] == [True, True]
    assert best.hops[0].target_name == "Oriane Keld"
    assert "Oriane Keld" in best.text
    assert all(hop.chunk_id for hop in best.hops)


def test_communities_have_reports_with_supported_findings(kb):
    topics = kb.communities.list()
    assert topics
    assert kb.communities.is_current
    for topic in topics:
        assert topic.report.title
        assert topic.report.summary
        assert topic.community.members
        for finding in topic.report.findings:
            assert finding.supports
    about = kb.communities.list("travel", limit=2)
    assert 0 < len(about) <= 2
    names = kb.communities.member_names(topics)
    assert "Oriane Keld" in names.values()


@pytest.mark.parametrize("algorithm", ["leiden", "louvain", "label_propagation"])
def test_each_algorithm_finds_communities(own_papers, tmp_path, algorithm):
    with knotwork.open(tmp_path / "a.knot", communities_algorithm=algorithm) as base:
        base.index(own_papers)
        base.communities.update(rebuild=True)
        assert base.communities.list()


def test_links_between_documents_lead_both_ways_and_dead_ones_are_listed(kb, tmp_path):
    forth = kb.graph.links("papers/en/about-selkwood.md", direction="out")
    assert [(link.words, link.document) for link in forth] == [
        ("Heron buoy", "papers/en/heron-buoy.md"),
        ("Kestrel probe", "papers/en/kestrel-probe.html"),
        ("Skarrow Station", "papers/en/skarrow-station.html"),
    ]
    back = kb.graph.links("papers/en/heron-buoy.md", direction="in")
    assert "papers/en/about-selkwood.md" in {link.source for link in back}
    assert kb.graph.dead_links() == []
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nSee [the plan](plan.md) and [A](#nowhere).\n")
    with knotwork.open(tmp_path / "links.knot") as base:
        base.index(notes)
        assert "plan.md" in {link.target.rpartition("/")[2] for link in base.graph.dead_links()}


def test_two_names_are_merged_and_split_by_hand_and_indexing_keeps_that(own_index, papers):
    with knotwork.open(own_index) as base:
        assert base.graph.correct("merge", "Wen Qinglan", other="温青岚").applied
        (group,) = [g for g in base.entities.aliases().things if "温青岚" in g.names]
        assert "Wen Qinglan" in group.names
        around = base.graph.explore("温青岚", depth=1)
        assert any("Wen Qinglan" in node.name or node.name == "温青岚" for node in around.nodes)
        assert base.index(papers).changed == 0
        assert any("温青岚" in g.names for g in base.entities.aliases().things)
        base.graph.correct("split", "Wen Qinglan", other="温青岚")
        assert not any("温青岚" in g.names for g in base.entities.aliases().things)
        assert base.entities.aliases("温青岚").apart


def test_names_that_rules_find_the_same_are_one(tmp_path):
    with knotwork.open(tmp_path / "a.knot") as base:
        texts = [
            "Nordkran Harbour Works Ltd. was founded by Marta Ilves in Tartu.",
            "Marta Ilves sold Nordkran Harbour Works in 2010.",
        ]
        base.index_documents([knotwork.Document(f"{n}.txt", t) for n, t in enumerate(texts)])
        base.entities.find_aliases()
        names = [set(group.names) for group in base.entities.aliases().things]
        assert any(len({n for n in group if "Nordkran" in n}) > 1 for group in names), names


def test_cypher_reads_the_graph_with_parameters(kb):
    result = kb.graph.cypher(
        "MATCH (p:Entity)-[r:RELATES]->(m:Entity {name: $name}) RETURN p.name AS name "
        "ORDER BY name",
        name="Ilse Tarrant",
    )
    assert result.columns == ("name",)
    assert [row[0] for row in result.rows] == [
        "Bram Ostrand", "Oriane Keld", "Wen Qinglan",
    ]  # fmt: skip
    counted = kb.graph.cypher("MATCH (d:Document) RETURN count(d) AS n")
    assert [tuple(row) for row in counted.rows] == [(28,)]
    cut = kb.graph.cypher("MATCH (e:Entity) RETURN e", row_limit=3)
    assert (len(cut.rows), cut.truncated) == (3, True)
    node = cut.rows[0][0]
    assert (set(node), node["labels"]) == ({"id", "labels", "properties"}, ["Entity"])


def test_cypher_walks_paths_of_several_steps_and_aggregates(kb):
    result = kb.graph.cypher(
        "MATCH (a:Entity {name: 'Petra Oyelund'})-[:RELATES*1..2]->(b:Entity) "
        "WITH DISTINCT b.name AS name ORDER BY name RETURN collect(name) AS names"
    )
    assert {"Oriane Keld", "Ilse Tarrant", "Tarnby"} <= set(result.rows[0][0])
    sums = kb.graph.cypher(
        "UNWIND [1, 2, 3] AS n WITH sum(n) AS total RETURN total * 2 AS t, "
        "date('2024-02-29') + duration('P1Y') AS day"
    )
    assert sums.rows[0][0] == 12
    assert str(sums.rows[0][1]) == "2025-02-28"


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        ("CREATE (n:Entity {name: 'x'})", QueryRefused, "CREATE"),
        ("MATCH (n) DETACH DELETE n", QueryRefused, "DE"),
        ("MATCH (n RETURN n", QuerySyntaxError, ""),
        ("MATCH (n:Entity) RETURN m.name", knotwork.KnotworkError, "m"),
        ("MATCH (n:Entity) RETURN nothing(n)", knotwork.KnotworkError, "nothing"),
    ],
)
def test_cypher_that_writes_or_is_wrong_is_refused(kb, statement, error, words):
    with pytest.raises(error) as raised:
        kb.graph.cypher(statement)
    assert words in str(raised.value)
    assert kb.stats().documents == 28


def test_tables_are_listed_and_queried_in_sql(kb, own_index, tmp_path):
    shapes = {shape.name: shape for shape in kb.tables.list()}
    assert {"deployments", "staff", "tools"} <= set(shapes)
    assert ("depth_metres", "integer") in shapes["deployments"].columns
    result = kb.tables.query(
        "SELECT name FROM staff WHERE site = $site ORDER BY name", site="Skarrow"
    )
    assert [row[0] for row in result.rows] == ["Bram Ostrand", "Jonas Quill"]
    with pytest.raises(knotwork.KnotworkError):
        kb.tables.query("DROP TABLE staff")
    sales = tmp_path / "sales.csv"
    sales.write_text("city,amount\nLund,3\nLund,4\nOslo,9\n")
    with knotwork.open(own_index) as base:
        base.tables.add(sales)
        total = base.tables.query("SELECT sum(amount) FROM sales WHERE city = 'Lund'")
        assert [tuple(row) for row in total.rows] == [(7,)]
        base.tables.remove("sales")
        assert "sales" not in {shape.name for shape in base.tables.list()}


def test_two_people_of_one_name_are_distinguished(tmp_path):
    with knotwork.open(tmp_path / "a.knot") as base:
        texts = [
            "Ann Lee was born in Oslo in 1950. Ann Lee founded the Harbour Choir.",
            "Ann Lee was born in Lima in 1990. Ann Lee founded the Desert Bank.",
        ]
        base.index_documents([knotwork.Document(f"{n}.txt", t) for n, t in enumerate(texts)])
        base.entities.find_aliases()
        (homonym,) = base.entities.homonyms()
        assert homonym.name == "Ann Lee"
        assert len(homonym.homonym.senses) == 2
