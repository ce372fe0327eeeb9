"""`knotwork fields`: what --where can compare."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session


@click.command(
    epilog=show_examples(
        "knotwork fields",
        "knotwork fields --json | jq -r '.fields[].name'",
        """knotwork search "salt layer" --where "author = 'Ann Lee' and date >= 2023\"""",
    )
)
@with_session()
def command(session: Session) -> None:
    """List the fields of the documents, with how many have each and its most frequent values.

    A filter compares fields with =, !=, <, <=, >, >=, in (A, B), contains and `is set`, joined by
    and, or, not and brackets. docs/filters.md has the details.
    """
    fields = session.open().fields()
    if session.common.json:
        session.terminal.emit(
            {
                "fields": [
                    {
                        "name": field.name,
                        "documents": field.documents,
                        "examples": list(field.examples),
                    }
                    for field in fields
                ]
            }
        )
        return
    session.terminal.table(
        [(f.name, f"{f.documents:,}", ", ".join(f.examples)) for f in fields],
        header=("field", "documents", "values"),
    )
