"""Tasks about relations: whether a text states them, and which ones a schema should have."""

from __future__ import annotations

import re
from collections import defaultdict

from knotwork.testing.brains.lines import LineForm
from knotwork.testing.brains.marks import Assignment
from knotwork.testing.brains.reading import language_of, read_text, sentences_of

_LISTED = re.compile(r"^(\d{1,4})\. (.+?) \| (.+?) \| (.+?)(?: \| .*)?$", re.MULTILINE)
_SHOWN_NAMES = 2
_SUCH_AS = {"en": ("such as ", " and "), "zh": ("例如", "和")}


def check_relations(assignment: Assignment, form: LineForm) -> str:
    """Return a verdict on every numbered relation, as the rules read the text.

    One that the rules read the other way round is put right, one whose ends no sentence names
    together is dropped.
    """
    listed = _LISTED.findall(assignment.message.partition("<text>")[0])
    text = assignment.section("text")
    sentences = [sentence.casefold() for sentence in sentences_of(text)]
    stated = {(f.source, f.relation, f.target) for f in read_text(text)[1]}
    lines = []
    for number, source, relation, target in listed:
        ends = source.casefold(), target.casefold()
        if (target, relation, source) in stated and (source, relation, target) not in stated:
            lines.append(form.judgement(int(number), "fix", target, relation, source))
        elif any(all(end in sentence for end in ends) for sentence in sentences):
            lines.append(form.judgement(int(number), "keep"))
        else:
            lines.append(form.judgement(int(number), "drop"))
    return "\n".join(lines) or form.nothing


def propose_schema(assignment: Assignment, form: LineForm) -> str:
    """Return the types that a text's names have, with examples, and the relations between them."""
    text = assignment.section("text")
    named, facts = read_text(text)
    examples: dict[str, list[str]] = defaultdict(list)
    for thing in named:
        examples[thing.kind or "OTHER"].append(thing.name)
    such_as, joint = _SUCH_AS[language_of(text)]
    lines = [
        form.proposed_type(kind, such_as + joint.join(names[:_SHOWN_NAMES]))
        for kind, names in examples.items()
    ]
    kinds = {thing.name: thing.kind or "OTHER" for thing in named}
    lines += [
        form.proposed_relation(kinds[fact.source], fact.relation, kinds[fact.target])
        for fact in facts
        if fact.relation
    ]
    return "\n".join(dict.fromkeys(lines)) or form.nothing
