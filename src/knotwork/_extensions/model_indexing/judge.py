"""Ask a model to judge the pairs that rules leave open: many per call, within a token limit.

`read_margin` selects the open pairs, and a `Judge` is asked about them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from knotwork._extensions.model_indexing.batch_requests import batches_by_language
from knotwork._indexing.resolution.name_evidence import EntityPair, EntityProfile
from knotwork._indexing.resolution.pairs import Margin, PairQuestion, PairSurvey
from knotwork._indexing.resolution.rules import Ruling
from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, Message, complete_checked
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, prompts_of
from knotwork._inference.prompt_files import read_prompt
from knotwork._inference.prompt_material import escape_tags
from knotwork._run import Progress, Steps
from knotwork._stores.base import Store
from knotwork._stores.capabilities import ResolutionStore
from knotwork._text.languages import prompt_language
from knotwork._text.sentences import split_sentences
from knotwork._text.token_counts import count_tokens, token_starts
from knotwork.errors import Unparsable
from knotwork.records import RULES_SOURCE, Chunk, SameAs, Verdict

FULL_SHARE = 0.15
"""Resolution tokens allowed per corpus token if a model also reads the documents."""
LEAN_SHARE = 0.1
"""Resolution tokens allowed per corpus token if a model does nothing else at index time."""

_VERDICT = re.compile(
    r"\W*(?:\d{1,4}[.)]\s+)?(\d{1,4})[\s*.)、:：\]\"']*[|｜\t:：,， ]\W{0,4}"
    r"(same|different|相同|同一|不同)(?=\W|$)",
    re.IGNORECASE,
)
_JUDGED_SCORE = 0.85
"""Confidence of a model's verdict, below every rule's, so that rules win a contradiction."""

_SAME = frozenset({"same", "相同", "同一"})
_TOKENS_A_NUMBER = 3
_TOKENS_A_VERDICT = 6
_TOKENS_A_CALL = 12
"""Overhead of a call in tokens: roles, separators and line breaks."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that decides whether two names mean the same entity.

    A run may use about ``ceiling_tokens`` input and output tokens; without a ceiling the model
    judges every open pair.
    """

    model: ChatModel
    ceiling_tokens: int | None = None
    pairs_a_call: int = 25
    concurrency: int = 4

    def decide(
        self, resolutions: ResolutionStore, questions: Sequence[PairQuestion]
    ) -> Steps[tuple[int, list[Verdict]]]:
        """Store the verdicts of each call as soon as it returns; return call count and verdicts."""
        asked = {question.pair: question for question in questions}
        verdicts: list[Verdict] = []
        calls = 0
        yield Progress("names", 0, len(asked))
        with closing(self.ask(questions)) as replies:
            for reply in replies:
                calls += 1
                verdicts += reply.values()
                resolutions.put(
                    SameAs(
                        *pair,
                        verdict,
                        self.model.name,
                        asked[pair].reason,
                        _JUDGED_SCORE,
                        asked[pair].content_key,
                    )
                    for pair, verdict in reply.items()
                )
                yield Progress("names", len(verdicts), len(asked))
        return calls, verdicts

    def ask(
        self, questions: Sequence[PairQuestion]
    ) -> Generator[dict[EntityPair, Verdict], None, None]:
        """Yield the verdicts of each call by pair; ask once more about missing pairs.

        The pairs of a call are in one language. A pair that is still missing stays undecided.
        Raises as `ChatModel.complete` does; results yielded before remain valid.
        """
        left = list(questions)
        for _ in range(2):
            asked, left = left, []
            batches = list(
                batches_by_language(asked, lambda question: question.text, size=self.pairs_a_call)
            )
            calls = work_ordered(
                lambda batch: _ask_once(self, batch[1]), batches, concurrency=self.concurrency
            )
            with closing(calls):
                for (_, batch), verdicts in zip(batches, calls, strict=True):
                    left += [question for question in batch if question.pair not in verdicts]
                    yield verdicts


def choose_questions(questions: Sequence[PairQuestion], judge: Judge) -> list[PairQuestion]:
    """Return the questions that fit under the judge's ceiling, in descending order of worth."""
    ranked = sorted(questions, key=lambda question: (-question.worth, question.pair))
    if judge.ceiling_tokens is None:
        return ranked
    left = judge.ceiling_tokens
    chosen: Counter[str] = Counter()
    for question in ranked:
        language = _language([question])
        cost = count_tokens(question.text) + _TOKENS_A_NUMBER + _TOKENS_A_VERDICT
        if chosen[language] % judge.pairs_a_call == 0:
            cost += count_tokens(_instructions(language, prompts_of(judge.model))) + _TOKENS_A_CALL
        if cost > left:
            break
        left -= cost
        chosen[language] += 1
    return ranked[: chosen.total()]


