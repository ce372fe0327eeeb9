"""Statements on the graph of the sample whose results on the index and on its mirror are compared.

Those that end in ORDER BY have one order: their last key is unique, or ties are equal rows. The
rows of all others are compared as sets, as no database promises their order; so are the items of
lists that collect() makes, which is why such statements sort them or count them.
"""

from __future__ import annotations

_LABELS = ("Document", "Section", "Chunk", "Entity", "Keyword", "Community", "Question")
_TYPES = (
    "HAS_SECTION",
    "HAS_CHUNK",
    "HAS_CHILD",
    "NEXT",
    "MENTIONS",
    "ABOUT",
    "RELATES",
    "CO_OCCURS",
    "IN_COMMUNITY",
    "ANSWERS",
)
_OF_LABEL = (
    "MATCH (n:{0}) RETURN count(n)",
    "MATCH (n:{0}) RETURN n.id, n.name",
    "MATCH (n:{0}) RETURN n ORDER BY n.id LIMIT 5",
    "MATCH (n:{0}) RETURN properties(n) AS p ORDER BY p.id DESC LIMIT 3",
    "MATCH (n:{0}) WHERE n.name CONTAINS 'a' RETURN elementId(n), labels(n)",
    "MATCH (n:{0}) RETURN size([(n)--(m) | m]) AS degree, count(*) ORDER BY degree",
    "MATCH (n:{0})-[r]->(m) RETURN type(r), labels(m), count(*)",
    "MATCH (n:{0})<-[r]-(m) RETURN type(r), labels(m), count(*)",
)
_OF_TYPE = (
    "MATCH ()-[r:{0}]->() RETURN count(r)",
    "MATCH (a)-[r:{0}]->(b) RETURN a.id, b.id, properties(r)",
    "MATCH (a)-[r:{0}]->(b) RETURN r ORDER BY a.id, b.id, r.relation LIMIT 4",
    "MATCH (a)-[:{0}]->(b) RETURN labels(a), labels(b), count(*) AS n",
    "MATCH (a)-[r:{0}]-(b) RETURN elementId(r), startNode(r).id, endNode(r).id, a.id, b.id",
    "MATCH (a)-[:{0}]->(b)-[:{0}]->(c) RETURN a.id, b.id, c.id",
    "MATCH (a) WHERE (a)-[:{0}]->() RETURN a.id",
    "MATCH (a) WHERE NOT (a)-[:{0}]-() RETURN count(a)",
)
_OTHERS = (
    "MATCH (n) RETURN count(n)",
    "MATCH (n) RETURN labels(n), count(*)",
    "MATCH ()-[r]->() RETURN count(r)",
    "MATCH ()-[r]-() RETURN count(r)",
    "MATCH (n) RETURN n.id ORDER BY n.id",
    "MATCH (n) WHERE n.name = 'Oriane Keld' RETURN n",
    "MATCH (n) WHERE n.name IN ['Oriane Keld', 'Ilse Tarrant', 'nobody'] RETURN n.id, labels(n)",
    "MATCH (n) WHERE n.chunk_count > 2 RETURN n.name, n.chunk_count",
    "MATCH (n) WHERE n.text IS NULL RETURN count(n)",
    "MATCH (n) WHERE n:Entity OR n:Keyword RETURN count(*)",
    "MATCH (n:Entity|Keyword) RETURN count(*)",
    "MATCH (n:!Entity) RETURN count(*)",
    "MATCH (n) OPTIONAL MATCH (n)-[r:RELATES]->() RETURN labels(n), count(r)",
    "MATCH (n), (m:Document) RETURN count(*)",
    "MATCH (n)-[*0..1]->(m) RETURN count(*)",
    "MATCH (n:Entity)-[:RELATES*1..2]-(m) RETURN n.id, m.id",
    "MATCH (n:Entity)-[:RELATES*1..3]->(m:Entity) RETURN count(*)",
    "MATCH (d:Document)-[:HAS_SECTION*1..4]->(s) RETURN d.id, count(s)",
    "MATCH (d:Document)-[:HAS_SECTION*]->()-[:HAS_CHUNK]->(c) RETURN d.uri, count(c) AS n",
    "MATCH (d:Document) RETURN d.language, count(*) AS n ORDER BY n DESC, d.language",
    "MATCH (d:Document) RETURN d.name ORDER BY d.name SKIP 3 LIMIT 5",
    (
        "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity)"
        " RETURN e.name, count(c) AS n ORDER BY n DESC, e.name LIMIT 9"
    ),
    "MATCH (c:Chunk)-[m:MENTIONS]->(e) RETURN sum(m.weight), max(m.weight), min(m.weight)",
    "MATCH (c:Chunk)-[a:ABOUT]->(e:Entity) WHERE a.weight >= 0.5 RETURN c.id, e.name, a.weight",
    (
        "MATCH (e:Entity)-[r:RELATES]->(f)"
        " RETURN r.relation, count(*) AS n ORDER BY n DESC, r.relation"
    ),
    "MATCH (e:Entity {name: 'Oriane Keld'})-[r:RELATES]-(f) RETURN f.name, r.relation, r.chunks",
    "MATCH (e)-[r:RELATES {relation: 'born in'}]->(f) RETURN e.name, f.name",
    (
        "MATCH (e)-[r:RELATES]->(f) WHERE r.relation STARTS WITH 'has'"
        " RETURN e.name, f.name, r.weight"
    ),
    "MATCH (a:Entity)-[:RELATES]->(b:Entity)-[:RELATES]->(c:Entity) RETURN a.name, b.name, c.name",
    "MATCH p = (a:Entity {name: 'Oriane Keld'})-[:RELATES]->(b) RETURN p",
    "MATCH p = (a:Entity)-[:RELATES*2]->(b) RETURN [n IN nodes(p) | n.name], length(p)",
    (
        "MATCH (a:Entity {name: 'Oriane Keld'}), (b:Entity {name: 'Tarnby'})"
        " MATCH p = shortestPath((a)-[:RELATES*]-(b)) RETURN length(p)"
    ),
    (
        "MATCH (a:Entity)-[:CO_OCCURS]-(b:Entity)"
        " RETURN a.name, count(DISTINCT b) AS n ORDER BY n DESC, a.name LIMIT 7"
    ),
    "MATCH (c:Community) RETURN c.level, count(*), sum(c.entity_count)",
    "MATCH (c:Community {level: 0}) RETURN c.title, c.rating, c.summary",
    (
        "MATCH (e:Entity)-[i:IN_COMMUNITY]->(c:Community)"
        " RETURN c.id, sum(i.importance) > 0, count(e)"
    ),
    "MATCH (p:Community)-[:HAS_CHILD]->(c:Community) RETURN p.level, c.level, count(*)",
    "MATCH (c:Chunk)-[:ANSWERS]->(q:Question) RETURN q.name, q.ordinal, c.id = q.chunk",
    "MATCH (a:Chunk)-[:NEXT]->(b:Chunk) RETURN a.ordinal < b.ordinal, count(*)",
    "MATCH (c:Chunk) RETURN c.document, collect(c.ordinal) AS o, size(collect(c.id)) AS n",
    "MATCH (c:Chunk) WITH c ORDER BY c.id RETURN c.document, collect(c.id)[0] AS first",
    "MATCH (c:Chunk) WHERE c.text =~ '.*probe.*' RETURN c.id",
    "MATCH (c:Chunk) WHERE toLower(c.text) CONTAINS 'kestrel' RETURN c.id, size(c.text)",
    "MATCH (c:Chunk) WHERE c.text CONTAINS '审批' RETURN c.id, c.name",
    "MATCH (c:Chunk) RETURN avg(size(c.text)), max(c.end - c.start)",
    "MATCH (e:Entity) RETURN e.type, count(*) AS n ORDER BY n DESC, e.type",
    (
        "MATCH (e:Entity)"
        " RETURN CASE WHEN e.chunk_count > 1 THEN 'many' ELSE 'one' END AS k, count(*)"
    ),
    "MATCH (e:Entity) RETURN e {.name, .type, long: size(e.name) > 10}",
    "MATCH (e:Entity) WHERE any(w IN split(e.name, ' ') WHERE w = 'Keld') RETURN e.name",
    "MATCH (e:Entity) WHERE all(w IN split(e.name, ' ') WHERE size(w) > 4) RETURN e.name",
    "MATCH (e:Entity) RETURN reduce(s = 0, w IN split(e.name, ' ') | s + size(w)), e.id",
    "MATCH (e:Entity) RETURN left(e.name, 3), right(e.name, 2), substring(e.name, 1, 2), e.id",
    "MATCH (e:Entity) WHERE EXISTS { MATCH (e)-[:RELATES]->(:Entity) } RETURN e.id",
    "MATCH (e:Entity) WHERE COUNT { (e)<-[:MENTIONS]-() } > 3 RETURN e.name",
    "MATCH (e:Entity) WHERE NOT EXISTS { (e)-[:RELATES]-() } RETURN count(e)",
    (
        "MATCH (e:Entity) CALL { WITH e MATCH (e)<-[:MENTIONS]-(c)"
        " RETURN count(c) AS n } RETURN e.id, n"
    ),
    (
        "MATCH (e:Entity) CALL (e) { MATCH (e)-[:RELATES]-(f)"
        " RETURN max(f.name) AS m } RETURN e.id, m"
    ),
    "MATCH (e:Entity) WITH e.type AS t, count(*) AS n WHERE n > 1 RETURN t, n",
    "MATCH (d:Document) RETURN d.id AS id UNION MATCH (s:Section) RETURN s.id AS id",
    "MATCH (d:Document) RETURN 'd' AS k UNION ALL MATCH (s:Community) RETURN 'c' AS k",
    "MATCH (d:Document) RETURN DISTINCT d.media_type",
    "MATCH (e:Entity) RETURN count(DISTINCT e.type), count(e.nothing)",
    "MATCH (e:Entity)-[r:RELATES]->() UNWIND r.chunks AS c RETURN c, count(*)",
    "UNWIND ['Oriane Keld', 'Tarnby'] AS name MATCH (e {name: name}) RETURN name, labels(e)",
    "MATCH (c:Chunk) RETURN percentileDisc(c.ordinal, 0.5), percentileCont(c.ordinal, 0.5)",
    "MATCH (e:Entity) RETURN toUpper(e.name) AS u ORDER BY u LIMIT 6",
    "MATCH (e:Entity) RETURN e.chunk_count % 2 = 0 AS even, count(*)",
    "MATCH (e:Entity) RETURN e.chunk_count * 2.5 + 1, e.chunk_count / 2, e.id",
    "MATCH (e:Entity) WHERE 1 < e.chunk_count <= 3 RETURN e.id",
    (
        "MATCH (e:Entity) WHERE e.type IS NOT NULL AND (e.chunk_count = 1 XOR e.name > 'M')"
        " RETURN e.id"
    ),
    "MATCH (a:Entity), (b:Entity) WHERE a.name < b.name AND (a)-[:RELATES]-(b) RETURN a.id, b.id",
    (
        "MATCH (a:Entity)<-[:MENTIONS]-(c:Chunk)-[:MENTIONS]->(b:Entity) WHERE a.id < b.id"
        " RETURN a.name, b.name, count(c) AS n ORDER BY n DESC, a.name, b.name LIMIT 10"
    ),
    "MATCH (s:Section) RETURN s.level, min(s.start), max(s.end)",
    "MATCH (s:Section)-[:HAS_SECTION]->(t:Section) RETURN s.name, t.name, t.level - s.level",
    "MATCH (q:Question) RETURN q.chunk, count(*) AS n ORDER BY n DESC, q.chunk LIMIT 5",
    "MATCH (n) WHERE n.id STARTS WITH '0' RETURN count(n)",
    "MATCH (n:Keyword) RETURN n.type, count(*)",
    "MATCH (n) RETURN exists(n.text) AS t, count(*)",
    "MATCH (n:Document) RETURN coalesce(n.nothing, n.uri) ORDER BY n.uri",
    "MATCH (n:Document) RETURN split(n.uri, '/')[-1] AS file ORDER BY file",
    "MATCH (n:Nothing) RETURN n",
)
GOLD = (
    *(form.format(label) for label in _LABELS for form in _OF_LABEL),
    *(form.format(type_) for type_ in _TYPES for form in _OF_TYPE),
    *_OTHERS,
)


def has_order(statement: str) -> bool:
    """Return True if the rows of a statement have an order."""
    return "ORDER BY" in statement and "WITH c ORDER" not in statement
