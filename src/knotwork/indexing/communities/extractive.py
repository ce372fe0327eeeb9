"""Reports without a model: central names, key phrases and central sentences, each cited."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from knotwork.indexing.communities.material import Material
from knotwork.indexing.communities.phrases import key_phrases
from knotwork.indexing.communities.titles import VALUES, name_theme, telling_names
from knotwork.records import EXTRACTIVE_SOURCE, CommunityReport, Entity, Finding
from knotwork.text.languages import detect_language

_FINDINGS = 5
_SUMMARY_SENTENCES = 2
_SUMMARY_NAMES = 8
_TITLE_NAMES = 3
_FILE_NAME = re.compile(r"\w_\w|\.(?:txt|md|pdf|docx?|html?|csv|json)$")
_SCALE = 2.5
"""Points of the rating for every tenfold number of names and chunks."""


def write_extractive_report(material: Material, *, content_key: str = "") -> CommunityReport:
    """Put a report together from sentences of the documents; equal material, equal report.

    ``content_key`` takes the place of the material's.
    """
    outline = outline_report(material)
    texts = [sentence.text for sentence in material.sentences]
    language = material.language
    if not texts:
        language = detect_language(" ".join(entity.name for entity in material.entities))
    names = central_names(material.entities)
    phrases = key_phrases(texts, language=language, names=names)
    told = [finding.text for finding in outline.findings[:_SUMMARY_SENTENCES]]
    return replace(
        outline,
        title=_title(material, names, phrases, language),
        summary=_summary(told, names[:_SUMMARY_NAMES], phrases, language),
        language=language,
        content_key=content_key or material.content_key,
    )


def outline_report(material: Material) -> CommunityReport:
    """Return of an extractive report what a parent is made from: no title, no summary."""
    return CommunityReport(
        material.community_id,
        "",
        "",
        tuple(Finding(s.text, (s.support,)) for s in material.central[:_FINDINGS]),
        rate(material),
        "",
        EXTRACTIVE_SOURCE,
        material.content_key,
    )


def report_title(material: Material, language: str) -> str:
    """Return the title that names the theme of a community: see `name_theme`."""
    names = central_names(material.entities)
    texts = [sentence.text for sentence in material.sentences]
    phrases = key_phrases(texts, language=language, names=names)
    return _title(material, names, phrases, language)


def central_names(entities: Sequence[Entity]) -> list[str]:
    """Return the names of entities by importance; one that is part of another is left out.

    Dates, numbers and names of files only stand in where there is nothing else.
    """
    named = [
        entity
        for entity in entities
        if entity.type not in VALUES and _FILE_NAME.search(entity.name) is None
    ] or list(entities)
    chosen: dict[str, str] = {}
    for entity in named:
        form = entity.name.casefold()
        if not any(form in other or other in form for other in chosen):
            chosen[form] = entity.name
    return list(chosen.values())


def _title(material: Material, names: Sequence[str], phrases: Sequence[str], language: str) -> str:
    telling = telling_names(material.entities, [s.text for s in material.sentences])
    title = name_theme(material.headings, material.read, telling, phrases)
    return title or _listed(names[:_TITLE_NAMES], language)


def _summary(
    sentences: Sequence[str], names: Sequence[str], phrases: Sequence[str], language: str
) -> str:
    chinese = language == "zh"
    parts = ["".join(sentences) if chinese else " ".join(sentences)] if sentences else []
    for title, listed in (("核心名称" if chinese else "Names", names),) + (
        (("关键词" if chinese else "Key phrases", phrases),) if phrases else ()
    ):
        joined = _listed(listed, language)
        parts.append(f"{title}：{joined}。" if chinese else f"{title}: {joined}.")
    return "\n".join(parts)


def _listed(items: Sequence[str], language: str) -> str:
    return ("、" if language == "zh" else ", ").join(items)


def rate(material: Material) -> float:
    """Rate by extent alone: what one community is worth must not depend on the others."""
    members, chunks = material.extent
    return round(min(10.0, _SCALE * math.log10(1 + members + chunks)), 2)
