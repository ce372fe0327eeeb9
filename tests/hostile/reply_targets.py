"""Replies of language models, which may be garbage or be steered by a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from hypothesis import strategies as st
from tests.hostile.mutations import damaged, decoded, loose
from tests.hostile.targets import Target
from tests.indexing.communities.test_drafts import BRIEFS, LINES
from tests.retrieval.queries.films import film_store
from tests.synthesis.test_reply_reader import PASSAGES
from tests.synthesis.written import QUESTION
from tests.transform.model.test_lines import GRAPH, HAN, TRIPLETS

from knotwork._extensions.agents.agent import AgentState, parse_move
from knotwork._extensions.agents.fact_rules import parse_facts
from knotwork._extensions.agents.graph_reasoner import parse_plans
from knotwork._extensions.evaluation import judge as _judge
from knotwork._extensions.model_indexing.description_writer import (
    DescriptionEntry,
    parse_descriptions,
)
from knotwork._extensions.model_indexing.extraction_method import ExtractionMethod, read_check
from knotwork._extensions.model_indexing.judge import read_verdicts
from knotwork._extensions.model_indexing.question_writer import _read_reply as read_chunk_questions
from knotwork._extensions.model_indexing.reply_formats import read_json, read_lines
from knotwork._extensions.model_indexing.written_reports import read_reports
from knotwork._extensions.queries.cypher_templates import Template, parse_choice
from knotwork._extensions.queries.model_translators import parse_plan, parse_statement
from knotwork._extensions.queries.query_plans import LinkedQuestion
from knotwork._extensions.queries.query_targets import CypherGraph
from knotwork._extensions.schemas.discovery import read_proposal
from knotwork._inference.chat import ChatReply
from knotwork._inference.thinking import ThinkingHabit, ThinkingStripper, strip_thinking
from knotwork._retrieval.steps import query_transformation
from knotwork._synthesis import engine
from knotwork._synthesis.answer_writer import parse_answer_reply
from knotwork._synthesis.follow_ups import parse_rewritten
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.mode_answers import parse_points, parse_questions
from knotwork.errors import KnotworkError
from knotwork.records import Entity

_ENTRIES = [
    DescriptionEntry("a", "Ada", ("Ada wrote notes.", "Ada lived in London.")),
    DescriptionEntry("b", "北京大学", ("北京大学位于北京。",)),
]
_TEMPLATES = [Template("films", "films of a person", "MATCH (n) RETURN n")]
_DRAFT = read_lines("\n".join(GRAPH))
_WORDS = (
    *(
        "entity",
        "relation",
        "path",
        "fact",
        "ended",
        "report",
        "# ",
        "## ",
        "1.",
        "[1]",
        "[2]",
        "【1】",
    ),
    *(
        "|",
        " | ",
        "｜",
        "find",
        "hop",
        "where",
        "return",
        "order",
        "max",
        "none",
        "NONE",
        "无",
        "done",
    ),
    *(
        "search",
        "bm25",
        "keep",
        "drop",
        "fix",
        "yes",
        "no",
        "same",
        "different",
        "1 | yes",
        "2: 无",
    ),
    *(
        "MATCH (n) RETURN n",
        "SELECT 1",
        "```cypher\n",
        "```",
        "<think>",
        "</think>",
        "<text>",
        "{",
        "}",
    ),
    *('{"entities": [{"name": "Ada"}]}', "[", "]", ":", '"', "Ada Lovelace", "London", "directed"),
    *(
        "北京大学",
        "位于",
        "\n",
        "\n\n",
        "- ",
        "* ",
        "\t",
        "100",
        "0",
        "-1",
        "title:",
        "summary:",
        "=",
        "n",
    ),
)


@cache
def _asked() -> LinkedQuestion:
    return LinkedQuestion(QUESTION, CypherGraph(film_store(), graph="films").schema(), ())


def _state() -> AgentState:
    return AgentState("Who?", 5, ("bm25", "graph"), steps=3)


def _strip(reply: ChatReply) -> None:
    """Strip thinking from a reply at once and in pieces, which must agree on the rest."""
    strip_thinking(reply.text, cut_off=True, begun=True)
    ThinkingHabit().take_out(reply.text)
    stripper = ThinkingStripper()
    pieces = [stripper.feed(character) for character in reply.text[:2_000]]
    "".join([*pieces, stripper.finish()])


def _answer(reply: ChatReply) -> None:
    parse_answer_reply(reply, PASSAGES, question=QUESTION, unknown=no_answer("en"))


def _read_lines(reply: ChatReply) -> None:
    for triplets in (False, True):
        read_lines(reply.text, triplets=triplets, cut=reply.finish_reason == "length")
    read_json(reply.text)
    for form in ("graph", "triplets"):
        ExtractionMethod(form).read(reply.text)  # type: ignore[arg-type]


READERS: dict[str, Callable[[ChatReply], object]] = {
    "extraction": _read_lines,
    "extraction check": lambda reply: read_check(reply, _DRAFT),
    "schema": lambda reply: read_proposal(reply.text, cut=True),
    "answer": _answer,
    "points": lambda reply: parse_points(reply, {1, 2, 3}),
    "ratings": lambda reply: query_transformation.parse_ratings(reply, {1, 2, 3}),
    "further questions": lambda reply: parse_questions(reply, known=["Who was Ada?"], most=5),
    "mode": engine.parse_mode,
    "rewritten": lambda reply: parse_rewritten(
        reply, "Where did she grow up?", ["Ann Lee is tall."]
    ),
    "reports": lambda reply: read_reports(reply, BRIEFS),
    "descriptions": lambda reply: parse_descriptions(reply, _ENTRIES),
    "one description": lambda reply: parse_descriptions(reply, _ENTRIES[:1]),
    "verdicts": lambda reply: read_verdicts(reply, 3),
    "judged statements": _judge.read_statements,
    "judged questions": _judge.read_questions,
    "judged verdicts": lambda reply: _judge.read_verdicts(reply, ("A1", "2", "E1")),
    "chunk questions": read_chunk_questions,
    "statement": parse_statement,
    "fragments": lambda reply: parse_plan(reply, _asked()),
    "template": lambda reply: parse_choice(reply, _TEMPLATES),
    "parts": query_transformation._read_parts,
    "passage": query_transformation._read_passage,
    "words": query_transformation._read_words,
    "facts": lambda reply: parse_facts(reply, "Ada lives in London since 1843."),
    "relation plans": lambda reply: parse_plans(
        reply,
        {"ada lovelace": Entity("0" * 16, "Ada Lovelace", "ada lovelace", "", 1)},
        {"directed"},
    ),
    "move": lambda reply: parse_move(reply, _state()),
    "thinking": _strip,
}


def _read(data: bytes) -> None:
    """Have every reader read a reply that is whole, cut off or withheld."""
    text = decoded(data)
    for finish_reason in ("stop", "length", "filter"):
        for name, reader in READERS.items():
            try:
                reader(ChatReply(text, finish_reason))  # type: ignore[arg-type]
            except KnotworkError:
                continue
            except Exception as error:
                error.add_note(f"reader: {name}, finish_reason: {finish_reason}")
                raise


def targets() -> Iterator[Target]:
    """Yield one target: a reply is sent to all readers."""
    seeds = ["\n".join(lines).encode() for lines in (GRAPH, HAN, TRIPLETS, LINES)]
    seeds += [
        b"find | n | Film\nhop | n | directed | m\nwhere | m | name | = | Ada\nreturn | n | title",
        b"She was born in London [2]. The Travel Office approves trips abroad. [1]",
        b'{"entities": [{"name": "Ada", "type": "PERSON"}], "relations": [["Ada", "x", "Bab"]]}',
        b"<think>long</think>\nfact | Ada | lives in | London | 2024 | \nsearch | bm25 | Ada",
        "1 | yes | 9\n2 | no | 3\n3：相同".encode(),
        "A1 | yes\nE1 | no\n2 | 不是\n1. Who?\nEVASIVE".encode(),
    ]
    words = [word.encode() for word in _WORDS]
    inputs = st.one_of(damaged(seeds, words), damaged(seeds, words), loose(_WORDS, most=60))
    yield Target("replies", inputs, _read, errors=(), seconds=20.0, examples=20)
