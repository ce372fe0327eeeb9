"""Aliases that documents or a dictionary state become one entity, and questions use any of them."""

import pytest

import knotwork
from knotwork.records import Document


def index(*texts, **settings):
    base = knotwork.open("memory:", embedding_model="none", **settings)
    base.index_documents([Document(f"{n}.md", text) for n, text in enumerate(texts)])
    return base


def groups_of(base):
    """Return the names of each merged entity."""
    base.entities.find_aliases()
    return {frozenset(thing.names) for thing in base.entities.aliases().things}


@pytest.mark.parametrize(
    ("text", "names", "question", "answer"),
    [
        (
            (
                "EMSA (European Maritime Safety Agency) is in Lisbon.\n\n"
                "The European Maritime Safety Agency employs 300 people."
            ),
            {"EMSA", "European Maritime Safety Agency"},
            "How many people does EMSA employ?",
            "300",
        ),
        (
            "Myanmar, formerly Burma, lies on the Andaman Sea.\n\nBurma exports rice.",
            {"Myanmar", "Burma"},
            "What does Myanmar export?",
            "rice",
        ),
        (
            (
                "UNICEF is short for United Nations Children's Fund.\n\n"
                "The United Nations Children's Fund was founded in 1946."
            ),
            {"UNICEF", "United Nations Children's Fund"},
            "When was UNICEF founded?",
            "1946",
        ),
        (
            (
                "The Iron Ore Council met in Kiruna. The Iron Ore Council chose a chair.\n\n"
                "The IOC has 107 members."
            ),
            {"Iron Ore Council", "IOC"},
            "",
            "",
        ),
        (
            "Dr. Ana Ruiz leads the clinic in Toledo.\n\nRuiz studied in Madrid.",
            {"Dr. Ana Ruiz", "Ana Ruiz", "Ruiz"},
            "Where did Ana Ruiz study?",
            "Madrid",
        ),
        (
            "Ana Ruiz opened the bakery.\n\nAna bakes forty loaves a day. All like Ana.",
            {"Ana Ruiz", "Ana"},
            "How many loaves does Ana Ruiz bake?",
            "forty",
        ),
        (
            (
                "Alder Logistics GmbH (hereinafter “Alder”) signs the contract.\n\n"
                "Alder delivers on Mondays."
            ),
            {"Alder Logistics GmbH", "Alder"},
            "When does Alder Logistics GmbH deliver?",
            "Mondays",
        ),
        (
            "北京大学（简称北大）成立于1898年。\n\n北大的校长是龚旗煌。",
            {"北京大学", "北大"},
            "北京大学的校长是谁？",
            "龚旗煌",
        ),
        (
            "世界卫生组织（WHO）总部设在日内瓦。\n\nWHO的总干事是谭德塞。",
            {"世界卫生组织", "WHO"},
            "世界卫生组织的总干事是谁？",
            "谭德塞",
        ),
        (
            "上交所（全称：上海证券交易所）成立于1990年。\n\n上海证券交易所位于浦东。",
            {"上交所", "上海证券交易所"},
            "上交所位于哪里？",
            "浦东",
        ),
        (
            "鲁迅即周树人，浙江绍兴人。\n\n周树人写了《狂人日记》。",
            {"鲁迅", "周树人"},
            "鲁迅写了什么？",
            "狂人日记",
        ),
        (
            "马铃薯，也叫土豆，原产于南美洲。\n\n土豆含有丰富的淀粉。",
            {"马铃薯", "土豆"},
            "马铃薯含有什么？",
            "淀粉",
        ),
    ],
)
def test_names_that_a_text_makes_one_are_one_entity(text, names, question, answer):
    with index(text) as base:
        for _ in range(2):  # before and after names are compared
            if question:
                assert answer in base.ask(question).text
            assert frozenset(names) in groups_of(base)


@pytest.mark.parametrize(
    "texts",
    [
        ["The mayor praised Olga Brandt (Green Party). The Green Party has nine seats."],
        ["The concert was in Springfield (Illinois). Illinois is large."],
        ["会议在苏州（江苏）举行。江苏经济发达。苏州有很多园林。"],
        ["Ana Ruiz and Ana Gomez run the bakery.\n\nAna bakes forty loaves a day."],
        ["Anna Keller opened the mill. Her niece, also named Anna, repaired the wheel."],
        ["The Irish Orchard Club met in Cork.", "The IOC has its seat in Lausanne."],
        ["The Bank of Solent (BoS) raised its rate. The Board of Shipping (BoS) met in Hull."],
        ["Lisa Quenu (formerly Macquart) has a shop. Her father Antoine Macquart drinks."],
        ["李明即将离开北京。王芳立即回答。"],
    ],
)
def test_names_that_no_text_makes_one_stay_apart(texts):
    with index(*texts) as base:
        assert groups_of(base) == set()


def test_an_alias_of_the_dictionary_is_believed(tmp_path):
    dictionary = tmp_path / "terms.txt"
    dictionary.write_text("Hallowell Institute\tORGANIZATION\tReef House|HI\n", encoding="utf-8")
    text = "The Hallowell Institute was founded in 1971.\n\nThe Reef House has forty tanks."
    with index(text, "The HI is closed on Mondays.", index_dictionary=str(dictionary)) as base:
        assert groups_of(base) == {frozenset({"Hallowell Institute", "Reef House", "HI"})}
        answer = base.ask("When was the Reef House founded?")
        assert "1971" in answer.text


def test_the_alias_that_was_searched_for_is_noted():
    text = "李世民，又称唐太宗，是唐朝皇帝。\n\n唐太宗开创了贞观之治。"
    with index(text) as base:
        groups_of(base)
        answer = base.ask("李世民开创了什么？")
    assert "贞观之治" in answer.text
    assert answer.question == "李世民开创了什么？"
    assert "Searched for “唐太宗”, another name of “李世民”." in answer.notes


def test_two_people_of_one_name_stay_apart():
    texts = [
        "John Carter was born in Leeds. John Carter painted the Yorkshire Gallery.",
        "John Carter was born in Sydney. John Carter swims at the Brisbane Games.",
    ]
    with index(*texts) as base:
        base.entities.find_aliases()
        (homonym,) = base.entities.homonyms()
        assert (homonym.name, len(homonym.documents)) == ("John Carter", 2)
