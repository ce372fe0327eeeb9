"""Questions that name documents are asked in each of them alone, and answered under its title."""

import pytest
from tests.synthesis.asked import check_citations

import knotwork
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.records import Document

BUS = "The night bus runs from the station to the hospital. The night bus is green."
TEXTS = {
    "Document A.md": "# Document A\n\nWe welcome the night bus. Parking should stay free.",
    "Document B.md": "# Document B\n\nWe reject the night bus, and the lime trees must be kept.",
    "Document D.md": f"# Document D\n\n{BUS}",
    "shop/alder.md": "# Terms of the Alder shop\n\nGoods are taken back for 30 days.",
    "shop/birch.md": "# Terms of the Birch shop\n\nGoods are taken back for 14 days.",
    "garden.md": "# Garden\n\n## Plots\n\nPlots are watered before nine.\n\n## Bees\n\n"
    "Two hives stand at the fence.\n\n## Compost\n\nCompost is turned on Saturdays.",
    "文档甲.md": "# 文档甲\n\n我们支持夜班公交。停车应当免费。",
    "文档乙.md": "# 文档乙\n\n我们反对夜班公交，钱应当用于修缮屋顶。",
    "退货政策.md": "# 退货政策\n\n商品可在三十天内退款。",
    "维修手册.md": "# 维修手册\n\n工具在十四天内退款。",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    for name, text in TEXTS.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    with knotwork.open(folder / "named.knot", embedding_model="none") as base:
        base.index(folder / "docs")
    return folder


@pytest.fixture
def base(folder):
    with knotwork.open(folder / "named.knot", embedding_model="none", read_only=True) as opened:
        yield opened


def parts_of(base, question):
    """Return the text under each title, and those of no title under ""."""
    answer = base.ask(question)
    check_citations(base, answer)
    parts, title = {}, ""
    for line in answer.text.split("\n\n"):
        head, bold, _ = line.removeprefix("**").partition("**")
        title = head.partition(" > ")[0] if line.startswith("**") and bold else title
        parts[title] = f"{parts.get(title, '')}{line}"
    return parts


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What do documents A and B say about the night bus?",
            {"Document A": "welcome", "Document B": "reject"},
        ),
        ("views of documents A, B", {"Document A": "welcome", "Document B": "reject"}),
        (
            "Compare the days for goods in alder.md and birch.md",
            {
                "Terms of the Alder shop (alder.md)": "30 days",
                "Terms of the Birch shop (birch.md)": "14 days",
            },
        ),
        (
            "What do the Garden and Document D say about hives?",
            {"Garden": "Two hives", "Document D": "not found in it"},
        ),
        (
            "What do sections 1 and 3 of garden.md say about plots?",
            {"Plots (section 1)": "before nine", "Compost": "not found in it"},
        ),
        ("文档甲和文档乙对夜班公交的看法", {"文档甲": "支持", "文档乙": "反对"}),
        ("文檔甲、乙分別有什麼觀點？", {"文档甲": "支持", "文档乙": "反对"}),
        ("退货政策和维修手册分别规定几天内退款？", {"退货政策": "三十天", "维修手册": "十四天"}),
        (
            "《退货政策》和《维修手册》关于退款怎么说？",
            {"退货政策": "三十天", "维修手册": "十四天"},
        ),
    ],
)
def test_each_named_document_answers_under_its_title(base, question, expected):
    parts = parts_of(base, question)
    assert parts.keys() == expected.keys()
    for title, words in expected.items():
        assert words in parts[title]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("What do documents A and F say about parking?", "No document is named “F”."),
        ("文档甲和文档丁对停车有什么意见？", "没有名为“丁”的文档。"),
    ],
)
def test_a_document_that_is_missing_is_said_to_be(base, question, message):
    answer = base.ask(question)
    assert answer.answered
    assert message in answer.text
    assert {citation.title for citation in answer.citations} <= {"Document A", "文档甲"}


def test_one_named_document_is_asked_alone(base):
    answer = base.ask("What is the view of document B?")
    assert {citation.title for citation in answer.citations} == {"Document B"}
    assert "Only “Document B” was searched, as the question names it." in answer.notes


@pytest.mark.parametrize(
    "question",
    ["What do vitamins A and B do?", "Compare Rome and Paris.", "Where is the garden of the bees?"],
)
def test_names_that_are_no_documents_do_not_restrict_the_search(base, question):
    notes = " ".join(base.ask(question).notes)
    assert "names" not in notes


def test_a_model_gets_the_passages_of_each_named_document(folder):
    model = ScriptedChatModel(["Both are for goods [1]."])
    store = folder / "named.knot"
    with knotwork.open(store, embedding_model="none", chat_model=model, read_only=True) as base:
        base.ask("Compare the days for goods in alder.md and birch.md", k=1)
    prompt = "\n".join(message.content for message in model.requests[-1].messages)
    assert "30 days" in prompt
    assert "14 days" in prompt


def test_a_filter_holds_beside_the_names(base):
    answer = base.ask("Summarize documents A and B", filters="title = 'Document A'")
    assert {citation.title for citation in answer.citations} == {"Document A"}
    assert "No document is named “B”." in answer.text


def test_a_letter_may_be_the_last_word_of_a_file_name(tmp_path):
    with knotwork.open("memory:", embedding_model="none") as base:
        prices = {"offer_a.txt": 900, "offer_b.txt": 800}
        texts = ((name, f"The roof costs {price} euros.") for name, price in prices.items())
        base.index_documents([Document(*pair) for pair in texts])
        answer = base.ask("What does the roof cost in proposals A and B?")
        assert [c.document for c in answer.citations] == ["offer_a.txt", "offer_b.txt"]