def _ask_once(judge: Judge, questions: Sequence[PairQuestion]) -> dict[EntityPair, Verdict]:
    try:
        verdicts = complete_checked(
            judge.model,
            judge_request(questions, prompts_of(judge.model)),
            lambda reply: read_verdicts(reply, len(questions)),
        )
    except Unparsable:
        return {}
    return {q.pair: verdicts[n] for n, q in enumerate(questions, start=1) if n in verdicts}


def judge_request(questions: Sequence[PairQuestion], prompts: OwnPrompts = BUILT_IN) -> ChatRequest:
    """Return the request for a list of pairs, in their predominant language."""
    lines = "\n".join(f"{number}. {q.text}" for number, q in enumerate(questions, start=1))
    return ChatRequest(
        (
            Message("system", _instructions(_language(questions), prompts)),
            Message("user", f"<pairs>\n{lines}\n</pairs>"),
        ),
        max_output_tokens=32 + 10 * len(questions),
        stage="resolve",
    )


def read_verdicts(reply: ChatReply, count: int) -> dict[int, Verdict]:
    """Return the valid verdicts of a reply by number.

    Contradictory verdicts on one number are dropped. Raises Unparsable if no verdict is left.
    """
    found: dict[int, Verdict] = {}
    twice: set[int] = set()
    for line in reply.text.splitlines():
        match = _VERDICT.match(line)
        number = int(match[1]) if match else 0
        if match is None or not 1 <= number <= count:
            continue
        verdict = Verdict.SAME if match[2].lower() in _SAME else Verdict.DIFFERENT
        if found.setdefault(number, verdict) is not verdict:
            twice.add(number)
    verdicts = {number: verdict for number, verdict in found.items() if number not in twice}
    if not verdicts and count:
        raise Unparsable("The reply has no verdict on any pair.")
    return verdicts


def _language(questions: Sequence[PairQuestion]) -> str:
    text = " ".join(question.text for question in questions)
    return prompt_language(text)


def _instructions(language: str, prompts: OwnPrompts) -> str:
    return read_prompt("knotwork._extensions.model_indexing", "judge-pairs", language, prompts)[0]


_FEWEST_TOKENS = 20
"""Least cost of a pair; it limits how many pairs are described before the exact selection."""


