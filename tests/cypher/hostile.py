"""Statements that try to write, to read files, to smuggle in, or to use up the machine."""

from __future__ import annotations

from collections.abc import Iterator

_WRITES = (
    "CREATE (:Evil {x: 1})",
    "MERGE (e:Evil)",
    "SET n.name = 'evil'",
    "SET n += {x: 1}",
    "SET n:Evil",
    "REMOVE n.name",
    "REMOVE n:Person",
    "DELETE n",
    "DETACH DELETE n",
    "FOREACH (x IN [1] | CREATE (:Evil))",
    "CREATE (n)-[:EVIL]->(n)",
    "INSERT (:Evil)",
)
_PLACES = (
    "{}",
    "MATCH (n) {}",
    "MATCH (n) {} RETURN n",
    "MATCH (n) WITH n {}",
    "MATCH (n) RETURN n {}",
    "MATCH (n) RETURN n; {}",
    "MATCH (n) CALL {{ WITH n {} }} RETURN n",
    "MATCH (n) WHERE EXISTS {{ MATCH (m) {} }} RETURN n",
    "RETURN 1 AS a UNION {}",
    "/* only reading */ MATCH (n) //\n{}",
    "match (n) RETURN n UNION ALL MATCH (n) {}",
    "EXPLAIN MATCH (n) {}",
)
_FILES = (
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD CSV WITH HEADERS FROM $url AS line RETURN line",
    "USING PERIODIC COMMIT LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l",
    "LOAD FROM '/etc/passwd' RETURN *",
    "MATCH (n) LOAD CSV FROM 'http://localhost/' AS l RETURN l",
    "COPY Person FROM '/etc/passwd'",
    "COPY (MATCH (n) RETURN n) TO '/tmp/stolen.csv'",
    "EXPORT DATABASE '/tmp/stolen'",
    "IMPORT DATABASE '/tmp/evil'",
    "ATTACH '/etc/passwd' AS p (dbtype sqlite)",
    "INSTALL httpfs",
    "LOAD EXTENSION '/tmp/evil.so'",
    "CALL apoc.load.json('file:///etc/passwd') YIELD value RETURN value",
    "CALL apoc.export.csv.all('/tmp/stolen.csv', {})",
    "CALL apoc.cypher.runFile('/tmp/evil.cypher')",
    "RETURN apoc.load.csv('/etc/passwd')",
    "RETURN apoc.util.sleep(10000)",
    "RETURN file('/etc/passwd')",
    "RETURN open('/etc/passwd')",
    "RETURN readfile('/etc/passwd')",
    "RETURN load_extension('/tmp/evil')",
    "RETURN __import__('os')",
    "RETURN eval('1')",
    "RETURN system('id')",
    "MATCH (n) RETURN n.__class__.__mro__",
    "MATCH (n) RETURN n.__dict__",
    "RETURN {}.__globals__",
    "RETURN 'x'.format",
)
_COMMANDS = (
    "CALL db.labels()",
    "CALL db.labels() YIELD label RETURN label",
    "CALL dbms.security.createUser('evil', 'x')",
    "CALL dbms.killQuery('1')",
    "CALL gds.graph.drop('g')",
    "CALL apoc.periodic.iterate('MATCH (n) RETURN n', 'DELETE n', {})",
    "CALL apoc.cypher.doIt('CREATE (n)', {})",
    "CALL db.index.fulltext.queryNodes('a', 'b')",
    "call Db.Labels",
    "CALL `db.labels`()",
    "CALL { MATCH (n) RETURN n } IN TRANSACTIONS RETURN n",
    "MATCH (n) CALL { WITH n DELETE n } IN TRANSACTIONS OF 10 ROWS",
    "USE system SHOW USERS",
    "USE other MATCH (n) RETURN n",
    "SHOW DATABASES",
    "SHOW FUNCTIONS",
    "DROP DATABASE neo4j",
    "DROP INDEX evil",
    "CREATE INDEX FOR (n:Person) ON (n.name)",
    "CREATE CONSTRAINT FOR (n:Person) REQUIRE n.name IS UNIQUE",
    "CREATE USER evil SET PASSWORD 'x'",
    "GRANT ALL ON DBMS TO evil",
    "DENY READ {*} ON GRAPH * TO evil",
    "REVOKE ROLE a FROM b",
    "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
    "TERMINATE TRANSACTIONS '1'",
    "START DATABASE x",
    "STOP DATABASE x",
    "BEGIN TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "CHECKPOINT",
    "PROFILE MATCH (n) RETURN n",
    "CYPHER runtime=slotted MATCH (n) RETURN n",
    "PRAGMA writable_schema = 1",
    "SELECT * FROM document",
    "DROP TABLE document",
    "INSERT INTO document VALUES (1)",
    "VACUUM INTO '/tmp/stolen.db'",
    "ATTACH DATABASE '/tmp/x' AS x",
)
_SMUGGLED = (
    "x'}) DETACH DELETE n //",
    "' OR 1=1 //",
    "`) DELETE (n",
    "$other",
    "\\u0027}) DELETE n //",
    "'; DROP TABLE document; --",
    "*/ DELETE n /*",
    "${jndi:ldap://localhost/}",
    "\x00' DELETE n",
    "{{7*7}}",
)
_NAMED = (
    "MATCH (n:`Person`) DETACH DELETE n //`) RETURN n",
    "MATCH (n:`A``) DELETE (n`) RETURN n",
    "MATCH (n) RETURN n.`x; DROP TABLE document`",
    "MATCH (n {`name' OR 1=1 --`: 1}) RETURN n",
    "MATCH ()-[r:`R|S]->() DELETE r //`]->() RETURN r",
    "RETURN 'a' AS `'; DROP TABLE document; --`",
    "MATCH (n) WHERE n['name'] = 'x' OR true RETURN count(n)",
    "WITH 'name' AS k MATCH (n) RETURN n[k + ''] LIMIT 1",
    "MATCH (n:$label) RETURN n",
    "MATCH (n:$($label)) RETURN n",
    "MATCH ()-[r:$type]->() RETURN r",
    "MATCH (n $all) RETURN n",
    "RETURN $`name`",
    "RETURN \\u0027x",
)
_BOMBS = (
    "UNWIND range(1, 9223372036854775807) AS x RETURN count(x)",
    "RETURN size(range(1, 1000000000))",
    "RETURN range(0, 9223372036854775807, 9223372036854775807)",
    "RETURN range(-9223372036854775808, 9223372036854775807)",
    "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(*)",
    "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN collect([a, b])",
    (
        "UNWIND range(1, 10000) AS a WITH collect(a) AS l UNWIND l AS x UNWIND l AS y"
        " UNWIND l AS z RETURN sum(x * y * z)"
    ),
    "MATCH (a), (b), (c), (d), (e), (f), (g) RETURN count(*)",
    "MATCH (a), (b), (c), (d), (e) RETURN a, b, c, d, e ORDER BY a.name, e.name DESC",
    "MATCH (a), (b), (c), (d), (e) RETURN DISTINCT a, b, c, d, e",
    "MATCH (a), (b), (c), (d), (e) RETURN collect([a, b, c, d, e])",
    "MATCH p = (a)-[*]->(b) RETURN count(p)",
    "MATCH p = (a)-[*]-(b) RETURN length(p) ORDER BY length(p) DESC",
    "MATCH p = (a)-[*1..30]-(b) RETURN nodes(p)",
    "MATCH (a)-[r*]-(b) WHERE size(r) > 25 RETURN r",
    "MATCH p = ()-[*]-() WHERE all(n IN nodes(p) WHERE n.name STARTS WITH 'x') RETURN p",
    "MATCH (a)-[*0..]-(b)-[*0..]-(c) RETURN count(*)",
    "MATCH (a) WHERE (a)-[*20..]-(:Absent) RETURN a",
    "MATCH (a) RETURN [(a)-[*]-(b) | b]",
    "MATCH (a) RETURN COUNT { (a)-[*]-(b) }",
    "MATCH (a) WHERE NOT EXISTS { (a)-[*]-(:Absent) } RETURN a",
    "MATCH (a), (b) RETURN [(a)--(x)--(y)--(z)--(b) | [(x)--(u)--(v)--(w) | u]]",
    "MATCH p = allShortestPaths((a)-[*]-(b)) RETURN count(p), collect(p)",
    "MATCH (a), (b), (c) MATCH p = shortestPath((a)-[*]-(b)) RETURN count(p)",
    "RETURN reduce(s = 'x', i IN range(1, 100) | s + s)",
    "RETURN reduce(l = [1], i IN range(1, 100) | l + l)",
    "RETURN reduce(l = [1], i IN range(1, 100) | [l, l])",
    (
        "RETURN reduce(l = [1], i IN range(1, 50) | [l, l]) = reduce(l = [1], i IN range(1, 50)"
        " | [l, l])"
    ),
    "WITH reduce(l = [1], i IN range(1, 50) | [l, l]) AS x RETURN DISTINCT x",
    "WITH reduce(l = [1], i IN range(1, 50) | [l, l]) AS x RETURN x ORDER BY x",
    "WITH reduce(l = [1], i IN range(1, 50) | [l, l]) AS x RETURN count(DISTINCT x)",
    "WITH reduce(l = [1], i IN range(1, 50) | [l, l]) AS x RETURN max(x)",
    "WITH reduce(l = [1], i IN range(1, 50) | [l, l]) AS x RETURN x IN [x, x]",
    "WITH reduce(l = [1], i IN range(1, 50) | [l, l]) AS x RETURN x < x",
    "WITH reduce(m = {a: 1}, i IN range(1, 50) | {a: m, b: m}) AS m RETURN m",
    "WITH reduce(m = {a: 1}, i IN range(1, 50) | {a: m, b: m}) AS m RETURN m = m",
    "RETURN reduce(l = [1], i IN range(1, 20000) | [l])",
    "WITH reduce(l = [1], i IN range(1, 20000) | [l]) AS x RETURN x = x",
    "WITH reduce(l = [1], i IN range(1, 20000) | [l]) AS x RETURN DISTINCT x",
    "WITH reduce(l = [1], i IN range(1, 20000) | [l]) AS x RETURN x ORDER BY x",
    "RETURN reduce(n = 2, i IN range(1, 100) | n * n)",
    "RETURN reduce(n = 2.0, i IN range(1, 100) | n * n)",
    "RETURN 9223372036854775807 + 1",
    "RETURN 10 ^ 400, 2.0 ^ 5000",
    "RETURN replace(reduce(s = 'x', i IN range(1, 19) | s + s), 'x', 'xxxxxxxxxxxxxxxxxxxxxx')",
    "RETURN split(reduce(s = 'x', i IN range(1, 19) | s + s), '')",
    "UNWIND range(1, 300000) AS i RETURN collect('x' + reduce(s = '', j IN [1, 2, 3] | s + i))",
    "WITH range(1, 1000000) AS l RETURN [x IN l | [y IN l | x + y]]",
    "WITH range(1, 1000000) AS l RETURN all(x IN l WHERE any(y IN l WHERE y < 0) OR true)",
    "WITH range(1, 1000000) AS l RETURN size([x IN l WHERE single(y IN l WHERE y = x)])",
    "WITH range(1, 100000) AS l UNWIND l AS x RETURN count(x IN l)",
    "WITH range(1, 1000) AS l UNWIND l AS x UNWIND l AS y WITH x, y, l RETURN x, y, l",
    "RETURN reduce(s = 'a', i IN range(1, 14) | s + s) + '!' =~ '(a+)+$'",
    "RETURN reduce(s = 'a', i IN range(1, 14) | s + s) + '!' =~ '(a|a)*b'",
    "RETURN reduce(s = 'a', i IN range(1, 14) | s + s) + '!' =~ '(.*)*(.*)*(.*)*x'",
    "RETURN reduce(s = 'a', i IN range(1, 14) | s + s) + '!' =~ '(a?){900}a{900}'",
    "RETURN 'a' =~ '((((a{99}){99}){99}){99})'",
    "RETURN 'a' =~ '(?:a{1000000}){1000000}'",
    "RETURN 'aaaa' =~ '(?R)*'",
    "RETURN 'aaaa' =~ '(((('",
    "MATCH (n) WHERE n.name =~ '^(([a-z])+.)+[A-Z]([a-z])+$' RETURN n",
    "RETURN percentileCont(1.0, 0.5), stDev(1)",
    "UNWIND range(1, 2000000) AS x RETURN percentileCont(x, 0.5)",
    "UNWIND range(1, 1000000) AS x WITH x ORDER BY x % 7, x DESC RETURN collect(x)",
    (
        "CALL { UNWIND range(1, 1000000) AS x RETURN x } CALL { UNWIND range(1, 1000) AS y"
        " RETURN y } RETURN count(*)"
    ),
    "MATCH (a) CALL { MATCH (b), (c), (d) RETURN count(*) AS n } RETURN sum(n)",
    "MATCH (a) CALL { WITH a MATCH (a)-[*]-(b) RETURN count(b) AS n } RETURN a, n",
    "UNWIND range(1, 1000000) AS x RETURN toString(x) + 'x' ORDER BY rand()",
    "WITH [x IN range(1, 1000) | range(1, 1000)] AS l RETURN l",
    "UNWIND range(1, 1000) AS x RETURN range(1, 1000)",
    "RETURN coll.sort(range(1, 1999999))",
    "UNWIND range(1, 100) AS x RETURN coll.sort(range(1, 1000000))",
    "RETURN substring('x', 9223372036854775807, 9223372036854775807)",
    "RETURN [1, 2, 3][9223372036854775807], [1][-9223372036854775808..9223372036854775807]",
    "RETURN round(1.5, 9223372036854775807)",
    "MATCH (n) RETURN n SKIP 9223372036854775807",
    "MATCH (n) RETURN n SKIP 9223372036854775807 LIMIT 9223372036854775807",
    "MATCH (n) RETURN n LIMIT -1",
    "MATCH (n) RETURN n.name AS x ORDER BY x LIMIT 9223372036854775807",
)


