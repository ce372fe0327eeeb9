"""`knotwork schema`: propose, infer or show the types and relations that a model extracts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import (
    Session,
    check_new,
    command,
    command_group,
    number_option,
    path_option,
    text_option,
)
from knotwork._cli.views import NOTES, count_of, note
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._extensions.schemas.index_proposals import ProposalReport
    from knotwork._extensions.schemas.proposals import SchemaProposal


_OUTPUT_OPTION = path_option("-o", "--output", help="Write the schema to a file.")


_FORCE_OPTION = click.option("--force", is_flag=True, help="Replace an existing file.")


@command_group()
def schema_command() -> None:
    """Propose, infer or show the schema: the types and relations that a language model extracts."""


@command(group=schema_command, short_help="Propose a schema for the indexed documents.")
@number_option(
    "--chunks",
    default=40,
    help="Number of passages for the model to read, spread over the documents.",
)
@number_option("--types", default=12, most=200, help="Maximum number of entity types.")
@number_option("--relations", default=20, most=200, help="Maximum number of relations.")
@text_option("--budget", metavar="AMOUNT", help='Spending limit, such as 20k or "1 EUR".')
@click.option("--no-model", is_flag=True, help="Count types in the index; do not use a model.")
@_OUTPUT_OPTION
@_FORCE_OPTION
def propose(
    session: Session,
    *,
    chunks: int,
    types: int,
    relations: int,
    budget: str,
    no_model: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Propose a schema, with the language model for extraction if one is set.

    The model reads a sample of the passages, a few at a time; what several replies agree on is
    proposed. Without a model, the types and relations in the index are counted. Edit the file, and
    set extraction.schema to its path.
    $ knotwork schema propose -o schema.toml
    $ knotwork schema propose --chunks 80 --budget "20k tokens"
    $ knotwork schema propose --no-model --json
    """
    from knotwork._extensions.schemas.index_proposals import propose_for_index
    from knotwork._shapes.indexing import describe_model_usage, describe_money

    if output is not None:
        check_new(output, overwrites=force)
    report = propose_for_index(
        session.open().store,
        session.settings,
        chunks=chunks,
        most_types=types,
        most_relations=relations,
        budget=budget,
        counts_only=no_model,
    )
    further = {
        "model": report.model,
        "chunks": report.chunks,
        "documents": report.documents,
        "usage": describe_model_usage(report.usage),
        "money": describe_money(report.money),
        "notes": list(report.notes),
    }
    _write_proposal(session, report.proposal, output, heading=_origin(report), further=further)
    _note_cost(session, report)


@command(group=schema_command, short_help="Infer a schema from example records.", hides_store=True)
@click.argument("file", type=click.Path(path_type=Path))
@_OUTPUT_OPTION
@_FORCE_OPTION
def examples(session: Session, *, file: Path, output: Path | None, force: bool) -> None:
    """Infer a schema from example records: all types, relations, and the types these connect.

    FILE is a .csv, .tsv or .jsonl file with source, source type, relation, target and target type,
    or with source type, relation and target type only.
    $ knotwork schema examples triples.csv -o schema.toml
    $ knotwork schema examples triples.tsv -o schema.toml --force
    $ knotwork schema examples records.jsonl --json
    """
    from knotwork._extensions.schemas.discovery import schema_of_examples

    if output is not None:
        check_new(output, overwrites=force)
    _write_proposal(session, schema_of_examples(file), output, heading=f"Inferred from {file}.")


@command(
    group=schema_command, name="show", short_help="Show the schema in force.", hides_store=True
)
def show_schema(session: Session) -> None:
    """Show the schema in force, which is the file named by extraction.schema.

    $ knotwork schema show
    $ knotwork schema show --set extraction.schema=schema.toml
    $ knotwork schema show --json
    """
    from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema
    from knotwork._extensions.schemas.proposals import SchemaProposal

    path = session.settings.extraction.schema
    schema = ExtractionSchema.read(Path(path)) if path else ExtractionSchema()
    if session.common.json:
        session.terminal.emit({"file": path or None, **_describe_proposal(SchemaProposal(schema))})
    elif path:
        _print_toml(SchemaProposal(schema).toml(f"In force: {path}"))
    else:
        session.terminal.say("No schema is set: a model may extract entities of any type.")
        session.terminal.note("Propose one with: knotwork schema propose -o schema.toml")


def _write_proposal(
    session: Session,
    proposal: SchemaProposal,
    output: Path | None,
    *,
    heading: str,
    further: dict[str, Any] | None = None,
) -> None:
    """Write a schema to its file or to standard output, or describe it as an object."""
    written = proposal.toml(heading, "Edit this file, and set extraction.schema to its path.")
    if output is not None:
        output.write_text(written, encoding="utf-8")
    elif not session.common.json:
        _print_toml(written)
    session.show(
        {
            "file": str(output) if output else None,
            **_describe_proposal(proposal),
            **(further or {}),
        },
        "[{file:?}Wrote {entity_types:#type}, {relation_types:#relation}, {patterns:#pattern} "
        "to {file}]",
        note("[Use it with: --set extraction.schema={file}]"),
    )
    tokens = _prompt_tokens(proposal)
    session.terminal.note(f"The schema adds about {tokens} tokens to the prompt for each chunk.")


def _print_toml(toml: str) -> None:
    """Print TOML unwrapped. Its strings have no control characters: TOML escapes them."""
    sys.stdout.write(toml)


def _describe_proposal(proposal: SchemaProposal) -> dict[str, Any]:
    schema = proposal.schema
    return {
        "strict": schema.strict,
        "entity_types": [
            {
                "name": name,
                "count": proposal.types.get(name),
                "meaning": proposal.meanings.get(name, ""),
            }
            for name in schema.entity_types
        ],
        "relation_types": [
            {"name": name, "count": proposal.relations.get(name)} for name in schema.relation_types
        ],
        "patterns": [
            {**pattern._asdict(), "count": proposal.patterns.get(pattern)}
            for pattern in schema.patterns
        ],
        "prompt_tokens": _prompt_tokens(proposal),
    }


def _prompt_tokens(proposal: SchemaProposal) -> int:
    """Return how many tokens a schema adds to an English prompt without a schema."""
    from knotwork._extensions.model_indexing.extraction_prompts import prompts_in
    from knotwork._text.token_counts import count_tokens

    prompts, schema = prompts_in("en"), proposal.schema
    text = f"{schema.types_text(prompts)}\n{schema.rules_text(prompts)}"
    return max(0, count_tokens(text) - count_tokens(prompts.types))


def _origin(report: ProposalReport) -> str:
    documents = count_of(report.documents, "document")
    if not report.model:
        return f"Counted in an index of {documents}, without a model."
    return f"Proposed by {report.model} from {count_of(report.chunks, 'passage')} of {documents}."


def _note_cost(session: Session, report: ProposalReport) -> None:
    from knotwork._inference.chat import TokenUsage

    total = sum(report.usage.values(), TokenUsage())
    session.terminal.show(
        fields_of(report) | {"total": total, "cost": report.money if total.calls else None},
        NOTES,
        note(
            "[{model:!}No model was used. Rules find few types: review the schema, or set "
            "llm.model.]",
            "",
        ),
        note(
            "[{model:?}Model: {total.calls:#call}, {total.reused} cached: {total.input_tokens} "
            "tokens in, {total.output_tokens} out[, cost {cost:,.4f}]]",
            "",
        ),
    )
