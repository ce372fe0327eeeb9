"""How much a chunk is about each of its entities: titles, headings, subjects, salience."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from knotwork.records import Chunk
from knotwork.text.names import normal_form
from knotwork.transform.rules.settings import RuleSettings
from knotwork.transform.rules.subjects import most_mentioned, short_subjects
from knotwork.transform.rules.titles import Title


@dataclass(frozen=True, slots=True)
class Topic:
    """Something a title, heading or first sentence says the text is about."""

    name: str
    form: str
    about: float


def title_topics(
    title: Title, parts: Iterable[tuple[str, str]], *, weight: float, settings: RuleSettings
) -> Iterator[Topic]:
    """Yield what a title names; ``parts`` are (name, form) of the names inside a phrase."""
    if title.form:
        yield Topic(title.text, title.form, weight)
        head, comma, _ = title.text.partition(",")
        if comma and not title.is_phrase and normal_form(head):
            yield Topic(head, normal_form(head), weight * settings.comma_title_about)
    for name, form in parts:
        yield Topic(name, form, weight * settings.title_part_about)


def title_weight(chunk: Chunk, *, headings: int, settings: RuleSettings) -> float:
    """Return how much a chunk is about its document's title."""
    if chunk.ordinal == 0:
        return settings.title_about
    return settings.later_title_about * settings.outer_heading_about ** max(0, headings - 1)


def heading_weights(chunk: Chunk, before: Chunk | None, settings: RuleSettings) -> list[float]:
    """Return how much a chunk is about each of its headings, outermost first."""
    opens = before is None or before.headings != chunk.headings
    nearest = settings.heading_about if opens else settings.later_heading_about
    depth = len(chunk.headings)
    return [nearest * settings.outer_heading_about ** (depth - 1 - level) for level in range(depth)]


def subject_topics(name: str, form: str, *, weight: float, settings: RuleSettings) -> list[Topic]:
    """Return the topics of a first sentence's subject: itself and its short forms."""
    topics = [Topic(name, form, weight)]
    topics += [
        Topic(short, short, weight * settings.short_subject_about)
        for short in short_subjects(name)
        if short and short != form
    ]
    return topics


def salience(
    counts: Mapping[str, int], aliases: Mapping[str, str], settings: RuleSettings
) -> dict[str, float]:
    """Return each entity's part of the chunk's mentions as aboutness.

    A short form counts for the full name in ``aliases`` too.
    """
    total = sum(counts.values())
    shares = dict(counts)
    for short, full in aliases.items():
        if short in counts and full in counts:
            shares[full] += counts[short]
    return {
        form: min(settings.most_salience_about, settings.salience_about * count / total)
        for form, count in shares.items()
    }


def strongest(topics: Sequence[Topic]) -> dict[str, Topic]:
    """Return the strongest topic of each form, in order of first appearance."""
    best: dict[str, Topic] = {}
    for topic in topics:
        known = best.get(topic.form)
        if known is None or topic.about > known.about:
            best[topic.form] = topic
    return best


def salient_topic(counts: Mapping[str, int], types: Mapping[str, str]) -> str:
    """Return the entity mentioned most, at least twice; no date and no number."""
    return most_mentioned(
        (form, count)
        for form, count in counts.items()
        if types.get(form, "") not in {"DATE", "NUMBER"}
    )
