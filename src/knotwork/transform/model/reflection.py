"""Reflection: each relation is held against its chunk once more, and kept, dropped or put right.

The price is a second call a chunk: about 80 tokens of words, the text again, the relations in, and
three tokens out for each that is kept.
"""

from __future__ import annotations

import re
from dataclasses import replace

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatReply, ChatRequest
from knotwork.transform.model.cleaning import clean_field, fold, name_fault, plain_text
from knotwork.transform.model.drafts import Complaint, Draft, RelationDraft
from knotwork.transform.model.methods import ChunkTask, ask
from knotwork.transform.model.prompts import harmless, mark, prompts_in

_VERDICT = re.compile(
    r"[\s\-*•|\[(#]*(\d{1,4})[\s*.)、:：\]]*[|\t:：,， ]\W{0,4}"
    r"(keep|drop|fix|保留|删除|修正)(?=\W|$)(.*)",
    re.IGNORECASE,
)
_WORDS = {"保留": "keep", "删除": "drop", "修正": "fix"}


def check_request(task: ChunkTask, draft: Draft) -> ChatRequest:
    """Return the request that asks whether the text states each relation."""
    prompts = prompts_in(task.language)
    listed = "\n".join(
        f"{number}. {r.source} | {r.relation or '-'} | {r.target}"
        + (f" | {r.summary}" * bool(r.summary))
        for number, r in enumerate(draft.relations, start=1)
    )
    return ask(
        f"{prompts.check.format(relations=harmless(listed))}\n{mark('text', task.text)}", task
    )


def read_check(reply: ChatReply, draft: Draft) -> Draft:
    """Return the draft after the verdicts; a relation without one stays as it is.

    What is dropped or cannot be followed becomes a complaint. Raises Unparsable where a reply holds
    no verdict at all.
    """
    verdicts, complaints = _verdicts(reply.text, len(draft.relations))
    if not verdicts and draft.relations:
        raise Unparsable("The reply holds no verdict on any relation.")
    relations: list[RelationDraft] = []
    for number, relation in enumerate(draft.relations, start=1):
        verdict, rest = verdicts.get(number, ("keep", ""))
        shown = f"{relation.source} | {relation.relation} | {relation.target}"
        if verdict == "drop":
            complaints.append(Complaint(shown, "the check found that the text does not state it"))
            continue
        fixed = _fixed(relation, rest) if verdict == "fix" else relation
        if fixed is None:
            complaints.append(Complaint(rest, "a correction that cannot be read"))
        relations.append(fixed or relation)
    kept = tuple(dict.fromkeys(relations))
    return replace(draft, relations=kept).with_complaints(complaints)


def _verdicts(text: str, count: int) -> tuple[dict[int, tuple[str, str]], list[Complaint]]:
    verdicts: dict[int, tuple[str, str]] = {}
    complaints: list[Complaint] = []
    for line in plain_text(text).split("\n"):
        if not line.strip(" `~\t"):
            continue
        match = _VERDICT.match(line)
        number = int(match[1]) if match else 0
        if match is None or not 1 <= number <= count:
            complaints.append(Complaint(line.strip(), "no verdict on a relation"))
            continue
        word = fold(match[2])
        verdicts.setdefault(number, (_WORDS.get(word, word), match[3]))
    return verdicts, complaints


def _fixed(relation: RelationDraft, rest: str) -> RelationDraft | None:
    """Return the relation as a correction has it, with its summary; None where there is none."""
    fields = [clean_field(field) for field in rest.strip().strip("|").split("|")]
    if len(fields) < 3 or name_fault(fields[0]) or name_fault(fields[2]) or not fields[1]:
        return None
    return replace(relation, source=fields[0], relation=fields[1], target=fields[2])