_BIG = "reduce(s = 'a', i IN range(1, 19) | s + s)"
_HEAVY = (
    f"WITH {_BIG} AS s RETURN size([i IN range(1, 2000) | toUpper(s + i)])",
    f"WITH {_BIG} AS s UNWIND range(1, 1000) AS i RETURN s",
    f"WITH {_BIG} AS s UNWIND range(1, 1000000) AS i RETURN count(toUpper(s))",
    "RETURN size([i IN range(1, 1000) | range(1, 1000000)[0..]])",
    "RETURN size([i IN range(1, 2000000) | {a: i, b: i, c: i}])",
    "RETURN size([i IN range(1, 2000000) | date('2020-01-01')])",
    "WITH range(1, 1000000) AS l UNWIND range(1, 100) AS x RETURN l ORDER BY l",
    "WITH range(1, 1000000) AS l UNWIND range(1, 100) AS x RETURN DISTINCT l, x",
    "WITH reduce(l = [1], i IN range(1, 40) | [l, l]) AS l UNWIND [1, 2] AS x RETURN l ORDER BY l",
    "UNWIND range(1, 2000000) AS x WITH x ORDER BY x RETURN count(*)",
    "UNWIND range(1, 2000000) AS x WITH collect([x, x + 1]) AS l RETURN size(l)",
    "UNWIND range(1, 2000000) AS x RETURN count(DISTINCT 'some text ' + x)",
    "UNWIND range(1, 2000000) AS x WITH DISTINCT x, 'some text ' + x AS y RETURN count(*)",
    "UNWIND range(1, 2000000) AS x WITH x, count(*) AS c RETURN count(*)",
    f"WITH {_BIG} AS s RETURN reduce(l = [], i IN range(1, 2000) | l + toUpper(s + i))",
    f"WITH {_BIG} AS s RETURN reduce(l = [], i IN range(1, 2000) | [toUpper(s + i), l])",
    f"WITH {_BIG} AS s RETURN reduce(m = {{}}, i IN range(1, 2000) | {{a: s + i, b: m}})",
    f"WITH {_BIG} AS s UNWIND range(1, 2000) AS i RETURN max(s + i), size(collect(s + i))",
    f"WITH {_BIG} AS s RETURN size(split(s, [substring(s, 0, 1000), 'a', 'b', 'c']))",
    f"WITH {_BIG} AS s UNWIND range(1, 100) AS i RETURN collect(split(s, ''))",
    f"WITH {_BIG} AS s RETURN size(btrim(s, s + 'b'))",
    f"WITH {_BIG} AS s UNWIND range(1, 1000000) AS i RETURN count(s CONTAINS 'b')",
    "WITH range(1, 1999000) AS l RETURN size(reduce(x = l, i IN range(1, 900) | x + i))",
    "WITH range(1, 1999000) AS l RETURN size(reduce(x = l, i IN range(1, 100000) | x[1..]))",
    "WITH range(1, 2000000) AS l UNWIND range(1, 1000000) AS i RETURN count(reverse(l))",
    "UNWIND range(1, 1000000) AS i RETURN count('aaaa' =~ ('(a|b)*a(a|b){10}' + i))",
    f"RETURN {_BIG} =~ '(a|b)*a((a|b){{100}}){{10}}c'",
    f"RETURN {_BIG} =~ '(a+)+b'",
    "RETURN 'aaaaaaaaaaaaaaaaaaaaaaa' =~ '(?R)?a'",
    "RETURN 'abcabc' =~ '(?:abc){e<=100}'",
    "RETURN toString(reduce(d = duration({days: 1}), x IN range(1, 20000) | d + d))",
    "MATCH p = (a)-[*]-(b) WITH p LIMIT 1000000 RETURN collect(p)",
    (
        "UNWIND range(1, 1000000) AS i CALL { WITH i UNWIND range(1, 1000) AS j"
        " RETURN collect(i + j) AS l } RETURN collect(l)"
    ),
    "UNWIND range(1, 1000000) AS i RETURN collect(COLLECT { UNWIND range(1, 1000) AS j RETURN j })",
    "UNWIND range(1, 1000000) AS i WITH [x IN range(1, 999) | x] AS l ORDER BY l[0] RETURN size(l)",
    "UNWIND range(1, 1000000) AS i RETURN {a: range(1, 1000)} AS m ORDER BY m.a[0] DESC LIMIT 9999",
    "WITH range(1, 1000000) AS l RETURN coll.sort([l, l, l, l, l, l, l, l, l, l, l, l, l])",
)


