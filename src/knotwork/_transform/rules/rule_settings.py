"""The constants of extraction by rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """How the rules find entities and relations, and weigh how much a chunk is about an entity.

    Weights of aboutness are in [0, 1]; the largest applicable weight counts.
    """

    title_about: float = 1.0
    """The document's title in the first chunk."""
    subject_about: float = 0.9
    """Without a title: the subject that the first sentence defines ("Tartu is a city")."""
    opening_about: float = 0.4
    """Without a title: any other subject of the first sentence, as in news, or the most frequent
    entity. It is weak evidence for the topic."""
    comma_title_about: float = 0.9
    """Factor of the title's weight for the title up to its first comma ("Rochester, New York")."""
    short_subject_about: float = 0.8
    """Factor of the subject's weight for "first last" and "first second" of 3 or more words."""
    title_part_about: float = 0.6
    """Factor of the weight of a title or heading that is a phrase, for the names inside it."""
    later_title_about: float = 0.5
    """The document's title in the chunks after the first."""
    heading_about: float = 1.0
    """The nearest heading, in the first chunk of its section."""
    later_heading_about: float = 0.8
    """The nearest heading, in the later chunks of its section."""
    outer_heading_about: float = 0.5
    """Factor for each level between a heading and the nearest one."""
    later_subject_about: float = 0.5
    """The subject of a later chunk's own first sentence."""
    salience_about: float = 0.6
    """Aboutness per share of the chunk's mentions."""
    most_salience_about: float = 0.4
    """Upper limit of the aboutness that follows from the share of mentions."""

    longest_title_words: int = 12
    """A longer title or heading is a sentence: only the names inside it are entities."""
    phrases_per_chunk: int = 12
    """Most lower-case noun phrases of a chunk, in order of occurrence."""
    phrase_repeats: int = 2
    """Least occurrences in a document that make a lower-case phrase an entity."""
    single_noun_repeats: int = 3
    """Least occurrences in a document that make a single Chinese noun an entity."""
    entities_per_chunk: int = 120
    """Most entities of a chunk, those with the highest aboutness first."""

    relations_per_sentence: int = 8
    """Most relations of one sentence."""
    relations_per_chunk: int = 24
    """Most distinct relations of one chunk, strongest first; aliases do not count."""
