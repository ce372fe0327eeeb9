"""Constants of the rules, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """How the rules find entities and relations, and how they weigh what a chunk is about.

    Weights of aboutness are in [0, 1]; an entity takes the largest that applies.
    """

    title_about: float = 1.0
    """The document's title in the first chunk."""
    subject_about: float = 0.9
    """Without a title: the subject that the first sentence defines ("Tartu is a city")."""
    opening_about: float = 0.4
    """Without a title: any other subject of the first sentence, as in news, or what the text
    mentions most. It says little about the topic."""
    comma_title_about: float = 0.9
    """Times the title's weight: the title up to its first comma ("Rochester, New York")."""
    short_subject_about: float = 0.8
    """Times the subject's weight: "first last" and "first second" of a subject of 3+ words."""
    title_part_about: float = 0.6
    """Times the weight of a title or heading that is a phrase: the names inside it."""
    later_title_about: float = 0.5
    """The document's title in the chunks after the first."""
    heading_about: float = 1.0
    """The nearest heading, in the chunk that it opens."""
    later_heading_about: float = 0.8
    """The nearest heading, in the later chunks of its section."""
    outer_heading_about: float = 0.5
    """A heading one level further out; each further level counts this much less again."""
    later_subject_about: float = 0.5
    """The subject of a later chunk's own first sentence."""
    salience_about: float = 0.6
    """Times an entity's share of the chunk's mentions."""
    most_salience_about: float = 0.4
    """The most that an entity's share of the mentions can give."""

    longest_title_words: int = 12
    """A longer title or heading is a sentence, and only the names inside it are entities."""
    longest_name_words: int = 8
    """A longer run of capitalised words is a list or a headline, and only its parts are names."""
    longest_han_name: int = 16
    """The longest Chinese name, in characters."""
    phrases_per_chunk: int = 12
    """The most lower-case noun phrases taken from a chunk, most repeated first."""
    phrase_repeats: int = 2
    """How often a document must repeat a lower-case phrase of words to make it an entity."""
    single_noun_repeats: int = 3
    """The same for a single Chinese noun of three or more characters."""
    entities_per_chunk: int = 120
    """The most entities of a chunk, those with most mentions first."""

    relations_per_sentence: int = 8
    """The most relations of one sentence."""
    relations_per_chunk: int = 24
    """The most different relations of one chunk, strongest first; aliases do not count."""
