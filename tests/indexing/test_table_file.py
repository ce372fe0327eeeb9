"""Tables of indexed files lie beside the index, and follow what becomes of the files."""

import pytest

import knotwork
from knotwork._extensions.tables.tables import require_tables

pytestmark = pytest.mark.slow


SALES = "Region,Amount\nNorth,120\nSouth,80\n"


@pytest.fixture(params=["file", "postgres"])
def opened(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    on_server = request.param == "postgres"
    place = request.getfixturevalue("postgres_url") if on_server else tmp_path / "index.knot"
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "sales.csv").write_text(SALES, "utf-8")
    with knotwork.open(place, embedding_model="none", index_workers=0) as base:
        base.index(folder)
        yield base, folder


def shapes(base):
    return {shape.name: shape for shape in require_tables(base.store).tables()}


def test_a_file_of_rows_becomes_a_table(opened):
    base, _ = opened
    (shape,) = shapes(base).values()
    assert (shape.name, shape.rows) == ("sales", 2)
    assert shape.columns == (("region", "text"), ("amount", "integer"))
    assert shape.labels == ("Region", "Amount")
    document = base.store.documents.documents(base.store.documents.document_ids())
    assert [shape.document] == [found.uri for found in document.values()]


def test_a_changed_file_replaces_its_table(opened):
    base, folder = opened
    (folder / "sales.csv").write_text(SALES + "East,7\n", "utf-8")
    base.index(folder)
    assert shapes(base)["sales"].rows == 3
    (folder / "sales.csv").write_text("nothing but a line of text\n", "utf-8")
    base.index(folder)
    assert shapes(base) == {}


def test_a_deleted_file_takes_its_table_along(opened):
    base, folder = opened
    (folder / "prices.tsv").write_text("Item\tPrice\nLamp\t3\n", "utf-8")
    base.index(folder)
    assert set(shapes(base)) == {"sales", "prices"}
    (folder / "sales.csv").unlink()
    base.index(folder)
    assert set(shapes(base)) == {"prices"}


def test_tables_of_one_name_are_numbered(opened):
    base, folder = opened
    (folder / "old").mkdir()
    (folder / "old" / "sales.csv").write_text(SALES, "utf-8")
    base.index(folder)
    assert set(shapes(base)) == {"sales", "sales_2"}
    (folder / "sales.csv").write_text(SALES + "East,7\n", "utf-8")
    base.index(folder)
    assert sorted(shape.rows for shape in shapes(base).values()) == [2, 3]


def test_a_table_that_a_person_added_stays(opened, tmp_path):
    base, folder = opened
    require_tables(base.store).put("mine", [("a", "integer")], [(1,)])
    (folder / "sales.csv").unlink()
    (folder / "other.txt").write_text("Some text.", "utf-8")
    base.index(folder)
    assert set(shapes(base)) == {"mine"}


HOSTILE = {
    "'; DROP TABLE x; --.csv": "a\"b,a'); DROP TABLE x,--\n1,2,3\n",
    "rowid.csv": "rowid,oid,_rowid_,ROWID\nx,1,2,3\n",
    "sqlite_master.csv": "name,sql\na,b\n",
    "select.csv": "from,where\n1,2\n",
    "same.csv": "a,A,a ,b\nx,2,3,4\n",
    "nul.csv": "a,b\nx\x00y,1\n",
    "wide.csv": ",".join(f"c{n}x" for n in range(3_000)) + "\n" + ",".join(["v"] * 3_000) + "\n",
    "long.csv": "a,b\n" + "9" * 5_000 + "," + "x" * 100_000 + "\n",
    "表 1.csv": "名字,数\n甲,1\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_cells_are_only_text(opened, name):
    base, folder = opened
    (folder / name).write_text(HOSTILE[name], "utf-8")
    report = base.index(folder)
    assert report.failed == 0
    assert shapes(base)["sales"].rows == 2
    others = [shape for key, shape in shapes(base).items() if key != "sales"]
    assert all(shape.rows == 1 for shape in others)
    assert bool(others) == (name != "wide.csv")


def test_own_tables_cannot_be_read_or_replaced(opened):
    base, _ = opened
    file = require_tables(base.store)
    for name in ("knotwork_shapes", "knotwork_lines", "knotwork_values"):
        with pytest.raises(knotwork.errors.QueryRefused):
            file.run(f"SELECT * FROM {name}")
        assert file.put(name, [("a", "text")], [("x",)]).name == f"table_{name}"


def test_an_index_in_memory_has_no_tables(tmp_path):
    (tmp_path / "sales.csv").write_text(SALES, "utf-8")
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index(tmp_path)
        assert base.ask("What is the total amount?").results == ()