def heavy() -> list[str]:
    """Return statements that would take gigabytes, or long in one operation."""
    return list(_HEAVY)


def _deep() -> Iterator[str]:
    """Yield statements that nest, or go on, beyond any use."""
    for depth in (50, 500, 5_000):
        yield f"RETURN {'(' * depth}1{')' * depth}"
        yield f"RETURN {'[' * depth}{']' * depth}"
        yield f"RETURN {'{a: ' * depth}1{'}' * depth}"
        yield f"RETURN {'NOT ' * depth}true"
        yield f"RETURN {'-' * depth}1" if depth < 500 else f"RETURN {'- ' * depth}1"
        yield f"RETURN 1{' + 1' * depth}"
        yield f"RETURN true{' OR true' * depth}"
        yield f"RETURN 1{' = 1' * depth}"
        yield f"RETURN 'a'{' STARTS WITH 1' * depth}"
        yield f"WITH {{}} AS m RETURN m{'.a' * depth}"
        yield f"WITH [1] AS l RETURN l{'[0]' * depth}"
        yield f"RETURN {'abs(' * depth}1{')' * depth}"
        yield f"RETURN {'CASE WHEN true THEN ' * depth}1{' END' * depth}"
        yield f"MATCH (a){'-->()' * depth} RETURN a"
        yield f"MATCH {', '.join(['()'] * depth)} RETURN 1 AS x"
        yield f"RETURN 1 AS x{' UNION RETURN 1 AS x' * depth}"
        yield f"MATCH (n:{'!' * depth}A) RETURN n"
        yield f"MATCH (n:{'(' * depth}A{')' * depth}) RETURN n"
        yield f"{'MATCH (n) WHERE EXISTS { ' * depth}MATCH (m){' }' * depth} RETURN 1"
        yield f"{'CALL { ' * depth}RETURN 1 AS x{' } RETURN x' * depth}"
        yield f"RETURN {'[x IN ' * depth}[1]{' | x]' * depth}"
        yield f"RETURN {'[(a {x: ' * depth}1{'})-->() | 1]' * depth}"
        yield f"RETURN {'all(x IN ' * depth}[1]{' WHERE true)' * depth}"
        yield f"RETURN {'reduce(a = 1, x IN ' * depth}[1]{' | a)' * depth}"
        yield f"WITH 1 AS x{' WITH x AS x' * depth} RETURN x"
    yield f"RETURN '{'x' * 100_000}'"
    yield f"RETURN 1 IN [{'1, ' * 20_000}1]"
    yield f"RETURN {'9' * 5_000}"
    yield f"RETURN 1e{'9' * 5_000}"
    yield f"RETURN toInteger('{'9' * 5_000}')"
    yield f"/*{'*' * 40_000}"
    yield f"RETURN {'`' * 40_001}"
    yield f"RETURN '{chr(92) * 40_001}'"


def writes() -> list[str]:
    """Return statements that would write."""
    return [place.format(clause) for clause in _WRITES for place in _PLACES]


def reaching_out() -> list[str]:
    """Return statements that would read files or run commands."""
    return [*_FILES, *_COMMANDS]


def smuggled() -> list[tuple[str, dict[str, object]]]:
    """Return statements with parameters, or names, that are more than they seem."""
    found: list[tuple[str, dict[str, object]]] = [(text, {"name": "x"}) for text in _NAMED]
    for text in _SMUGGLED:
        found.append(("MATCH (n {name: $name}) RETURN n", {"name": text}))
        found.append(("MATCH (n) WHERE n[$name] IS NOT NULL RETURN n", {"name": text}))
        found.append(("MATCH (n) WHERE n.name IN $names RETURN n", {"names": [text, {text: text}]}))
    return found


def bombs() -> list[str]:
    """Return statements that would take all time or memory there is."""
    return [*_BOMBS, *_HEAVY, *_deep()]
