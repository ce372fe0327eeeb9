"""`knotwork models`, `prompts` and `schema`: language models, and what they are told to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.main import PROGRAM
from knotwork._cli.session import (
    Session,
    check_new,
    command,
    command_group,
    number_option,
    path_option,
    text_option,
)
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import NOTES, Line, Table, count_of, each, note
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from knotwork._diagnosis.model_trials import ModelTrials
    from knotwork._indexing.schema_proposals import ProposalReport
    from knotwork._inference.own_prompts import OwnPrompts
    from knotwork._inference.prompt_files import BuiltInPrompt
    from knotwork._transform.model.extraction_schema import SchemaProposal


@command_group()
def models_command() -> None:
    """List, check and measure the language models that are set."""


@command(
    group=models_command, name="list", short_help="List the models that are set.", hides_store=True
)
def list_command(session: Session) -> None:
    """List the models that are set, their context, and the models that their servers offer.

    Each server is contacted once, and no model is asked.
    $ knotwork models list
    $ knotwork models list --set llm.answer=openai:gpt-4o
    $ knotwork models list --set llm.base_url=http://localhost:11434/v1 --json
    """
    from knotwork._diagnosis.model_trials import list_models

    found = list(list_models(session.settings.llm))
    session.show(
        {"models": found},
        "[{models:!}No language model is set (llm.model).]",
        Table("models", "model=name for=roles context=window server"),
        each("models", note("[{error:?}{name}: {error}]", "yellow")),
        each("offers", note("{name} offers {offered:.12} (--json shows all).")),
        offers=[
            {"name": model.server or model.name, "offered": model.offered}
            for model in found
            if model.offered and not model.error
        ],
    )


@command(group=models_command, short_help="Ask each model for one word.", hides_store=True)
def check(session: Session) -> None:
    """Ask each model for one word, as `knotwork doctor` does. The exit code is 1 if one fails.

    $ knotwork models check
    $ knotwork models check --set llm.model=openai:gpt-4o-mini
    $ knotwork models check --json
    """
    from knotwork._cli.commands.setup import show_checks
    from knotwork._diagnosis.models import check_chat_models

    show_checks(session, check_chat_models(session.settings.llm))


@command(
    group=models_command,
    short_help="Measure speed and usable replies of each model.",
    hides_store=True,
)
def measure(session: Session) -> None:
    """Let each model read two short texts and answer two questions, in English and Chinese.

    Shows tokens per second, and how many of the replies can be used. The exit code is 1 if a model
    gives no usable reply.
    $ knotwork models measure
    $ knotwork models measure --json
    $ knotwork models measure --set llm.model=gguf:/models/small.gguf
    """
    from knotwork._diagnosis.model_trials import estimate_trials, try_models
    from knotwork.errors import ConfigError

    about = estimate_trials(session.settings.llm)
    if not about:
        raise ConfigError(
            "No language model is set.",
            fix=f"Set llm.model, or name one: {PROGRAM} models measure --set llm.model=openai:NAME",
        )
    session.terminal.note(f"About {about:,} tokens.", style="dim")
    found = []
    for tried in try_models(session.settings.llm):
        found.append(tried)
        if not session.common.json:
            _show(tried, session.terminal)
    session.emit({"models": [_describe(tried) for tried in found]})
    if not all(tried.usable() for tried in found):
        raise click.exceptions.Exit(1)


_TRIED = (
    Line("{model.name} ({model.roles})", "bold"),
    Line(
        "[{trials:?}Speed: reads {input_tokens_per_s:,.0f} and writes {output_tokens_per_s:,.1f} "
        "tokens a second; the first reply began after {first_s:.1f} s]",
        indent=2,
    ),
    Line("[{trials:?}Context: [{model.window} tokens][{model.window:!}unknown]]", indent=2),
    each("kinds", Line("{0}: {1} of {2:#reply/replies} usable", indent=2)),
    each("trials", Line("[{fault:?}{kind}, {language}: {fault}]", "yellow", 4)),
    Line("{error}", "yellow", 2),
    Line("Used: {usage.input_tokens} tokens in, {usage.output_tokens} out", indent=2),
)


def _show(tried: ModelTrials, terminal: Terminal) -> None:
    kinds = dict.fromkeys(trial.kind for trial in tried.trials)
    facts = {
        **fields_of(tried, "model", "trials", "error", "usage"),
        **fields_of(tried, "input_tokens_per_s", "output_tokens_per_s"),
        "first_s": tried.trials[0].first_s if tried.trials else None,
        "kinds": [(kind.capitalize(), tried.usable(kind), tried.tried(kind)) for kind in kinds],
    }
    terminal.show(facts, *_TRIED)


def _describe(tried: ModelTrials) -> dict[str, object]:
    return fields_of(tried, "model", "trials", "error") | {
        "input_tokens_per_s": round(tried.input_tokens_per_s, 1),
        "output_tokens_per_s": round(tried.output_tokens_per_s, 1),
    }


@command_group()
def prompts_command() -> None:
    """List, show, copy or check the prompts of language models.

    Files in the folder prompts.dir replace built-in prompts.
    """


@command(
    group=prompts_command,
    name="list",
    short_help="List the prompts, and which are your own.",
    hides_store=True,
)
def list_prompts(session: Session) -> None:
    """List the prompts by name and language, and which of them files of your own replace.

    $ knotwork prompts list
    $ knotwork prompts list --set prompts.dir=prompts
    $ knotwork prompts list --json
    """
    from knotwork._cli.index_views import OWN_PROMPTS
    from knotwork._inference.prompt_files import built_in_prompts, read_prompt_folder
    from knotwork._shapes.indexing import describe_prompts

    own = read_prompt_folder(session.settings.prompts.dir)
    files = sorted({*own.files, *(prompt.file for prompt in built_in_prompts())})
    prompts = []
    for file in files:
        name, language, _ = file.rsplit(".", 2)
        prompts.append({"name": name, "language": language, "file": file, "own": file in own.files})
    session.show(
        {"dir": own.folder or None, **describe_prompts(own), "prompts": prompts},
        Table(
            "prompts",
            {
                "prompt": "{name}",
                "language": "{language}",
                "text": "[{own:?}own][{own:!}built in]",
            },
        ),
        note(f"[{{own:?}}{OWN_PROMPTS}]", ""),
        note(
            "[{own:!}To change some: knotwork prompts copy DIR, and set prompts.dir.]",
            "",
        ),
        own=bool(own),
        folder=own.folder,
    )


@command(group=prompts_command, name="show", short_help="Show a prompt.", hides_store=True)
@click.argument("name")
@click.option("--language", metavar="CODE", default="en", show_default=True, help="The language.")
@click.option("--built-in", "built_in", is_flag=True, help="Ignore prompts of your own.")
def show_prompt(session: Session, *, name: str, language: str, built_in: bool) -> None:
    """Show the text of a prompt: your own if there is one.

    Your own file of the prompts of extraction has some of the parts; the others are built in.
    $ knotwork prompts show answer
    $ knotwork prompts show report-community --language zh
    $ knotwork prompts show answer --built-in > answer.en.txt
    """
    from knotwork._inference.own_prompts import BUILT_IN
    from knotwork._inference.prompt_files import built_in_prompts, read_prompt_folder

    own = BUILT_IN if built_in else read_prompt_folder(session.settings.prompts.dir)
    prompt = _find(built_in_prompts(), name, language, own)
    is_own = prompt.file in own.files
    text = Path(own.folder, prompt.file).read_text("utf-8-sig") if is_own else prompt.text
    if session.common.json:
        found = fields_of(prompt, "name", "language", "file")
        session.terminal.emit({**found, "own": is_own, "text": text})
    else:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _find(
    prompts: tuple[BuiltInPrompt, ...], name: str, language: str, own: OwnPrompts
) -> BuiltInPrompt:
    """Return the prompt of a name and a language. Raises UnknownName for either."""
    from knotwork._inference.prompt_files import BuiltInPrompt

    if name not in {prompt.name for prompt in prompts}:
        raise UnknownName("prompt", name, {prompt.name for prompt in prompts})
    if f"{name}.{language}.txt" in own.files:
        return BuiltInPrompt(name, language, "")
    found = {prompt.language: prompt for prompt in prompts if prompt.name == name}
    if language not in found:
        raise UnknownName("language of this prompt", language, found)
    return found[language]


@command(
    group=prompts_command, short_help="Write the built-in prompts to a folder.", hides_store=True
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def copy(session: Session, *, folder: Path) -> None:
    """Write the built-in prompts to a folder, to change some of them.

    Existing files are kept. Delete the files that you do not change, so that these prompts improve
    with the next release. Then set prompts.dir to the folder.
    $ knotwork prompts copy prompts/
    $ knotwork prompts copy ~/knotwork-prompts
    $ knotwork prompts copy prompts/ --json
    """
    from knotwork._inference.prompt_files import copy_built_in

    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"`{folder}` is not a folder.", fix="Choose another path.")
    written, kept = copy_built_in(folder)
    session.show(
        {"dir": str(folder), "written": written, "kept": kept},
        "Wrote {written:#prompt} to {dir}",
        note("[Kept {kept:#existing file}.]", ""),
        note("Delete those that you do not change, and set prompts.dir to {dir}."),
    )


@command(
    group=prompts_command,
    name="check",
    short_help="Check the prompts of your own.",
    hides_store=True,
)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
def check_prompts(session: Session, *, folder: Path | None) -> None:
    """Check the names and placeholders of the prompts in a folder, by default prompts.dir.

    The exit code is 1 if there is a fault.
    $ knotwork prompts check
    $ knotwork prompts check prompts/
    $ knotwork prompts check prompts/ --json
    """
    from knotwork._cli.index_views import OWN_PROMPTS
    from knotwork._inference.own_prompts import BUILT_IN
    from knotwork._inference.prompt_files import faults_in, read_prompt_folder
    from knotwork._shapes.indexing import describe_prompts

    wanted = str(folder or session.settings.prompts.dir)
    if not wanted:
        raise ConfigError(
            "No folder of prompts is set.", fix="Name one, or set prompts.dir in knotwork.toml."
        )
    faults = faults_in(wanted)
    own = BUILT_IN if faults else read_prompt_folder(wanted)
    session.show(
        {
            "ok": not faults,
            "dir": wanted,
            **describe_prompts(own),
            "faults": [{"message": fault.message, "fix": fault.fix} for fault in faults],
        },
        f"[{{ok:?}}ok     [{{files:?}}{OWN_PROMPTS}][{{files:!}}no files in {{dir}}]]",
        each("faults", Line("FAILED {message}", "bold red"), Line("{fix}", indent=7)),
        folder=own.folder,
    )
    if faults:
        raise click.exceptions.Exit(1)


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
    from knotwork._indexing.schema_proposals import propose_for_index
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
    from knotwork._transform.model.schema_discovery import schema_of_examples

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
    from knotwork._transform.model.extraction_schema import ExtractionSchema, SchemaProposal

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
    from knotwork._text.token_counts import count_tokens
    from knotwork._transform.model.prompts import prompts_in

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
