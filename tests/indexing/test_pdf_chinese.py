"""Text of Chinese PDF files, and of fonts without a space: words, lines, paragraphs, headings."""

import pytest
from tests.indexing.loading import load, outline
from tests.indexing.office_files import make_pdf, printed, printed_glyphs, printed_wide


def load_pdf(*pages, **options):
    return load("a.pdf", make_pdf(pages, **options))


def page_of(*lines, top=700, pitch=12):
    """Place lines of Chinese below each other; a line is a text or (text, options), None a gap."""
    placed = []
    for number, line in enumerate(lines):
        if line is not None:
            text, options = (line, {}) if isinstance(line, str) else line
            placed.append(printed_wide(text, top - pitch * number, **options))
    return placed


FULL = "系统在启动时读取配置文件，并检查其中每一项设置是否正确，必要时写入"
OTHER = "机组在停机前保存全部运行数据，并核对其中每个数值是否合理，随后再关"
"""Another line of the same width: pdfium takes equal texts in places nearby for one."""


@pytest.mark.parametrize("font", ["FW", "FG"])
def test_text_is_read_in_the_encodings_of_chinese_fonts(font):
    document = load_pdf(page_of(("配置文件：系统启动（默认）时读取。", {"font": font})))
    assert document.text == "配置文件：系统启动（默认）时读取。"


@pytest.mark.parametrize(
    ("gap", "text"), [(288, "Stepper motors = safe"), (40, "Steppermotors=safe")]
)
def test_words_are_parted_by_gaps_where_the_font_has_no_space(gap, text):
    words = ["Stepper", "motors", "=", "safe"]
    assert load_pdf([printed_glyphs(words, 700, gap=gap)]).text == text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ((FULL, "日志。"), f"{FULL}日志。"),
        (
            (f"{FULL}一个 Web 用", "户界面。"),
            f"{FULL}一个 Web 用户界面。",
        ),
        ((FULL, "（见下）日志。"), f"{FULL}（见下）日志。"),
        ((FULL, "CD 中。"), f"{FULL} CD 中。"),
        (("张三", "李四", "王五"), "张三\n李四\n王五"),
        ((FULL, "（二）日志。"), f"{FULL}\n（二）日志。"),
        ((FULL, "服务描述 名称", "中央日志 rsyslog"), f"{FULL}服务描述 名称\n中央日志 rsyslog"),
    ],
)
def test_wrapped_lines_are_joined_without_a_space(lines, text):
    assert load_pdf(page_of(*lines)).text == text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("配 置 文 件 使 用 的 是 cfg。监 控 列 表 在 此", "配置文件使用的是 cfg。监控列表在此"),
        (
            "每个 希 望 使 用 它 的用 户 需 要 配 置 它。对 于",
            "每个希望使用它的用户需要配置它。对于",
        ),
        ("服务描述 普通名称 服务名称 说明 默认值 备注", None),
        ("是 否 是 是 否 否", None),
        ("第一章 总则", None),
    ],
)
def test_the_gaps_of_a_justified_line_are_no_spaces(line, text):
    assert load_pdf(page_of(line)).text == (text or line)


def test_an_indented_line_begins_a_paragraph():
    indented = {"x": 92}
    document = load_pdf(
        page_of(
            ("第一条规定了系统的范围，并说明每一项设置的作用和默认值，以及何时", indented),
            "生效。",
            ("第二条很短。", indented),
            ("第三条也说明系统的范围，并说明每一项设置的作用和默认值，以及何时", indented),
            "生效。其余设置不变。",
        )
    )
    assert [len(p) for p in document.text.split("\n\n")] == [35, 6, 42]


def test_a_page_with_pictures_alone_loses_its_running_head():
    pages = [
        [printed(f"User manual {n} / 6", 780), *([] if n == 3 else page_of(FULL, f"第{n}页。"))]
        for n in range(1, 7)
    ]
    document = load_pdf(*pages, bookmarks=[("第4页。", 2, 1)])
    assert "User manual" not in document.text
    assert [page.label for page in document.pages] == ["1", "2", "4", "5", "6"]


def test_chapters_in_bold_are_headings_of_their_level():
    bold = {"font": "FWB"}
    document = load_pdf(
        page_of(
            *(("第一章 总则", bold), None, FULL, "日志。", None),
            *(("第一节 范围", bold), None, FULL, "日志。", None),
            *(("第二章 安装", bold), None, FULL, "第三章说明其余设置。"),
        )
    )
    assert outline(document) == [(1, "第一章 总则"), (2, "第一节 范围"), (1, "第二章 安装")]


@pytest.mark.parametrize(
    "items",
    [
        ["非金属的舀水勺", "两支船桨", "救生衣"],
        ["开工前三天到物业办理登记。", "中午十二点到两点不得用电。", "不得拆改承重墙和燃气管道。"],
        [
            "装修押金为两千元，验收合格后退还给业主。",
            "电梯",
            "建筑垃圾装袋后堆放在指定的地点。",
            "门窗",
        ],
    ],
)
def test_items_with_drawn_bullets_are_a_list(items):
    lead = "来船屋时请带以下物品："
    placed = [(item, {"x": 90}) for item in items]
    document = load_pdf(page_of(FULL, lead, *placed, None, FULL))
    assert document.text == f"{FULL}{lead}\n\n" + "\n".join(f"- {item}" for item in items) + (
        f"\n\n{FULL}"
    )


def test_the_width_of_the_column_says_which_lines_are_wrapped():
    terms = ["专项维修资金", ("业主按面积交存、专门用于电梯等部位大修的资金", {"x": 90})]
    further = ["公共收益", ("利用小区电梯广告、地面车位等共用部分经营所得", {"x": 90})]
    quoted = [(FULL[:28], {"x": 97}), (OTHER[:28], {"x": 97}), ("写入日志。", {"x": 97})]
    document = load_pdf(page_of(FULL, OTHER, None, *terms, *further, None, *quoted))
    assert document.text.split("\n\n") == [
        FULL + OTHER,
        "\n".join(line if isinstance(line, str) else line[0] for line in (*terms, *further)),
        f"{FULL[:28]}{OTHER[:28]}写入日志。",
    ]


@pytest.mark.parametrize(
    ("head", "foot"),
    [("窑炉手册", "{}"), ("窑炉手册 2024-05-03", "第 {} 页 共 2 页"), ("第{}页", "— {} —")],
)
def test_two_pages_lose_their_heads_and_feet(head, foot):
    texts = ["第一步要检查电源。", "第二步要打开炉门。"]
    pages = [
        [
            *page_of((head.format(n), {"size": 8}), top=770),
            *page_of((foot.format(n), {"size": 8}), top=30),
            *page_of(text),
        ]
        for n, text in enumerate(texts, 1)
    ]
    assert load_pdf(*pages).text.split("\n\n") == texts
