"""An index is backed up, restored, verified, repaired, copied, written as a wiki, and watched."""

import pytest

import knotwork
from knotwork.errors import IndexDamaged

pytestmark = pytest.mark.slow


def told(base):
    """What a user would notice if an index were another one."""
    answer = base.ask("Who approves trips abroad?")
    cited = [(c.document, c.span, c.quote, round(c.score, 4)) for c in answer.citations]
    return base.stats(), answer.text, cited, base.graph.explore("Oriane Keld").format()


def test_a_backup_is_the_same_index_elsewhere_and_restores_it(own_index, tmp_path):
    with knotwork.open(own_index) as base:
        before = told(base)
        report = base.backup(tmp_path / "today")
        assert report.documents == 28
        with pytest.raises(knotwork.KnotworkError):
            base.backup(tmp_path / "today")
    assert (tmp_path / "today" / "backup.json").is_file()
    with knotwork.open(tmp_path / "today" / "index.knot", read_only=True) as base:
        assert told(base) == before
    knotwork.restore(tmp_path / "today", tmp_path / "back.knot")
    with knotwork.open(tmp_path / "back.knot") as base:
        assert told(base) == before
        assert base.tables.list()


def test_a_changed_backup_is_not_restored(own_index, tmp_path):
    with knotwork.open(own_index) as base:
        base.backup(tmp_path / "today")
    copy = tmp_path / "today" / "index.knot"
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    with pytest.raises(knotwork.KnotworkError):
        knotwork.restore(tmp_path / "today", tmp_path / "back.knot")
    assert not (tmp_path / "back.knot").exists()


def damage(path):
    """Write over a page in the middle of an index."""
    content = bytearray(path.read_bytes())
    page = len(content) // 2 // 8192 * 8192
    content[page : page + 8192] = b"\xff" * 8192
    path.write_bytes(content)


def test_a_damaged_index_is_noticed_and_repaired_from_its_files(own_index, papers, own_cli):
    with knotwork.open(own_index, read_only=True) as base:
        before = told(base)
    damage(own_index)
    assert own_cli("doctor", "--full").code == 1
    with pytest.raises(IndexDamaged), knotwork.open(own_index, read_only=True) as base:
        base.backup(own_index.with_name("damaged backup"))
    assert knotwork.repair(own_index).changed
    assert own_index.with_name("papers.knot.damaged").exists()
    with knotwork.open(own_index) as base:
        base.index(papers)
        base.communities.update()
        assert told(base) == before
    assert own_cli("doctor", "--full").code == 0


def test_a_sound_index_is_left_alone_by_a_repair(own_index):
    before = own_index.read_bytes()
    assert not knotwork.repair(own_index).changed
    assert own_index.read_bytes() == before


def test_a_copy_is_verified_and_files_are_unchanged_for_it(own_index, papers, tmp_path):
    with knotwork.open(own_index) as base:
        before = told(base)
        report = base.copy(tmp_path / "moved.knot")
        assert report.documents == 28
        assert report.hash
    with knotwork.open(tmp_path / "moved.knot") as base:
        assert told(base) == before
        assert base.index(papers).unchanged == 28
        with pytest.raises(knotwork.KnotworkError):
            base.copy(own_index)


def test_a_copy_leaves_out_a_part(own_index, tmp_path):
    with knotwork.open(own_index) as base:
        base.copy(tmp_path / "small.knot", without=["communities"])
    with knotwork.open(tmp_path / "small.knot", read_only=True) as base:
        assert base.communities.stored() == []
        assert base.ask("Who approves trips abroad?").answered


def test_an_index_moves_to_postgresql_and_back(own_index, postgres_url, tmp_path):
    with knotwork.open(own_index) as base:
        _, *before = told(base)
        there = base.copy(postgres_url)
    with knotwork.open(postgres_url) as base:
        _, *now = told(base)
        assert now == before
        back = base.copy(tmp_path / "back.knot")
    assert there.hash == back.hash
    with knotwork.open(tmp_path / "back.knot") as base:
        assert told(base)[1:] == tuple(before)


def test_a_wiki_has_a_linked_page_for_each_document_and_entity(kb, tmp_path):
    report = kb.export_wiki(tmp_path / "wiki")
    assert report.documents == 28
    pages = {path.relative_to(tmp_path / "wiki").as_posix() for path in tmp_path.rglob("*.md")}
    assert "index.md" in pages
    assert "documents/Travel policy.md" in pages
    assert "[[documents/" in (tmp_path / "wiki" / "index.md").read_text("utf-8")
    assert "Tarnby" in (tmp_path / "wiki" / "entities" / "Oriane Keld.md").read_text("utf-8")
    (tmp_path / "wiki" / "mine.md").write_text("My own page.")
    few = kb.export_wiki(tmp_path / "wiki", filters="language = zh")
    assert few.documents == 7
    assert (tmp_path / "wiki" / "mine.md").exists()
    assert not (tmp_path / "wiki" / "documents" / "Travel policy.md").exists()


def test_a_watched_folder_is_indexed_at_once_and_when_it_changes(own_papers, tmp_path):
    seen = []
    with knotwork.open(tmp_path / "a.knot") as base:
        run = base.watch.run(own_papers, polling=True)
        for step in run:
            seen.append(str(step.stage))
            if step.stage == "finished":
                break
        assert seen.count("added") == 4
        (own_papers / "new.md").write_text("# New\n\nThe gate opens at noon.\n")
        added = next(step for step in run if step.stage == "added")
        assert added.subject == "papers/new.md"
        run.close()
        assert "noon" in base.ask("When does the gate open?").text
