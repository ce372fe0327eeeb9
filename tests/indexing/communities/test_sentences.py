"""The fast ways to weigh, count and merge sentences equal the plain ones."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._indexing.communities.extractive_reports import MemberMentions, key_phrases
from knotwork._indexing.entity_descriptions import merge_descriptions
from knotwork._text.statements import flat_text, is_prose
from knotwork._text.terms import STOP_WORDS, content_terms
from knotwork.records import Mention, Span

pytestmark = pytest.mark.slow


TEXT = st.text(
    st.sampled_from("abcdefg  .,|_{}<0123456789éßΩя²½Ⅷ中文字测试。，\u3000\u00a0\t\n\x1c\x85'’-")
    | st.characters(),
    max_size=60,
)
WORDS = ("harbour", "board", "winter", "ice", "the", "of", "s", "it's", "quay-side", "2", "—", ",")


@given(TEXT)
def test_a_text_is_flattened_as_two_patterns_would(text):
    wide = r"[\u3000-\u9fff\uff00-\uffef]"
    joined = re.sub(rf"(?<={wide})\s+(?={wide})", "", text)
    assert flat_text(text) == re.sub(r"\s+", " ", joined).strip()


@given(TEXT, st.integers(1, 20))
def test_prose_is_recognized_by_its_letters_one_by_one(text, times):
    text = (text * times)[:520]
    letters = sum(character.isalpha() or character.isspace() for character in text)
    shortest = 12 if re.search("[\u3400-\u9fff]", text) else 30
    markup = re.search(r"\||<[!/?A-Za-z]|[{}]|\w_\w+_\w", text)
    wanted = shortest <= len(text) <= 500 and letters >= 0.6 * len(text) and markup is None
    assert is_prose(text) == wanted


SPANS = st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda s: Span(s[0], s[0] + s[1]))


@given(
    st.dictionaries(st.sampled_from("abcde"), st.lists(SPANS, min_size=1, max_size=5)),
    st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)),
    SPANS,
)
def test_a_sentence_covers_the_members_that_are_named_inside_it(spans, shares, sentence):
    mentions = [Mention("c", name, name, "X", tuple(found)) for name, found in spans.items()]
    importance = {m.entity_id: shares[m.name] for m in mentions if m.name in shares}
    inside = {
        mention.entity_id
        for mention in mentions
        for span in mention.spans
        if mention.entity_id in importance
        and sentence.start <= span.start
        and span.end <= sentence.end
    }
    wanted = sum(importance[entity] for entity in sorted(inside))
    assert MemberMentions(mentions, importance).coverage(sentence) == wanted


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=8))
def test_phrases_are_counted_as_all_runs_of_words_would_be(texts):
    times: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        found = set()
        for part in re.split(r"[^\w\s’'-]+", text):
            run = []
            for word in [*re.findall(r"\w+(?:[-’']\w+)*", part), ""]:
                is_word = len(word) > 1 and not re.search(r"\d", word)
                if is_word and re.sub("[’']s?", "", word) not in STOP_WORDS:
                    run.append(word)
                    continue
                found |= {
                    tuple(run[start : start + length])
                    for length in (2, 3)
                    for start in range(len(run) - length + 1)
                }
                run = []
        times.update(found)
    often = (phrase for phrase in times if times[phrase] > 1)
    ranked = sorted(often, key=lambda p: (-times[p] * len(p), -times[p], p))
    wanted: list[str] = []
    for phrase in map(" ".join, ranked):
        if not any(phrase in other or other in phrase for other in wanted):
            wanted.append(phrase)
    assert key_phrases(texts, language="en") == wanted[:6]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=12))
def test_lines_are_merged_as_if_each_was_held_against_each(texts):
    lines = {line: set(content_terms(line)) for line in texts if line}
    kept: list[str] = []
    for line in sorted(lines, key=lambda line: (-len(lines[line]), len(line), line)):
        own = lines[line]
        if not any(len(own & lines[other]) >= 0.75 * len(own) for other in kept):
            kept.append(line)
    assert merge_descriptions(texts) == kept
