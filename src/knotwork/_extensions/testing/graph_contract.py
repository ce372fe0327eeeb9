"""Contract suites for every `GraphStore`: aggregation, neighbours, walks, removal."""

from __future__ import annotations

import pytest

from knotwork._extensions.testing.store_contract import (
    sample_document,
    sample_mention,
    sample_relation,
)
from knotwork._stores.base import RelationLink, Scored, Store
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    KEYWORD,
    Edge,
    EdgeType,
    Entity,
    Label,
    content_id,
    entity_id,
)

_ABSENT = content_id("absent")
_CHUNKS = sorted(content_id("chunk", n) for n in range(40))


def add_edges(store: Store, *edges: tuple[str, str, str, int], chunk: str = _CHUNKS[0]) -> None:
    """Add relations (source, relation, target, weight), with mentions of their ends."""
    names = dict.fromkeys(name for source, _, target, _ in edges for name in (source, target))
    store.graph.upsert(
        mentions=[sample_mention(chunk, name) for name in names],
        relations=[sample_relation(chunk, s, r, t, weight=w) for s, r, t, w in edges],
    )


class GraphStoreContract:
    """Tests of a `GraphStore`. Subclass it and define the fixture ``store``."""

    def test_an_entity_has_its_most_used_name_and_type(self, store: Store) -> None:
        a, b, c = _CHUNKS[:3]
        store.graph.upsert(
            mentions=[
                sample_mention(a, "ADA", type_="person", times=1),
                sample_mention(b, "Ada", type_="", times=3),
                sample_mention(c, "ADA", type_="place", times=1),
            ]
        )
        key = entity_id("ada")
        expected = Entity(key, "Ada", "ada", "person", 3)
        assert store.graph.entities([key, _ABSENT]) == {key: expected}
        assert store.graph.lookup(["ada", "absent"]) == {"ada": expected}
        assert store.graph.entity_count() == 1

    def test_an_entity_is_a_keyword_only_where_no_mention_names_it(self, store: Store) -> None:
        store.graph.upsert(
            mentions=[
                sample_mention(_CHUNKS[0], "Ada", type_=KEYWORD, times=9),
                sample_mention(_CHUNKS[1], "Ada", type_="", times=1),
                sample_mention(_CHUNKS[0], "Bob", type_=KEYWORD, times=9),
                sample_mention(_CHUNKS[1], "Bob", type_="person", times=1),
                sample_mention(_CHUNKS[0], "Cid", type_=KEYWORD),
            ]
        )
        found = store.graph.lookup(["ada", "bob", "cid"])
        assert {form: entity.type for form, entity in found.items()} == {
            "ada": "",
            "bob": "person",
            "cid": KEYWORD,
        }
        assert [form for form, entity in found.items() if entity.is_keyword] == ["cid"]
        assert store.graph.schema().labels == {"Entity": 2, "Keyword": 1}
        store.graph.remove_chunks([_CHUNKS[1]])
        assert {e.type for e in store.graph.lookup(["ada", "bob", "cid"]).values()} == {KEYWORD}
        assert store.graph.entity_count() == 0

    def test_co_occurrences_are_kept_apart_from_relations(self, store: Store) -> None:
        together = CO_OCCURRENCE_RELATION
        add_edges(store, ("x", "likes", "y", 1), ("x", together, "y", 9), ("x", together, "z", 3))
        x, y, z = map(entity_id, "xyz")
        likes = Edge(x, EdgeType.RELATES, y, 1.0, "likes", (_CHUNKS[0],))
        near = [
            Edge(x, EdgeType.CO_OCCURS, y, 9.0, together, (_CHUNKS[0],)),
            Edge(x, EdgeType.CO_OCCURS, z, 3.0, together, (_CHUNKS[0],)),
        ]
        assert list(store.graph.edges(types=[EdgeType.RELATES])) == [likes]
        found = list(store.graph.edges(types=[EdgeType.CO_OCCURS]))
        assert found == sorted(near, key=lambda edge: edge.target)
        for types, fan, expected in (
            ([EdgeType.RELATES], None, [likes]),
            ([EdgeType.CO_OCCURS], None, near),
            ([EdgeType.CO_OCCURS], 1, near[:1]),
            (ENTITY_EDGES, 1, [likes, near[0]]),
        ):
            assert store.graph.neighbours([x], types=types, fan=fan)[x] == expected
        assert store.graph.explore([x], types=[EdgeType.RELATES]).edges == (likes,)
        assert len(store.graph.explore([x]).edges) == 3
        schema = store.graph.schema()
        assert (schema.edge_types["RELATES"], schema.edge_types["CO_OCCURS"]) == (1, 2)
        assert schema.relations == {"likes": 1}

    def test_a_mention_without_spans_counts_once_and_ties_take_the_smallest(
        self, store: Store
    ) -> None:
        store.graph.upsert(
            mentions=[
                sample_mention(_CHUNKS[0], "Ada", type_="b", times=0),
                sample_mention(_CHUNKS[1], "ADA", type_="a", times=1),
            ]
        )
        entity = store.graph.lookup(["ada"])["ada"]
        assert (entity.name, entity.type) == ("ADA", "a")

    def test_an_upsert_replaces_what_has_the_same_key(self, store: Store) -> None:
        chunk = _CHUNKS[0]
        add_edges(store, ("x", "likes", "y", 5))
        store.graph.upsert(
            mentions=[sample_mention(chunk, "X", type_="letter", about=0.5)],
            relations=[sample_relation(chunk, "x", "likes", "y", weight=2)],
        )
        assert store.graph.lookup(["x"])["x"] == Entity(entity_id("x"), "X", "x", "letter", 1)
        (edge,) = store.graph.edges(types=[EdgeType.RELATES])
        assert (edge.weight, edge.chunks) == (2.0, (chunk,))
        assert len(store.graph.mentions([chunk])[chunk]) == 2

    def test_an_edge_sums_its_contributions(self, store: Store) -> None:
        for index, chunk in enumerate(reversed(_CHUNKS[:20])):
            add_edges(store, ("x", "likes", "y", index + 1), chunk=chunk)
        add_edges(store, ("x", "knows", "y", 1), ("y", "likes", "x", 1))
        x, y = entity_id("x"), entity_id("y")
        likes = Edge(x, EdgeType.RELATES, y, 210.0, "likes", tuple(_CHUNKS[:20]))
        assert likes in list(store.graph.edges())
        shown = store.graph.neighbours([x], types=[EdgeType.RELATES])[x][0]
        assert shown == Edge(x, EdgeType.RELATES, y, 210.0, "likes", tuple(_CHUNKS[:16]))
        assert store.graph.schema().relations == {"likes": 2, "knows": 1}
        assert next(iter(store.graph.schema().relations)) == "likes"

    def test_relations_come_back_by_chunk(self, store: Store) -> None:
        first, second = _CHUNKS[:2]
        add_edges(store, ("x", "likes", "y", 2), ("x", "knows", "y", 1), chunk=second)
        add_edges(store, ("y", "likes", "x", 3), chunk=first)
        assert store.graph.relations([second, _ABSENT, "no id", first]) == {
            first: [sample_relation(first, "y", "likes", "x", weight=3)],
            second: sorted(
                [
                    sample_relation(second, "x", "likes", "y", weight=2),
                    sample_relation(second, "x", "knows", "y"),
                ],
                key=lambda relation: (relation.source, relation.relation, relation.target),
            ),
        }

    def test_relation_links_are_the_strongest_of_each_direction(self, store: Store) -> None:
        together = CO_OCCURRENCE_RELATION
        add_edges(store, ("x", "likes", "y", 2), ("x", together, "z", 5), ("z", "knows", "x", 1))
        x, y, z = map(entity_id, "xyz")
        links = [
            RelationLink("likes", True, y, 2.0),
            RelationLink(together, True, z, 5.0),
            RelationLink("knows", False, z, 1.0),
        ]
        found = store.graph.relation_links([x, y, _ABSENT, "no id"], limit=9)
        assert found == {x: links, y: [RelationLink("likes", False, x, 2.0)]}
        assert store.graph.relation_links([x], limit=1) == {x: [links[0], links[2]]}
        assert store.graph.relation_links([x], limit=0) == {}

    def test_relation_chunks_are_those_with_the_smallest_ids(self, store: Store) -> None:
        for chunk in reversed(_CHUNKS[:20]):
            add_edges(store, ("x", "likes", "y", 1), chunk=chunk)
        x, y = map(entity_id, "xy")
        asked = [(x, "knows", y), (x, "likes", y), ("no id", "", "")]
        for limit in (0, 3, 20, 99):
            found = store.graph.relation_chunks(asked, limit=limit)
            assert found == [(), tuple(_CHUNKS[: min(limit, 20)]), ()]

    def test_removing_chunks_removes_what_only_they_support(self, store: Store) -> None:
        a, b = _CHUNKS[:2]
        add_edges(store, ("x", "likes", "y", 2), ("y", "knows", "z", 1), chunk=a)
        add_edges(store, ("x", "likes", "y", 3), chunk=b)
        store.graph.remove_chunks([a, _ABSENT])
        assert [(e.weight, e.chunks) for e in store.graph.edges(types=["RELATES"])] == [(3.0, (b,))]
        assert sorted(store.graph.lookup(["x", "y", "z"])) == ["x", "y"]
        assert store.graph.schema().relations == {"likes": 1}
        store.graph.remove_chunks([b])
        assert list(store.graph.edges()) == []
        assert store.graph.find() == []

    def test_mentions_are_ordered_by_entity(self, store: Store) -> None:
        chunk = _CHUNKS[0]
        mentions = [sample_mention(chunk, name, type_="t", times=2, about=0.25) for name in "CAB"]
        store.graph.upsert(mentions=mentions)
        expected = sorted(mentions, key=lambda mention: mention.entity_id)
        assert store.graph.mentions([chunk, _ABSENT]) == {chunk: expected}

    def test_about_ranks_chunks(self, store: Store) -> None:
        weights = [0.5, 0.0, 1.0, 0.5]
        store.graph.upsert(
            mentions=[
                sample_mention(chunk, "X", about=about)
                for chunk, about in zip(_CHUNKS, weights, strict=False)
            ]
        )
        x = entity_id("x")
        best = [Scored(_CHUNKS[2], 1.0), Scored(_CHUNKS[0], 0.5), Scored(_CHUNKS[3], 0.5)]
        assert store.graph.about([x, _ABSENT], fan=9) == {x: best}
        assert store.graph.about([x], fan=2) == {x: best[:2]}
        assert store.graph.about([x], fan=9, minimum=0.5) == {x: best[:1]}
        assert store.graph.about([x], fan=9, minimum=1.0) == {}

    def test_neighbours_come_strongest_first(self, store: Store) -> None:
        add_edges(store, ("x", "r", "a", 2), ("x", "r", "b", 2), ("c", "r", "x", 3))
        x = entity_id("x")
        tied = sorted([entity_id("a"), entity_id("b")])
        edges = store.graph.neighbours([x, _ABSENT], types=["RELATES"])
        assert list(edges) == [x]
        others = [edge.target if edge.source == x else edge.source for edge in edges[x]]
        assert others == [entity_id("c"), *tied]

    @pytest.mark.parametrize(("direction", "names"), [("out", ["a"]), ("in", ["c"])])
    def test_neighbours_in_one_direction(
        self, store: Store, direction: str, names: list[str]
    ) -> None:
        add_edges(store, ("x", "r", "a", 1), ("c", "r", "x", 1))
        x = entity_id("x")
        edges = store.graph.neighbours([x], direction=direction, types=["RELATES"])[x]  # type: ignore[arg-type]
        assert [{e.source, e.target} - {x} for e in edges] == [{entity_id(n)} for n in names]

    def test_a_fan_counts_neighbours_and_keeps_every_edge_to_them(self, store: Store) -> None:
        weak = [("a", f"r{n}", "x", 1) for n in range(5)]
        strong = [("x", f"s{n}", "a", 9) for n in range(60)]
        middle = [("x", "r", f"n{n}", 5) for n in range(200)]
        weak += [("x", f"w{n}", "a", 2) for n in range(3)]
        add_edges(store, *strong, *middle, *weak)
        x, a = entity_id("x"), entity_id("a")
        edges = store.graph.neighbours([x], fan=2, types=["RELATES"])[x]
        second = min(entity_id(f"n{n}") for n in range(200))
        assert [(e.source, e.target) for e in edges] == (
            [(x, a)] * 60 + [(x, second)] + [(x, a)] * 3 + [(a, x)] * 5
        )
        assert [e.relation for e in edges[:60]] == sorted(name for _, name, _, _ in strong)

    def test_what_is_stated_comes_before_all_co_occurrences(self, store: Store) -> None:
        together = CO_OCCURRENCE_RELATION
        hub = [("x", together, f"n{n}", 5 + n % 2) for n in range(200)]
        stated = [("x", "r", "a", 1), ("b", "s", "x", 1), ("x", "r", "c", 2), ("n0", "s", "x", 2)]
        add_edges(store, *hub, *stated, ("a", together, "x", 9))
        x = entity_id("x")
        tied = [sorted(map(entity_id, names)) for names in (("c", "n0"), "ab")]
        both = [*tied[0], *tied[1]]
        rest = sorted({entity_id(f"n{n}") for n in range(1, 200, 2)})
        for fan, others in ((1, both[:1]), (3, both[:3]), (4, both), (6, [*both, *rest[:2]])):
            edges = store.graph.neighbours([x], types=ENTITY_EDGES, fan=fan)[x]
            ends = [edge.target if edge.source == x else edge.source for edge in edges]
            assert set(ends) == set(others)
            assert ends[: min(fan, 4)] == others[:4]
            near = [edge.type == EdgeType.CO_OCCURS for edge in edges]
            assert near == sorted(near)
            walk = store.graph.explore([x], fan=fan, depth=1)
            assert [node.id for node in walk.nodes] == [x, *dict.fromkeys(ends)]
            assert list(walk.edges) == edges
        first = store.graph.explore([x], fan=None, limit=5, depth=1)
        assert [edge.type for edge in first.edges] == [EdgeType.RELATES] * 4 + [EdgeType.CO_OCCURS]
        links = store.graph.relation_links([x], limit=3)[x]
        assert [(link.relation, link.forward) for link in links] == (
            [("r", True)] * 2 + [(together, True)] + [("s", False)] * 2 + [(together, False)]
        )

    def test_many_nodes_are_read_as_each_alone(self, store: Store) -> None:
        hub = [("hub", f"r{n}", f"n{n % 9}", 1 + n % 7) for n in range(80)]
        twice = [("a", f"s{n}", "hub", 9) for n in range(60)]
        add_edges(
            store, *hub, *twice, ("n1", "r", "n2", 3), ("n2", "t", "n1", 3), ("a", "r", "a", 2)
        )
        nodes = [entity_id(name) for name in ("n2", "hub", "a", "n1", "n8")]
        for direction in ("both", "out", "in"):
            for fan in (None, 1, 3):
                options = {"direction": direction, "fan": fan}
                alone = {n: store.graph.neighbours([n], **options).get(n) for n in nodes}  # type: ignore[arg-type]
                found = store.graph.neighbours([*nodes, _ABSENT, "no id"], **options)  # type: ignore[arg-type]
                assert found == {n: edges for n, edges in alone.items() if edges}
                assert list(found) == [n for n, edges in alone.items() if edges]
        for limit in (1, 5, 99):
            links = {n: store.graph.relation_links([n], limit=limit)[n] for n in nodes}
            assert store.graph.relation_links(nodes, limit=limit) == links

    def test_a_loop_is_one_edge(self, store: Store) -> None:
        add_edges(store, ("x", "r", "x", 1))
        x = entity_id("x")
        assert len(store.graph.neighbours([x], types=["RELATES"])[x]) == 1
        assert len(store.graph.explore([x]).edges) == 1

    def test_the_structure_is_part_of_the_graph(self, store: Store) -> None:
        document, (root, part), chunks = sample_document("a", ["1", "2", "3"], with_parent=True)
        first, second, third, above = (chunk.id for chunk in chunks)
        store.documents.put(document, [root, part], chunks)
        store.graph.upsert(mentions=[sample_mention(second, "X", times=2, about=0.5)])
        x = entity_id("x")
        expected = [
            Edge(second, EdgeType.ABOUT, x, 0.5, "", (second,)),
            *(Edge(above, EdgeType.HAS_CHILD, i) for i in (first, second, third)),
            *(Edge(part.id, EdgeType.HAS_CHUNK, i) for i in (first, second, third)),
            Edge(root.id, EdgeType.HAS_CHUNK, above),
            Edge(document.id, EdgeType.HAS_SECTION, root.id),
            Edge(root.id, EdgeType.HAS_SECTION, part.id),
            Edge(second, EdgeType.MENTIONS, x, 2.0, "", (second,)),
            Edge(first, EdgeType.NEXT, second),
            Edge(second, EdgeType.NEXT, third),
        ]
        edges = list(store.graph.edges())
        assert edges == sorted(expected, key=lambda e: (e.type, e.source, e.target))
        for node in {end for edge in expected for end in (edge.source, edge.target)}:
            touching = {e for e in edges if node in (e.source, e.target)}
            assert set(store.graph.neighbours([node])[node]) == touching
            outward = store.graph.neighbours([node], direction="out").get(node, [])
            assert set(outward) == {e for e in touching if e.source == node}
            inward = store.graph.neighbours([node], direction="in").get(node, [])
            assert set(inward) == {e for e in touching if e.target == node}
        assert store.graph.schema().edge_types == {
            type_: sum(edge.type == type_ for edge in edges) for type_ in {e.type for e in edges}
        }

    def test_nodes_of_every_label_are_found(self, store: Store) -> None:
        document, sections, chunks = sample_document("a.md", ["text"], title="A title")
        store.documents.put(document, sections, chunks)
        named = [("Part", ""), ("Word", KEYWORD)]
        store.graph.upsert(mentions=[sample_mention(chunks[0].id, n, type_=t) for n, t in named])
        keyword = entity_id("word")
        ids = [document.id, sections[0].id, chunks[0].id, entity_id("part"), keyword]
        nodes = store.graph.nodes([*ids, _ABSENT, "no id"])
        assert [nodes[i].label for i in ids] == list(Label)
        assert nodes[chunks[0].id].properties["text"] == "text"
        assert [n.id for n in store.graph.find(name="Part")] == sorted(
            [sections[1].id, chunks[0].id, entity_id("part")]
        )
        assert [n.id for n in store.graph.find(name="part")] == [entity_id("part")]
        assert [n.id for n in store.graph.find(label="Document", name="A title")] == [document.id]
        assert store.graph.find(label="Document", name="a.md") == []
        everything = [n.id for n in store.graph.find()]
        assert everything == sorted(everything)
        assert len(everything) == 6
        assert [n.id for n in store.graph.find(label="Keyword", name="word")] == [keyword]
        assert store.graph.find(label="Entity", name="word") == []
        assert store.graph.entity_count() == 1
        assert [n.id for n in store.graph.find(limit=2)] == everything[:2]
        assert store.graph.find(label="Absent") == []

    def test_a_document_without_title_is_named_by_its_address(self, store: Store) -> None:
        document, sections, chunks = sample_document("a.md", ["text"])
        store.documents.put(document, sections, chunks)
        assert [n.id for n in store.graph.find(name="a.md")] == [document.id]


