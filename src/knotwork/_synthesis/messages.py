"""Texts of answers and overviews in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

MessageTexts = Mapping[str, str]
"""A message by language; its blanks are those of `str.format`."""


def say(texts: MessageTexts, language: str, **values: object) -> str:
    """Return a message with its blanks filled, in English if the language is unknown."""
    return texts.get(language, texts["en"]).format(**values)


_NO_ANSWER = {
    "en": "The sources do not seem to hold an answer to this question.",
    "zh": "资料中似乎没有这个问题的答案。",
}
_NOT_CLEAR = {
    "en": "No passage was found that clearly answers this question.",
    "zh": "没有找到能明确回答这个问题的段落。",
}
_NO_MATCH = {
    "en": "Nothing in the sources matches this question.",
    "zh": "资料中没有与这个问题相符的内容。",
}
_DOUBT = {
    "en": "The confidence is {found:.2f}, and {needed:.2f} is needed (answer.abstain_below).",
    "zh": "可信度为 {found:.2f}，需要达到 {needed:.2f}（answer.abstain_below）。",
}

_PART_NOT_FOUND = {
    "en": "No passage was found that clearly answers “{question}”",
    "zh": "没有找到能明确回答“{question}”的段落。",
}

_THEMES = {
    "en": "The documents have {count} main themes:",
    "zh": "这些文档主要有{count}个主题：",
}
_ONE_THEME = {"en": "The documents have one main theme:", "zh": "这些文档主要有一个主题："}
_ON_THIS = {
    "en": "What the documents say of this, by theme:",
    "zh": "文档中与此有关的内容，按主题：",
}


_ALSO = {
    "en": "; over the same relations also {names}",
    "zh": "；经由同样的关系还有{names}",
}
_ALSO_MORE = {
    "en": "; over the same relations also {names} and {left:,} more",
    "zh": "；经由同样的关系还有{names}等，另有{left:,}个",
}


def also_reached(language: str, *, names: str, left: int) -> str:
    """Return the other names that the same relations lead to, and how many more there are."""
    return say(_ALSO_MORE if left else _ALSO, language, names=names, left=left)


_MORE_ROWS = {"en": "… and {left:,} more rows.", "zh": "……另有{left:,}行。"}
_FURTHER_ROWS = {"en": "… and further rows.", "zh": "……还有更多行。"}


def more_rows(language: str, *, left: int) -> str:
    """Return the message that ``left`` rows are not shown; 0 is an unknown number."""
    return say(_MORE_ROWS if left else _FURTHER_ROWS, language, left=left)


_MORE_ITEMS = {"en": "… and {left:,} more.", "zh": "……另有{left:,}项。"}


def more_items(language: str, *, left: int) -> str:
    """Return the message that ``left`` items of a list are not shown."""
    return say(_MORE_ITEMS, language, left=left)


def not_clear(language: str) -> str:
    """Return the message that no passage found clearly answers."""
    return say(_NOT_CLEAR, language)


def part_not_found(language: str, *, question: str) -> str:
    """Return the message that one part of a question was not answered."""
    return say(_PART_NOT_FOUND, language, question=question)


def no_answer(language: str) -> str:
    """Return the message for passages in which a language model found no answer."""
    return say(_NO_ANSWER, language)


def no_match(language: str) -> str:
    """Return the message that nothing was found at all."""
    return say(_NO_MATCH, language)


def low_confidence(language: str, *, found: float, needed: float) -> str:
    """Return the message with the confidence found and the confidence needed."""
    return say(_DOUBT, language, found=found, needed=needed)


def introduce_themes(language: str, *, count: int, has_focus: bool) -> str:
    """Return the introduction of an overview by themes, of everything or of one focus."""
    texts = _ON_THIS if has_focus else _ONE_THEME if count == 1 else _THEMES
    return say(texts, language, count=count)


EXTENT_HEAD: MessageTexts = {
    "en": "{extent}:",
    "zh": "共{extent}：",
}
THEMES_HEAD: MessageTexts = {"en": "Main themes", "zh": "主要主题"}
PART_HEAD: MessageTexts = {
    "en": "**{title}** ({extent}):",
    "zh": "**{title}**（{extent}）：",
}
FROM_SECTIONS: MessageTexts = {
    "en": "From {sections} of {documents}:",
    "zh": "出自{documents}的{sections}：",
}
ALSO_SECTIONS: MessageTexts = {"en": "Also", "zh": "此外"}
MORE_UNITS: MessageTexts = {"en": "and {number} more {unit}", "zh": "另有{number}{unit}"}
WITH_EXTENT: MessageTexts = {"en": "{title} ({extent})", "zh": "{title}（{extent}）"}
MOST_OFTEN: MessageTexts = {
    "en": "Mentioned most often ({noun} in the graph: {count}):",
    "zh": "提到最多的（图谱中的{noun}：{count}个）：",
}
MOST_IMPORTANT: MessageTexts = {
    "en": "Most important by their place in the graph ({noun}: {count}):",
    "zh": "按在图谱中的位置最重要的（{noun}：{count}个）：",
}
RANKED: MessageTexts = {
    "en": "{name}: {passages} in {documents}",
    "zh": "{name}：{documents}中的{passages}",
}
MENTIONED: MessageTexts = {
    "en": "“{subject}” is mentioned {times} in {passages} of {documents}, of {total} in all:",
    "zh": "“{subject}”共提到{times}，见于{documents}（共{total}个）中的{passages}：",
}
NEVER: MessageTexts = {
    "en": "None of the {total} documents mentions “{subject}”.",
    "zh": "全部{total}个文档都没有提到“{subject}”。",
}
NO_ENTITIES: MessageTexts = {
    "en": "The graph of these documents has no {noun}.",
    "zh": "这些文档的图谱中没有{noun}。",
}

_UNITS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "en": {
        "chapter": ("chapter", "chapters"),
        "document": ("document", "documents"),
        "passage": ("passage", "passages"),
        "section": ("section", "sections"),
        "time": ("time", "times"),
    },
    "zh": {
        "chapter": ("章", "章"),
        "document": ("个文档", "个文档"),
        "passage": ("段", "段"),
        "section": ("个章节", "个章节"),
        "time": ("次", "次"),
    },
}


def count_units(number: int, unit: str, language: str) -> str:
    """Return a number with its unit: "1 document", "3个文档"."""
    noun = _unit_name(number, unit, language)
    return f"{number:,}{noun}" if language == "zh" else f"{number:,} {noun}"


def count_more(number: int, unit: str, language: str) -> str:
    """Return the number of units not listed: "and 9 more sections", "另有9个章节"."""
    return say(MORE_UNITS, language, number=f"{number:,}", unit=_unit_name(number, unit, language))


def _unit_name(number: int, unit: str, language: str) -> str:
    one, many = _UNITS.get(language, _UNITS["en"])[unit]
    return one if number == 1 else many
