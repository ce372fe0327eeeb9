"""Prepare the graphs of the questions as files that `knotwork graph import` reads.

Northwind is cut to the products of eight suppliers, and to twelve orders. MetaQA and PRQA are cut
to the triples around a few names.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import knotwork

HERE = Path(__file__).resolve().parent
FILM_GENRES = "edge_has_genre.csv"
GENRE_HEADER = "LABEL=has_genre,SRC_LABEL=movie,DST_LABEL=genre\nid:INT32:SRC_ID,id:INT32:DST_ID\n"
"""The first lines of a file of TuGraph's film graph that has lost them."""
MOVIE_COLUMNS = ("id:ID", ":LABEL", "name", "born:int", "title", "released:int", "tagline")
ROLE_COLUMNS = (":START_ID", ":END_ID", ":TYPE", "roles", "rating:int", "summary")
FILM_NAMES = (
    *("Leo Gordon", "Sebastian Shaw", "Zebrahead", "The Circle", "Blithe Spirit"),
    *("2 Days in the Valley", "The Last King of Scotland", "Young Sherlock Holmes"),
)
FILM_PEOPLE = ("directed_by", "written_by", "starred_actors")
PEOPLE_NAMES = (
    *("苏轼", "袁宏道", "杨凌", "朱惠", "马远", "范冰冰", "林风眠", "刘统勋", "陈伸", "织田信长"),
    *("华东师范大学", "鲁迅美术学院", "祝绪丹", "王鹤棣"),
)
FREQUENT = ("搭档", "知名人物")
MOST_NEAR = 60

Triple = tuple[str, str, str]

VALUES: dict[str, dict[str, str]] = {
    "films": {
        "person": "MATCH (n:person) RETURN n.name",
        "movie": "MATCH (n:movie) RETURN n.title",
        "genre": "MATCH (n:genre) RETURN n.name",
        "user": "MATCH (n:user) RETURN n.login",
    },
    "movies": {
        "person": "MATCH (n:Person) RETURN n.name",
        "movie": "MATCH (n:Movie) RETURN n.title",
        "year": "MATCH (n) UNWIND [n.born, n.released] AS year RETURN DISTINCT year",
        "role": "MATCH ()-[r:ACTED_IN]->() RETURN r.roles",
        "tagline": "MATCH (n:Movie) RETURN n.tagline",
    },
    "northwind": {
        "product": "MATCH (n:Product) RETURN n.productName",
        "category": "MATCH (n:Category) RETURN n.categoryName",
        "supplier": "MATCH (n:Supplier) RETURN n.companyName",
        "customer": "MATCH (n:Customer) RETURN n.companyName",
        "employee": "MATCH (n:Employee) RETURN n.name",
        "country": "MATCH (n) WHERE n.country IS NOT NULL RETURN DISTINCT n.country",
        "title": "MATCH (n:Employee) RETURN DISTINCT n.title",
        "date": "MATCH (n) UNWIND [n.hireDate, n.birthDate, n.orderDate] AS d RETURN DISTINCT d",
    },
    "metaqa": {
        "person": "MATCH ()-[r:directed_by|written_by|starred_actors]->(n) RETURN DISTINCT n.name",
        "movie": "MATCH (n)-[]->() RETURN DISTINCT n.name",
        "year": "MATCH ()-[:release_year]->(n) RETURN DISTINCT n.name",
        "genre": "MATCH ()-[:has_genre]->(n) RETURN DISTINCT n.name",
        "language": "MATCH ()-[:in_language]->(n) RETURN DISTINCT n.name",
    },
    "people": {"name": "MATCH (n) RETURN n.name"},
    "articles": {"name": "MATCH (n) RETURN n.name"},
    "story": {},
    "followers": {
        "user": "MATCH (n:User) RETURN n.name",
        "city": "MATCH (n:City) RETURN n.name",
        "age": "MATCH (n:User) RETURN n.age",
        "year": "MATCH ()-[r:FOLLOWS]->() RETURN r.since",
    },
    "company": {
        "employee": "MATCH (n:Employee) RETURN n.name",
        "department": "MATCH (n:Department) RETURN n.name",
        "salary": "MATCH (n:Employee) RETURN n.salary",
    },
    "hospital": {
        "doctor": "MATCH (n:医生) RETURN n.姓名",
        "patient": "MATCH (n:病人) RETURN n.姓名",
        "ward": "MATCH (n:科室) RETURN n.名称",
        "drug": "MATCH (n:药品) RETURN n.名称",
        "age": "MATCH (n) RETURN n.年龄",
        "price": "MATCH (n:药品) RETURN n.价格",
        "date": "MATCH ()-[r:治疗]->() RETURN r.日期",
    },
    "machines": {
        "maker": "MATCH ()-[:manufacturer]->(n) RETURN n.name",
        "part": "MATCH (n)-[:`part of`|manufacturer]->() RETURN n.name",
        "weight": "MATCH ()-[:weight]->(n) RETURN n.name",
        "place": "MATCH ()-[:`headquartered in`]->(n) RETURN n.name",
    },
    "rivers": {
        "river": "MATCH (n)-[:长度]->() RETURN n.name",
        "city": "MATCH ()-[:流经]->(n) RETURN n.name",
        "length": "MATCH ()-[:长度]->(n) RETURN n.name",
        "province": "MATCH ()-[:所属省份]->(n) RETURN n.name",
    },
    "social": {
        "person": "MATCH (n:Person) RETURN n.name",
        "post": "MATCH (n:Post) RETURN n.title",
        "forum": "MATCH (n:Forum) RETURN n.title",
        "city": "MATCH (n:City) RETURN n.name",
        "date": "MATCH (n) UNWIND [n.birthday, n.creationDate] AS d RETURN DISTINCT d",
        "year": "MATCH ()-[r]->() UNWIND [r.since, r.classYear] AS y RETURN DISTINCT y",
    },
}
"""For each graph and kind of answer, the statement that returns all values of that kind."""