class ExplorationContract:
    """Tests of `GraphStore.explore`. Subclass it and define the fixture ``store``."""

    def test_depth_limits_the_hops(self, store: Store) -> None:
        add_edges(store, ("a", "r", "b", 1), ("b", "r", "c", 1), ("c", "r", "d", 1))
        for depth, names in ((0, "a"), (1, "ab"), (2, "abc"), (9, "abcd")):
            found = store.graph.explore([entity_id("a")], depth=depth)
            assert [node.name for node in found.nodes] == list(names)

    def test_hops_follow_the_direction(self, store: Store) -> None:
        add_edges(store, ("a", "r", "b", 1), ("c", "r", "b", 1))
        seeds = [entity_id("a")]
        outward = store.graph.explore(seeds, direction="out")
        assert [node.name for node in outward.nodes] == ["a", "b"]
        assert [node.name for node in store.graph.explore(seeds).nodes] == ["a", "b", "c"]
        assert store.graph.explore(seeds, direction="in").edges == ()

    def test_the_limit_counts_edges(self, store: Store) -> None:
        add_edges(store, *(("a", "r", f"n{n}", 20 - n) for n in range(10)))
        found = store.graph.explore([entity_id("a")], limit=3)
        assert [edge.weight for edge in found.edges] == [20.0, 19.0, 18.0]
        assert [node.name for node in found.nodes] == ["a", "n0", "n1", "n2"]
        assert store.graph.explore([entity_id("a")], limit=0).edges == ()
        every = store.graph.explore([entity_id("a")], fan=None, limit=None, depth=9)
        assert set(every.edges) == set(store.graph.edges(types=ENTITY_EDGES))

    def test_the_fan_counts_neighbours_of_each_node(self, store: Store) -> None:
        add_edges(store, *(("a", "r", f"n{n}", 20 - n) for n in range(10)))
        add_edges(store, *(("n0", "r", f"m{n}", 30 - n) for n in range(10)), chunk=_CHUNKS[1])
        found = store.graph.explore([entity_id("a")], fan=2, depth=2)
        assert [node.name for node in found.nodes] == ["a", "n0", "n1", "m0", "m1"]

    def test_seeds_come_first_and_unknown_ones_are_left_out(self, store: Store) -> None:
        add_edges(store, ("a", "r", "b", 1), ("c", "r", "d", 1))
        seeds = [entity_id("c"), _ABSENT, entity_id("a"), entity_id("c")]
        found = store.graph.explore(seeds)
        assert [node.name for node in found.nodes] == ["c", "a", "d", "b"]
        assert store.graph.explore([]).nodes == ()

    def test_an_edge_is_taken_once(self, store: Store) -> None:
        add_edges(store, ("a", "r", "b", 1), ("b", "s", "a", 1), ("a", "t", "b", 1))
        found = store.graph.explore([entity_id("a"), entity_id("b")], depth=3)
        assert sorted(edge.relation for edge in found.edges) == ["r", "s", "t"]

    def test_other_types_are_followed_when_asked_for(self, store: Store) -> None:
        document, sections, chunks = sample_document("a", ["1", "2"])
        store.documents.put(document, sections, chunks)
        store.graph.upsert(
            mentions=[sample_mention(chunk.id, "X", about=0.5) for chunk in chunks]
            + [sample_mention(_ABSENT, "X", times=9)]
        )
        found = store.graph.explore([entity_id("x")], types=["MENTIONS"], fan=2)
        assert {node.id for node in found.nodes} == {entity_id("x"), *(c.id for c in chunks)}
        walk = store.graph.explore([document.id], types=["HAS_SECTION", "HAS_CHUNK"], depth=3)
        assert [node.label for node in walk.nodes] == [
            Label.DOCUMENT,
            Label.SECTION,
            Label.SECTION,
            Label.CHUNK,
            Label.CHUNK,
        ]

    def test_ends_of_edges_are_among_the_nodes(self, store: Store) -> None:
        names = [f"n{n}" for n in range(12)]
        edges = [
            (a, "r", b, (3 * i + j) % 7 + 1)
            for i, a in enumerate(names)
            for j, b in enumerate(names)
            if (i * j) % 3 == 1
        ]
        add_edges(store, *edges)
        found = store.graph.explore([entity_id("n1")], limit=7, fan=3)
        ids = {node.id for node in found.nodes}
        assert len(found.edges) == 7
        assert all({edge.source, edge.target} <= ids for edge in found.edges)
