"""Names and terms in Chinese text, simplified and traditional."""

import pytest
from tests.transform.documents import extract, forms, mentions, relations

from knotwork._transform.rules import RuleSettings
from knotwork.records import KEYWORD


@pytest.mark.parametrize(
    ("text", "form", "kind"),
    [
        ("李克强总理在北京发表讲话。", "李克强", "PERSON"),
        ("李克強總理在北京發表講話。", "李克强", "PERSON"),
        ("他毕业于北京大学。", "北京大学", "ORGANIZATION"),
        (
            "会议由中国联合网络通信集团有限公司主办。",
            "中国联合网络通信集团有限公司",
            "ORGANIZATION",
        ),
        ("作家曹雪芹写了《红楼梦》。", "红楼梦", "WORK"),
        ("作家曹雪芹寫了《紅樓夢》。", "红楼梦", "WORK"),
        ("後來威廉·瓊斯發現印歐語系。", "威廉·琼斯", "PERSON"),
        ("活动在2023年5月1日开始。", "2023年5月1日", "DATE"),
        ("用户达到3.5亿。", "3.5亿", "NUMBER"),
        ("他使用 iPhone 14 上网。", "iphone 14", ""),
    ],
)
def test_names_and_types(text: str, form: str, kind: str) -> None:
    (extraction,) = extract("", text)
    mention = mentions(extraction)[form]
    assert mention.type == kind
    assert mention.spans


def test_a_noun_that_begins_like_a_surname_is_no_person() -> None:
    text = "安全性很重要。许可证也很重要。毛毛虫在树上。"
    (extraction,) = extract("", text)
    assert all(mention.type != "PERSON" for mention in extraction.mentions)


def test_words_between_quotation_marks_find_chunks_and_are_not_shown() -> None:
    (extraction,) = extract("", "人们谈论“数字丝绸之路”。")
    assert mentions(extraction)["数字丝绸之路"].type == KEYWORD


def test_repeated_compounds_are_terms() -> None:
    assert "信息技术" in forms("", "信息技术发展很快。我们研究信息技术。")
    assert "信息技术" not in forms("", "信息技术发展很快。")


def test_a_definition_names_what_the_text_is_about() -> None:
    (extraction,) = extract("", "腳踏車，或稱自行車，是一種小型陸上車輛。")
    assert mentions(extraction)["脚踏车"].about == RuleSettings().subject_about


def test_an_adverbial_is_no_subject() -> None:
    (extraction,) = extract("", "在歐洲，梵語的研究由德國學者開創。")
    assert max(mention.about for mention in extraction.mentions) < 0.5


def test_abbreviations_in_brackets_are_aliases() -> None:
    text = "中国联合网络通信集团有限公司（以下简称“中国联通”）成立。中国联通发展很快。"
    (extraction,) = extract("", text)
    assert ("中国联通", "also known as", "中国联合网络通信集团有限公司") in relations(extraction)


def test_verbs_are_relations() -> None:
    (extraction,) = extract("", "曹雪芹创作《红楼梦》。")
    assert ("曹雪芹", "创作", "红楼梦") in relations(extraction)
