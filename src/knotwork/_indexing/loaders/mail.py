"""Load e-mail messages: header fields, body, and the names of attachments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.html import add_html
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    broken_file_error,
    flat_metadata,
)
from knotwork._indexing.loaders.text_blocks import add_text
from knotwork.records import BlockKind

if TYPE_CHECKING:
    from email.message import EmailMessage


_FIELDS = ("From", "To", "Cc", "Date")


class MailLoader(FormatLoader, name="eml"):
    """Reads .eml; attachments are listed by name, not read."""

    def load(self, source: Source) -> Content:
        import email.policy

        message = email.message_from_bytes(source.data, policy=email.policy.default)
        fields = {name: str(message[name]) for name in _FIELDS if message[name]}
        subject = str(message["Subject"] or "")
        if not fields and not subject:
            raise broken_file_error(source, "it has no From, To, Cc, Date or Subject field")
        writer = BlockWriter(source)
        writer.heading(1, subject)
        for name, value in fields.items():
            _add_field(writer, name, value)
        with writer.subsections():
            _add_body(writer, source, message)
        names = [part.get_filename() or "" for part in message.iter_attachments()]
        _add_field(writer, "Attachments", ", ".join(filter(None, names)))
        metadata = {"author": fields.get("From", ""), "date": fields.get("Date", "")}
        return writer.content("message/rfc822", title=subject, metadata=flat_metadata(metadata))


def _add_field(writer: BlockWriter, name: str, value: str) -> None:
    if value.strip():
        with writer.block(BlockKind.DEFINITION, name):
            writer.paragraph(f"{name}: {value}")


def _add_body(writer: BlockWriter, source: Source, message: EmailMessage) -> None:
    """Append the body of a message, its plain text rather than HTML if it has both."""
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return
    payload = body.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload.strip():
        return
    text = decode_text(Source(source.uri, payload), declared=str(body.get_content_charset() or ""))
    if body.get_content_type() == "text/html":
        add_html(writer, text)
    else:
        add_text(writer, text)
