"""Nested JSON: lists, tables, definitions and objects with a title at any depth."""

import json

import pytest
from tests.indexing.loading import blocks, leads, load, outline

from knotwork.records import BlockKind


def read(value):
    return load("manual.json", json.dumps(value, ensure_ascii=False))


EN = {
    "title": "Kiln",
    "introduction": "It fires clay.",
    "sections": [
        {
            "heading": "Use",
            "subsections": [
                {
                    "heading": "Loading",
                    "intro": "Check these:",
                    "items": ["Pots are dry.", "No fan."],
                },
                {"heading": "Firing", "intro": "Do this:", "steps": ["Close it.", "Start it."]},
            ],
            "text": "It must stand level.",
        },
        {
            "heading": "Heat",
            "table": [{"name": "Bisque", "peak": 1000}, {"name": "Glaze", "peak": 1060}],
        },
        {"heading": "Words", "glossary": [{"term": "Soak", "definition": "The time at the peak."}]},
    ],
}
ZH = {
    "标题": "窑炉",
    "简介": "它烧制陶器。",
    "章节": [
        {
            "标题": "使用",
            "小节": [
                {"标题": "装窑", "引言": "请检查：", "项目": ["坯体已干。", "没有风扇。"]},
                {"标题": "烧成", "引言": "请操作：", "步骤": ["关门。", "启动。"]},
            ],
            "正文": "必须放平。",
        },
        {"标题": "温度", "表": [{"名称": "素烧", "最高": 1000}, {"名称": "釉烧", "最高": 1060}]},
        {"标题": "名词", "词表": [{"术语": "保温", "定义": "停留在最高温度的时间。"}]},
    ],
}


@pytest.mark.parametrize("value", [EN, ZH])
def test_a_nested_manual_has_the_blocks_of_a_manual(value):
    document = read(value)
    levels = [level for level, _ in outline(document)]
    assert document.title == outline(document)[0][1] == next(iter(value.values()))
    assert levels == [1, 2, 3, 3, 2, 2]
    items = [text for _, _, text in blocks(document, BlockKind.ITEM)]
    assert [text.split(" ", 1)[0] for text in items] == ["-", "-", "1.", "2."]
    assert [len(label.split(" | ")) for _, label, _ in blocks(document, BlockKind.TABLE)] == [2]
    ((_, term, text),) = blocks(document, BlockKind.DEFINITION)
    assert text.startswith(f"**{term}**\n\n")
    assert [lead[-1] in ":：" for _, lead in leads(document)] == [True, True, True]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"title": "T", "who": ["Ada", "Ben"]}, "# T\n\nwho:\n\n- Ada\n- Ben"),
        ({"店名": {"标题": "茶馆", "茶": ["白茶", "红茶"]}}, "# 茶馆\n\n茶:\n\n- 白茶\n- 红茶"),
        ({"a": {"b": {"c": [["x", "y"], 3]}}}, "a.b.c:\n\n- x\n- y\n\na.b.c: 3"),
        ({"title": "T", "part": {"name": "P", "n": 1}, "m": 2}, "# T\n\nm: 2\n\n## P\n\nn: 1"),
        (
            {"title": "T", "as": [{"x": 1, "y": 2}, {"x": 3, "y": 4}], "bs": ["c"]},
            "# T\n\nas:\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\nbs: c",
        ),
        ({"note": "Type this:", "code": "A\n  B"}, "Type this:\n\n```\nA\n  B\n```"),
    ],
)
def test_values_are_blocks_at_any_depth(value, text):
    assert read(value).text == text


def test_deep_and_long_values_are_read():
    deep = "x"
    for _ in range(400):
        deep = {"name": "n", "in": [deep, "y"]}
    found = read(deep)
    assert found.text.startswith("# n\n\n")
    assert len(outline(found)) < 60
    assert read({"a": [[str(n)] for n in range(5_000)]}).text.startswith("a: 0\n\na: 1")