def open_graph(name: str, data: Path, folder: Path, embedding_model: str) -> knotwork.KnowledgeBase:
    """Return an index of a graph, built in ``folder`` if it is not there yet."""
    files = folder / name
    index = folder / f"{name}.knot"
    is_new = not index.exists()
    kb = knotwork.open(index, embedding_model=embedding_model or None)
    if is_new:
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir(parents=True)
        PREPARED[name](data, files)
        if name == "story":
            kb.index(files)
        else:
            kb.graph.import_graph([files], name=name)
    return kb


def _copy_films(data: Path, files: Path) -> None:
    source = data / "text2cypher/dbgpt_gql_zh/tugraph_movie_graph/raw_data"
    for path in source.glob("*.csv"):
        text = path.read_text("utf-8")
        is_headless = path.name == FILM_GENRES and "LABEL" not in text
        (files / path.name).write_text(GENRE_HEADER + text if is_headless else text, "utf-8")


_NODE = re.compile(r"\((\w+):(\w+) (\{.*\})\)")
_EDGE = re.compile(r"\((\w+)\)-\[:(\w+) ?(\{.*\})?\]->\((\w+)\)")
_PROPERTY = re.compile(r"""(\w+):\s*(\[.*?\]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+)""")
_QUOTED = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""")


def _convert_movies(data: Path, files: Path) -> None:
    """Write the nodes and the relationships of Neo4j's script as two tables."""
    script = (data / "text2cypher/graphs/movies/movies.cypher").read_text("utf-8")
    nodes, edges = list[dict[str, str]](), list[dict[str, str]]()
    for line in script.splitlines():
        if made := _NODE.search(line):
            nodes.append({"id:ID": made[1], ":LABEL": made[2], **_properties(made[3])})
        elif made := _EDGE.search(line):
            ends = {":START_ID": made[1], ":END_ID": made[4], ":TYPE": made[2]}
            edges.append(ends | _properties(made[3] or ""))
    _write_table(files / "nodes.csv", MOVIE_COLUMNS, nodes)
    _write_table(files / "relationships.csv", ROLE_COLUMNS, edges)


def _properties(text: str) -> dict[str, str]:
    """Return properties as cells; a list is joined by commas."""
    cells = {}
    for key, value in _PROPERTY.findall(text):
        texts = [(one or other).replace("\\", "") for one, other in _QUOTED.findall(value)]
        cells[key] = ", ".join(texts) if texts else value
    return cells


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for row in rows:
            table.writerow([row.get(c, row.get(c.partition(":")[0], "")) for c in columns])


def _copy_northwind(_: Path, files: Path) -> None:
    for path in (HERE / "northwind").glob("*.csv"):
        shutil.copy(path, files)


def _copy_unseen(_: Path, files: Path) -> None:
    for path in (HERE / "unseen" / files.name).iterdir():
        shutil.copy(path, files)


def _cut_metaqa(data: Path, files: Path) -> None:
    """Write all triples of the films of some names, and of films that share a person with them."""
    triples = list(_triples(data / "graph/metaqa_khop/kb.tsv"))
    wanted = set(FILM_NAMES)
    near = {film for film, _, other in triples if film in wanted or other in wanted}
    made = [(film, person) for film, relation, person in triples if relation in FILM_PEOPLE]
    people = {person for film, person in made if film in near}
    films = near | {film for film, person in made if person in people}
    _write_triples(files / "films.tsv", (t for t in triples if t[0] in films))


def _cut_people(data: Path, files: Path) -> None:
    """Write the triples of some names, and those of their neighbours that are not hubs."""
    triples = list(_triples(data / "graph/prqa_zh/triples.tsv"))
    degree: dict[str, int] = {}
    for source, _, target in triples:
        for end in (source, target):
            degree[end] = degree.get(end, 0) + 1
    wanted = set(PEOPLE_NAMES)
    near = set(wanted)
    for source, relation, target in triples:
        if relation not in FREQUENT and (source in wanted or target in wanted):
            near |= {end for end in (source, target) if degree[end] <= MOST_NEAR}
    kept = [t for t in triples if {t[0], t[2]} & (wanted if t[1] in FREQUENT else near)]
    _write_triples(files / "people.tsv", kept)


def _triples(path: Path) -> Iterator[Triple]:
    for line in path.read_text("utf-8").splitlines():
        source, relation, target = line.split("\t")
        yield source, relation, target


def _write_triples(path: Path, triples: Iterable[Triple]) -> None:
    path.write_text("".join("\t".join(t) + "\n" for t in dict.fromkeys(triples)), "utf-8")


def _copy_articles(_: Path, files: Path) -> None:
    shutil.copy(HERE / "articles.tsv", files)


def _copy_story(data: Path, files: Path) -> None:
    shutil.copy(data / "docs_dbgpt/tranformers_story.md", files)


PREPARED: dict[str, Callable[[Path, Path], None]] = {
    "films": _copy_films,
    "movies": _convert_movies,
    "northwind": _copy_northwind,
    "metaqa": _cut_metaqa,
    "people": _cut_people,
    "articles": _copy_articles,
    "story": _copy_story,
}
UNSEEN = ("followers", "company", "hospital", "machines", "rivers", "social")
"""The graphs of the second part. The rules were changed with all of them in view but the last."""
PREPARED |= dict.fromkeys(UNSEEN, _copy_unseen)
