"""Texts of answers and overviews in English and Chinese, and requests about a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from knotwork._inference import prompt_files
from knotwork._inference.chat import ChatRequest
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._retrieval.question import request_about


@dataclass(frozen=True, slots=True)
class MessageText:
    """A message in both languages; its blanks are those of `str.format`."""

    en: str
    zh: str

    def __call__(self, language: str, **values: object) -> str:
        """Return the message with its blanks filled, in English if the language is unknown."""
        return (self.zh if language == "zh" else self.en).format(**values)


no_answer = MessageText(
    "The sources do not seem to hold an answer to this question.", "资料中似乎没有这个问题的答案。"
)
"""For passages in which a language model found no answer."""
not_clear = MessageText(
    "No passage was found that clearly answers this question.", "没有找到能明确回答这个问题的段落。"
)
no_match = MessageText(
    "Nothing in the sources matches this question.", "资料中没有与这个问题相符的内容。"
)
low_confidence = MessageText(
    "The confidence is {found:.2f}, and {needed:.2f} is needed (answer.abstain_below).",
    "可信度为 {found:.2f}，需要达到 {needed:.2f}（answer.abstain_below）。",
)
not_mentioned = MessageText("“{words}” is not mentioned there.", "其中没有提到“{words}”。")
about_another = MessageText(
    "This is about “{other}”, not about “{words}”.", "这里说的是“{other}”，不是“{words}”。"
)
disagreement = MessageText("The documents disagree: {values}", "各文档说法不一：{values}")
values_by_date = MessageText(
    "The value depends on the date: {values}", "不同时间的数值不同：{values}"
)
undated = MessageText("no date", "无日期")
date_of_file = MessageText("file of {date}", "文件日期{date}")
part_not_found = MessageText(
    "No passage was found that clearly answers “{question}”",
    "没有找到能明确回答“{question}”的段落。",
)
not_in_document = MessageText("**{title}**: not found in it.", "**{title}**：其中没有找到。")
no_such_text = MessageText("No document is named “{name}”.", "没有名为“{name}”的文档。")
also_reached = MessageText("; over the same relations also {names}", "；经由同样的关系还有{names}")
also_reached_more = MessageText(
    "; over the same relations also {names} and {left:,} more",
    "；经由同样的关系还有{names}等，另有{left:,}个",
)
no_relation = MessageText(
    "The graph has no relation for “{word}”.", "图中没有与“{word}”对应的关系。"
)
_YES, _NO = MessageText("Yes", "是"), MessageText("No", "不是")
colon = MessageText(": ", "：")


def yes_or_no(language: str, *, holds: bool) -> str:
    """Return the word for what holds, or for what does not."""
    return (_YES if holds else _NO)(language)


more_items = MessageText("… and {left:,} more.", "……另有{left:,}项。")
_MORE_ROWS = MessageText("… and {left:,} more rows.", "……另有{left:,}行。")
_FURTHER_ROWS = MessageText("… and further rows.", "……还有更多行。")


def more_rows(language: str, *, left: int) -> str:
    """Return the message that ``left`` rows are not shown; 0 is an unknown number."""
    return _MORE_ROWS(language, left=left) if left else _FURTHER_ROWS(language)


table_of = MessageText(
    "A table of {rows} rows with the columns {columns}.", "一张{rows}行的表格，列有{columns}。"
)
themes_head = MessageText(
    "The documents have {count} main themes:", "这些文档主要有{count}个主题："
)
one_theme_head = MessageText("The documents have one main theme:", "这些文档主要有一个主题：")
fewer_themes_head = MessageText(
    "Found only {count} of the {limit} main themes asked for:",
    "所要的{limit}个主题中，只找到{count}个：",
)
on_this_head = MessageText(
    "What the documents say of this, by theme:", "文档中与此有关的内容，按主题："
)
themes_caption = MessageText("Main themes", "主要主题")
extent_head = MessageText("{extent}:", "共{extent}：")
part_head = MessageText("**{title}** ({extent}):", "**{title}**（{extent}）：")
from_sections = MessageText("From {sections} of {documents}:", "出自{documents}的{sections}：")
also_sections = MessageText("Also", "此外")
with_extent = MessageText("{title} ({extent})", "{title}（{extent}）")
most_often = MessageText(
    "Mentioned most often ({noun} in the graph: {count}):",
    "提到最多的（图谱中的{noun}：{count}个）：",
)
most_important = MessageText(
    "Most important by their place in the graph ({noun}: {count}):",
    "按在图谱中的位置最重要的（{noun}：{count}个）：",
)
ranked = MessageText("{name}: {passages} in {documents}", "{name}：{documents}中的{passages}")
mentioned = MessageText(
    "“{subject}” is mentioned {times} in {passages} of {documents}, of {total} in all:",
    "“{subject}”共提到{times}，见于{documents}（共{total}个）中的{passages}：",
)
never = MessageText(
    "None of the {total} documents mentions “{subject}”.",
    "全部{total}个文档都没有提到“{subject}”。",
)
no_entities = MessageText(
    "The graph of these documents has no {noun}.", "这些文档的图谱中没有{noun}。"
)

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
_MORE_UNITS = MessageText("and {number:,} more {unit}", "另有{number:,}{unit}")
_COUNT = MessageText("{number:,} {unit}", "{number:,}{unit}")


def count_units(number: int, unit: str, language: str) -> str:
    """Return a number with its unit: "1 document", "3个文档"."""
    return _COUNT(language, number=number, unit=_unit_name(number, unit, language))


def count_more(number: int, unit: str, language: str) -> str:
    """Return the number of units not listed: "and 9 more sections", "另有9个章节"."""
    return _MORE_UNITS(language, number=number, unit=_unit_name(number, unit, language))


def _unit_name(number: int, unit: str, language: str) -> str:
    one, many = _UNITS.get(language, _UNITS["en"])[unit]
    return one if number == 1 else many


_ROOM = "knotwork._synthesis"
fill_prompt = partial(prompt_files.fill_prompt, _ROOM)
"""Return the messages of a prompt of answers, given its task, a language and its blanks."""


def make_request(
    task: str,
    question: str,
    model: object = None,
    /,
    *,
    output_tokens: int,
    stage: str = "",
    **blanks: str,
) -> ChatRequest:
    """Return the request of a task about a question, in its language, with the model's prompts.

    The stage is the task, unless another one is given.
    """
    unknown = no_answer(reading_of(question).language)
    blanks = {"question": escape_passage(question.strip()), "unknown": unknown, **blanks}
    return request_about(
        question, _ROOM, task, model, stage=stage or task, output_tokens=output_tokens, **blanks
    )
