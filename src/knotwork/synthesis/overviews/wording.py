"""The wording of overviews, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

Texts = Mapping[str, str]

EXTENT: Texts = {
    "en": "{documents} with {headings}:",
    "zh": "共{documents}、{headings}：",
}
PART: Texts = {
    "en": "{title} ({extent}):",
    "zh": "{title}（{extent}）：",
}
FROM: Texts = {"en": "From {sections} of {documents}:", "zh": "出自{documents}的{sections}："}
ALSO: Texts = {"en": "Also", "zh": "此外"}
MORE: Texts = {"en": "and {number} more {unit}", "zh": "另有{number}{unit}"}
THEME: Texts = {"en": "{title} ({passages})", "zh": "{title}（{passages}）"}
MOST_OFTEN: Texts = {
    "en": "Mentioned most often ({noun} in the graph: {count}):",
    "zh": "提到最多的（图谱中的{noun}：{count}个）：",
}
MOST_IMPORTANT: Texts = {
    "en": "Most important by their place in the graph ({noun}: {count}):",
    "zh": "按在图谱中的位置最重要的（{noun}：{count}个）：",
}
RANKED: Texts = {
    "en": "{name}: {passages} in {documents}",
    "zh": "{name}：{documents}中的{passages}",
}
MENTIONED: Texts = {
    "en": "“{subject}” is mentioned {times} in {passages} of {documents}, of {total} in all:",
    "zh": "“{subject}”共提到{times}，见于{documents}（共{total}个）中的{passages}：",
}
NEVER: Texts = {
    "en": "None of the {total} documents mentions “{subject}”.",
    "zh": "全部{total}个文档都没有提到“{subject}”。",
}
NO_ENTITIES: Texts = {
    "en": "The graph of these documents has no {noun}.",
    "zh": "这些文档的图谱中没有{noun}。",
}

_UNITS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "en": {
        "chapter": ("chapter", "chapters"),
        "document": ("document", "documents"),
        "heading": ("heading", "headings"),
        "passage": ("passage", "passages"),
        "section": ("section", "sections"),
        "time": ("time", "times"),
    },
    "zh": {
        "chapter": ("章", "章"),
        "document": ("个文档", "个文档"),
        "heading": ("个标题", "个标题"),
        "passage": ("段", "段"),
        "section": ("个章节", "个章节"),
        "time": ("次", "次"),
    },
}


def say(texts: Texts, language: str, **values: object) -> str:
    """Return a text in a language, English where it is not known, with its blanks filled."""
    return texts.get(language, texts["en"]).format(**values)


def count(number: int, unit: str, language: str) -> str:
    """Return a number with its unit: "1 document", "3个文档"."""
    noun = _unit(number, unit, language)
    return f"{number:,}{noun}" if language == "zh" else f"{number:,} {noun}"


def count_more(number: int, unit: str, language: str) -> str:
    """Return how many are not listed: "and 9 more sections", "另有9个章节"."""
    return say(MORE, language, number=f"{number:,}", unit=_unit(number, unit, language))


def _unit(number: int, unit: str, language: str) -> str:
    one, many = _UNITS.get(language, _UNITS["en"])[unit]
    return one if number == 1 else many