def read_margin(
    store: Store,
    survey: PairSurvey,
    held: Mapping[EntityPair, SameAs],
    opened: Mapping[EntityPair, Ruling],
    judge: Judge | None,
) -> Margin:
    """Return what a judge makes of the ``opened`` pairs of a survey, given stored decisions.

    Without a judge nothing is asked, and verdicts on unchanged questions are kept.
    """
    known = [pair for pair in opened if pair in held and held[pair].source != RULES_SOURCE]
    new: list[EntityPair] = []
    if judge is not None:
        new = [pair for pair in opened if pair not in held or held[pair].source == RULES_SOURCE]
        if judge.ceiling_tokens is not None:
            new.sort(key=lambda pair: (-_worth(pair, opened[pair], survey.profiles), pair))
            new = new[: judge.ceiling_tokens // _FEWEST_TOKENS]
    questions = _questions_on(store, [*known, *new], opened, survey.profiles)
    kept = frozenset(
        pair for pair in known if held[pair].content_key == questions[pair].content_key
    )
    asked: Sequence[PairQuestion] = ()
    if judge is not None:
        asked = choose_questions([q for p, q in questions.items() if p not in kept], judge)
    return Margin(kept, tuple(asked), len(opened) - len(kept) - len(asked))


def _questions_on(
    store: Store,
    pairs: Sequence[EntityPair],
    opened: Mapping[EntityPair, Ruling],
    profiles: Mapping[str, EntityProfile],
) -> dict[EntityPair, PairQuestion]:
    involved = sorted({entity for pair in pairs for entity in pair})
    lines = describe_entities(store, [profiles[entity] for entity in involved])
    return {
        (one, other): PairQuestion(
            (one, other),
            lines[one],
            lines[other],
            opened[one, other].reason,
            _worth((one, other), opened[one, other], profiles),
        )
        for one, other in pairs
    }


def _worth(pair: EntityPair, ruling: Ruling, profiles: Mapping[str, EntityProfile]) -> float:
    """Return the expected number of chunks that merging the pair adds to the more frequent name."""
    return ruling.score * min(profiles[entity].entity.chunk_count for entity in pair)


DESCRIPTION_TOKENS = 14
_BREAKS = re.compile(r"\s*(?:\|+|[\r\n\t]+)\s*")
_EDGE = re.compile(r"^[\W_]+")
_COLON = re.compile(r"\s*[:：]\s*")


def describe_entities(store: Store, profiles: Collection[EntityProfile]) -> dict[str, str]:
    """Return a line for each entity: "NAME: TYPE, words", with up to `DESCRIPTION_TOKENS` of words.

    The words are a model's description if the store has one, else a sentence that names the entity
    in the chunk that is most about it. Equal graphs give equal lines.
    """
    described = _model_descriptions(store, [profile.id for profile in profiles])
    rest = [profile for profile in profiles if profile.id not in described]
    chunks = _best_chunks(store, [profile.id for profile in rest])
    lines: dict[str, str] = {}
    for profile in profiles:
        entity = profile.entity
        words = described.get(profile.id, "")
        if not words and profile.id in chunks:
            words = _best_words(chunks[profile.id].text, entity.name)
        shown = ", ".join(part for part in (entity.type, _cut(_EDGE.sub("", _flat(words)))) if part)
        name = _COLON.sub(" ", _flat(entity.name))
        lines[profile.id] = f"{name}: {shown}" if shown else name
    return lines


def _model_descriptions(store: Store, entity_ids: list[str]) -> dict[str, str]:
    readings = store.capabilities.readings
    if readings is None:
        return {}
    # Summaries are written later than this, and would change the question of every pair.
    described = readings.descriptions(entity_ids)
    return {entity: notes[0].text for entity, notes in described.items() if notes}


def _best_chunks(store: Store, entity_ids: list[str]) -> Mapping[str, Chunk]:
    best = {e: found[0].id for e, found in store.graph.about(entity_ids, fan=1).items() if found}
    chunks = store.documents.chunks(sorted(set(best.values())))
    return {entity: chunks[chunk] for entity, chunk in best.items() if chunk in chunks}


def _best_words(text: str, name: str) -> str:
    """Return the words after a name in its first sentence, or that sentence if few follow.

    Without the name, return the first sentence.
    """
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    folded = name.lower()
    for sentence in sentences:
        place = sentence.lower().find(folded)
        if place < 0:
            continue
        rest = sentence[place:]
        if count_tokens(rest) - count_tokens(name) >= DESCRIPTION_TOKENS // 2:
            return rest[len(name) :]
        return sentence
    return sentences[0] if sentences else ""


def _cut(text: str) -> str:
    starts = token_starts(text)
    if len(starts) <= DESCRIPTION_TOKENS:
        return text
    end = starts[DESCRIPTION_TOKENS]
    while end > 0 and text[end - 1].isascii() and text[end - 1].isalnum() and text[end].isalnum():
        end -= 1
    return text[:end].rstrip(" ,，、(（#")


def _flat(text: str) -> str:
    return " ".join(escape_tags(_BREAKS.sub(" ", text)).split())
