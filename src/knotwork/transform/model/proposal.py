"""Schemas proposed by a model: asked about a sample of passages, a few at a time, it votes.

The first reply gives names; the other calls are shown these, so that equal things get equal names,
and are made at the same time. What several replies say is kept, the most frequent first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, Message
from knotwork.inference.checked import complete_checked
from knotwork.inference.halt import Halt
from knotwork.inference.ordered import work_ordered
from knotwork.records import Chunk
from knotwork.text.tokens import count_tokens
from knotwork.transform.model.counted_schema import SchemaCounts, SchemaProposal, word_key
from knotwork.transform.model.prompts import harmless, mark, prompt_language, prompts_in
from knotwork.transform.model.proposed_lines import ProposedLines, read_proposal

STAGE = "schema"

CHUNKS_PER_CALL = 4
"""Passages shown at a time, at most: with more of them, types of the rarer ones are left out."""

TOKENS_PER_CALL = 1_600
"""Tokens of passages shown at a time, but for one that has more."""

ENOUGH_REPLIES = 4
"""Replies from which on one alone does not count."""

_OUTPUT_TOKENS = 1_024


def propose_schema(
    model: ChatModel,
    chunks: Sequence[Chunk],
    *,
    most_types: int = 12,
    most_relations: int = 20,
    concurrency: int = 8,
    halt: Halt | None = None,
) -> SchemaProposal:
    """Return the schema that a model proposes from a sample of chunks; its counts are of replies.

    ``chunks`` should be spread over the documents, neighbours being of different ones. Of four
    replies or more, two have to agree. A reply that cannot be read is left out; Unparsable is
    raised where that is each of them. Raises as `ChatModel.complete`; finished calls are kept by a
    model that keeps replies. Raises ValueError without chunks.
    """
    if not chunks:
        raise ValueError("a schema is proposed from at least one chunk")
    language = prompt_language("\n".join(chunk.text for chunk in chunks))
    ask = partial(
        _ask, model, language=language, most_types=most_types, most_relations=most_relations
    )
    groups = list(_groups(chunks))
    replies = [ask(groups[0])]
    first = replies[0]
    names = "" if isinstance(first, Unparsable) else _names_in(first)
    rest = work_ordered(partial(ask, names=names), groups[1:], concurrency=concurrency, halt=halt)
    replies += rest
    counts = SchemaCounts(word_key)
    read = 0
    for reply in replies:
        if not isinstance(reply, Unparsable):
            counts.add_vote(reply.types, reply.relations)
            read += 1
    if isinstance(first, Unparsable) and not read:
        raise first
    return counts.proposal(
        most_types=most_types,
        most_relations=most_relations,
        least=2 if read >= ENOUGH_REPLIES else 1,
        counted=f"replies of a model, of {read} in all" if read != 1 else "those of one reply",
    )


def proposal_request(
    texts: Sequence[str],
    *,
    language: str,
    most_types: int,
    most_relations: int,
    names: str = "",
) -> ChatRequest:
    """Return the request that asks for a schema of some passages.

    ``names`` are those that another reply proposed, in a line.
    """
    prompts = prompts_in(language)
    parts = [prompts.propose.format(types=most_types, relations=most_relations)]
    if names:
        parts.append(prompts.proposed.format(names=harmless(names)))
    parts.append(mark("text", "\n\n".join(texts)))
    return ChatRequest(
        (Message("user", "\n".join(parts)),), max_output_tokens=_OUTPUT_TOKENS, stage=STAGE
    )


def _ask(
    model: ChatModel,
    group: Sequence[Chunk],
    *,
    language: str,
    most_types: int,
    most_relations: int,
    names: str = "",
) -> ProposedLines | Unparsable:
    """Return what a model proposes from a few chunks, or that its reply cannot be read."""
    request = proposal_request(
        [chunk.text for chunk in group],
        language=language,
        most_types=most_types,
        most_relations=most_relations,
        names=names,
    )
    try:
        return complete_checked(model, request, _read)
    except Unparsable as error:
        return error


def _read(reply: ChatReply) -> ProposedLines:
    """Return what a reply proposes. Raises Unparsable where no line of it is a proposal."""
    lines = read_proposal(reply.text, cut=reply.finish_reason == "length")
    if lines.records or (lines.says_nothing and reply.finish_reason == "stop"):
        return lines
    if reply.finish_reason == "filter":
        raise Unparsable("The server withheld the reply.")
    if not reply.text.strip():
        raise Unparsable("The reply is empty.")
    raise Unparsable("No line of the reply is a type or a relation.")


def _groups(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Yield the chunks, a few at a time."""
    group: list[Chunk] = []
    tokens = 0
    for chunk in chunks:
        size = count_tokens(chunk.text)
        if group and (len(group) == CHUNKS_PER_CALL or tokens + size > TOKENS_PER_CALL):
            yield group
            group, tokens = [], 0
        group.append(chunk)
        tokens += size
    yield group


def _names_in(lines: ProposedLines) -> str:
    types = dict.fromkeys(name for name, _ in lines.types)
    relations = dict.fromkeys(relation for _, relation, _ in lines.relations)
    return "; ".join(", ".join(names) for names in (types, relations) if names)
