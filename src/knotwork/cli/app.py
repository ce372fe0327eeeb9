"""The command tree. A command's module is imported when the command is named, not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from knotwork.cli.options import common_options, take_common
from knotwork.errors import UnknownName

COMMANDS = {
    "demo": ("demo", "Index a bundled sample and answer three questions."),
    "init": ("init", "Write a settings file to edit."),
    "index": ("index", "Index files and folders, or what changed in them."),
    "embed": ("embed", "Embed the index again, with another model."),
    "import": ("import_index", "Bring in an index of GraphRAG or LightRAG."),
    "ask": ("ask", "Answer a question, with the sources."),
    "chat": ("chat", "Ask one question after another, and state facts to remember."),
    "search": ("search", "Find passages."),
    "agent": ("agent", "Answer a question step by step."),
    "retrievers": ("retrievers", "List the ways to find passages."),
    "explore": ("explore", "Walk the knowledge graph from names."),
    "cypher": ("cypher", "Run a read-only Cypher statement on a graph."),
    "communities": ("communities", "Show what the documents are about as a whole."),
    "graph": ("graph", "Count or export the knowledge graph, join names."),
    "schema": ("schema", "Propose, infer or show what a language model extracts."),
    "tables": ("tables", "Keep tables beside the index, and ask them by SQL."),
    "memory": ("memory", "Show and delete facts stated in conversations."),
    "documents": ("documents", "List what is in the index, and what was skipped."),
    "delete": ("delete", "Remove documents from the index."),
    "eval": ("evaluate", "Measure answers, or retrievers, on known questions."),
    "serve": ("serve", "Answer people and programs over HTTP."),
    "keys": ("keys", "Say who may ask a server, and for what."),
    "train": ("train", "Train a ranker of paths on questions."),
    "mcp": ("mcp", "Serve the index to assistants (MCP)."),
    "doctor": ("doctor", "Check installation, settings, index and embedder."),
    "config": ("config", "Show the settings in force."),
    "completion": ("completion", "Complete commands and options in your shell."),
}
"""The module and the summary of each command, in the order of the help."""

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 80}

OTHER_OPTIONS = "Also --config, --set, -q, -v, --color, --no-progress, --debug (knotwork -h)."


def show_examples(*lines: str, ending: str = OTHER_OPTIONS) -> str:
    """Return what stands below the options in a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines), "", ending])


class CommandGroup(click.Group):
    """The commands of `COMMANDS`, each loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"knotwork.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings=CONTEXT_SETTINGS,
    epilog=show_examples(
        "knotwork demo                        see it work, in a minute",
        "knotwork index ~/papers              index a folder",
        'knotwork ask "Who approves travel?"  an answer with its sources',
        ending="",
    ),
)
@click.option("--version", is_flag=True, help="Print the version.")
@common_options(hidden=False)
@click.pass_context
def app(ctx: click.Context, /, *, version: bool, **arguments: Any) -> None:  # noqa: ANN401
    """Ask your own documents; answers cite the passage. Options may come anywhere."""
    ctx.obj = take_common(arguments)
    if version:
        from knotwork import __version__

        click.echo(f"knotwork {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
