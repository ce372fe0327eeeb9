"""Replies of the brain on several communities or entities in one prompt."""

from tests.testing.test_brains import CURIE, LUXUN, do, fields


def test_several_communities_have_a_report_each():
    told = do("report-community", community=f"# 1\nnames: A\n[1] {CURIE}\n\n# 2\n[2] {LUXUN}")
    lines = fields(told)
    assert [line for line in lines if line[0] == "report"] == [["report", "1"], ["report", "2"]]
    second = lines[lines.index(["report", "2"]) :]
    assert [line[0] for line in second] == ["report", "title", "summary", "finding"]
    assert second[-1][1].endswith("[2]")


def test_several_entities_have_a_summary_each():
    told = do("summarise-descriptions", descriptions=f"# 1 Warsaw\nIt is old.\n# 2 鲁迅\n{LUXUN}")
    assert fields(told) == [["1", "It is old."], ["2", LUXUN]]
