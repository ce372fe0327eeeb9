"""Load e-mail messages with what is attached, mailboxes, and web pages stored as messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from mimetypes import guess_type
from typing import TYPE_CHECKING, Any

from knotwork._extensions.formats.calendars import add_calendar
from knotwork._extensions.formats.html import HtmlLoader, add_html, parse_html
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    MESSAGE_OF_MAILBOX,
    OLD_CHINESE,
    ZIP_SIGNATURE,
    Content,
    FormatLoader,
    Source,
    archive_names,
    broken_file_error,
    flat_metadata,
    open_archive,
)
from knotwork._indexing.loaders.text_blocks import add_text
from knotwork._indexing.loaders.titles_and_captions import readable_name
from knotwork.errors import LoadError

if TYPE_CHECKING:
    from email.message import EmailMessage


DEEPEST = 3
"""Attachments of attachments are read to this depth, as archives are."""
_SEALED = re.compile("pkcs7|ms-tnef")
_FEWEST_BYTES = 4_000
"""Smaller pictures are marks and icons."""


def add_attachment(writer: BlockWriter, source: Source, name: str, kind: str, data: bytes) -> None:
    """Append the text of an attached file below its name, or count it as not read.

    ``kind`` is its media type. Small pictures are ignored.
    """
    from knotwork._indexing.loaders.loader_registry import load_content

    is_picture = kind.startswith("image/")
    if not data.strip() or (is_picture and len(data) < _FEWEST_BYTES):
        return
    uri, depth = f"{source.uri}/{name.replace('/', '_')}", source.depth + 1
    inner = replace(
        source, uri=uri, data=data, depth=depth, password="", describes=False, left_out=Counter()
    )
    members: dict[str, bytes] = {}
    content = None
    try:
        if inner.depth <= DEEPEST and not _SEALED.search(kind):
            members = _members(inner)
            content = None if members else load_content(inner)
    except Exception:  # noqa: BLE001, S110 - damaged bytes raise any; the file is counted
        pass
    if content is None and not members:
        source.left_out["picture" if is_picture else "attachment"] += 1
        return
    writer.heading(1, name)
    with writer.subsections():
        for member, held in members.items():
            add_attachment(writer, inner, member, guess_type(member)[0] or "", held)
        if content is not None:
            writer.include(content)
    source.left_out.update(inner.left_out)


def _members(source: Source) -> dict[str, bytes]:
    """Return the files of an archive by name; none of a document, or if they are too large."""
    from knotwork._indexing.loaders.loader_registry import is_document_archive

    if not source.data.startswith(ZIP_SIGNATURE) or is_document_archive(archive_names(source)):
        return {}
    with open_archive(source) as archive:
        held = [member for member in archive.infolist() if not member.is_dir()]
        is_small = sum(member.file_size for member in held) <= source.max_bytes
        return {member.filename: archive.read(member) for member in held} if is_small else {}


_FIELDS = ("From", "To", "Cc", "Date")
_LENGTH_OF_EMLX = re.compile(rb"\s*(\d{1,9})[ \t]*\r?\n")
_CHARSET = re.compile(rb"charset=\"?([\w.:-]{2,40})", re.IGNORECASE)
_HEAD_BYTES = 20_000
_ADDRESS = re.compile(r"https?://\S*")
_SIGNATURES = (
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
)
_FULLER = 3
"""HTML is read instead of a plain text that has less than one in so many of its characters."""
_LEAST_SHARED = 3
"""A version of a text has at least one in so many of its words."""
_MOST_SAID = 0.9
_LONGEST_NOTICE = 500
"""A plain text up to so many characters may only say that the mail is in HTML."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[^\W_])+")
_QUOTED = re.compile(r">*+")
_PAGES = (".mht", ".mhtml")
_CALENDARS = ("text/calendar", "application/ics")
_SHOWN = ("text/plain", "text/html")
_MESSAGES = ("message/rfc822", "message/global", "message/news")


class MailLoader(FormatLoader, name="eml"):
    """Reads .eml, .emlx and .mbox with what is attached, and .mht as the web page that it holds."""

    def load(self, source: Source) -> Content:
        parts = [part for part in re.split(MESSAGE_OF_MAILBOX, source.data) if part.strip()]
        writer = BlockWriter(source)
        is_mailbox = re.match(MESSAGE_OF_MAILBOX, source.data) is not None
        if is_mailbox and len(parts) > 1:
            for part in parts:
                _Message(writer, source, _parse(source, part)).add()
            return writer.content("application/mbox", title=readable_name(source.name))
        data = parts[0] if is_mailbox else source.data
        if length := _LENGTH_OF_EMLX.match(data):
            data = data[length.end() : length.end() + int(length[1])]
        message = _parse(source, data)
        if page := _web_page(source, message):
            return HtmlLoader().load(replace(source, data=_text(source, page).encode("utf-8-sig")))
        mail = _Message(writer, source, message)
        if not mail.fields and not mail.subject:
            raise broken_file_error(source, "it has no From, To, Cc, Date or Subject field")
        names = _message_ids(message, "In-Reply-To") or _message_ids(message, "References")
        for name in names[-1:]:
            writer.link(mail.subject, f"mid:{name}")
        mail.add()
        metadata = {
            "author": mail.fields.get("From", ""),
            "date": mail.fields.get("Date", ""),
            "message_id": next(iter(_message_ids(message, "Message-ID")), ""),
        }
        return writer.content(
            "message/rfc822", title=mail.subject, metadata=flat_metadata(metadata)
        )


def _parse(source: Source, data: bytes) -> EmailMessage:
    """Return a message, whose fields may be in another encoding than ASCII."""
    import email.policy

    end = re.search(rb"\r?\n\r?\n", data)
    head = data[: end.start()] if end else data
    if not head.isascii():
        rest = data[len(head) :]
        named = _CHARSET.search(data[:_HEAD_BYTES])
        declared = named[1].decode() if named else ""
        data = decode_text(replace(source, data=head), declared=declared).encode() + rest
    return email.message_from_bytes(data, policy=email.policy.default)


def _message_ids(message: EmailMessage, name: str) -> list[str]:
    """Return the ids of messages in a field, without their brackets."""
    return re.findall(r"<([^<>\s]{3,300})>", str(message[name] or ""))


def _field(message: EmailMessage, name: str) -> str:
    """Return a field as a reader sees it; programs say "gb2312" of what is GB 18030."""
    value = str(message[name] or "")
    raw = next((raw for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    if isinstance(raw, str) and OLD_CHINESE.search(raw):
        value = str(message.policy.header_factory(name, OLD_CHINESE.sub("=?gb18030", raw)))  # type: ignore[attr-defined]
    return value


def _payload(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(source: Source, part: EmailMessage) -> str:
    """Return the text of a part; lines that a mail program has wrapped are joined."""
    inner = replace(source, data=_payload(part))
    try:
        text = decode_text(inner, declared=str(part.get_content_charset() or ""))
    except LoadError:
        source.left_out["part"] += 1
        return ""
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _unwrapped(
            text, gap="" if str(part.get_param("delsp", "")).lower() == "yes" else " "
        )
    return text


def _unwrapped(text: str, *, gap: str) -> str:
    """Return a text of the format "flowed" whose lines that end in a space go on in the next."""
    parts: list[str] = []
    before = None  # the marks of a quotation above, if its line goes on
    for line in text.split("\n"):
        marks = line[: _QUOTED.match(line).end()]  # type: ignore[union-attr]
        held = line[len(marks) :].removeprefix(" ")
        parts.append(
            gap + held.rstrip()
            if marks == before
            else f"\n{marks} {held.rstrip()}"
            if marks
            else f"\n{held.rstrip()}"
        )
        before = marks if line.endswith(" ") and line != "-- " else None
    return "".join(parts).removeprefix("\n")


def _web_page(source: Source, message: EmailMessage) -> EmailMessage | None:
    """Return the page of a file that a browser has saved, None for a mail."""
    is_sent = any(name in message for name in ("From", "To", "Received"))
    is_page = message.get_content_type() == "multipart/related" and not is_sent
    if not (is_page or source.suffix in _PAGES or "Snapshot-Content-Location" in message):
        return None
    pages = (part for part in message.walk() if part.get_content_type() == "text/html")
    return next(pages, None)


@dataclass
class _Message:
    """Writes a message; ``depth`` is the number of messages around it."""

    writer: BlockWriter
    source: Source
    message: EmailMessage
    depth: int = 0
    subject: str = field(init=False)
    fields: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.subject = _field(self.message, "Subject")
        values = {name: _field(self.message, name) for name in _FIELDS}
        self.fields = {name: value for name, value in values.items() if value.strip()}

    def add(self) -> None:
        """Append the fields, the texts, the names of what is attached, and what is attached."""
        writer, source = self.writer, self.source
        writer.heading(1, self.subject or ("Message" if self.depth else ""))
        for name, value in self.fields.items():
            writer.paragraph(f"{name}: {value}", term=name)
        attached: list[tuple[str, EmailMessage]] = []
        seen: set[str] = set()
        with writer.subsections():
            for part in _shown_parts(self.source, self.message):
                kind = part.get_content_type()
                name = str(part.get_filename() or "")
                is_shown = kind in _SHOWN and not name and not part.is_attachment()
                if kind in _CALENDARS:
                    text = _text(source, part)
                    if not seen.issuperset(events := re.findall("(?m)^(?:UID|DTSTART).*", text)):
                        add_calendar(writer, text)  # it is often attached again
                    seen.update(events)
                elif is_shown and kind == "text/html":
                    add_html(writer, _text(source, part))
                elif is_shown:
                    add_text(writer, _text(source, part))
                else:
                    attached.append((name, part))
        named = [name or _subject_of(self.source, part) for name, part in attached]
        if any(named):
            writer.paragraph(f"Attachments: {', '.join(filter(None, named))}", term="Attachments")
        with writer.subsections():
            for name, part in attached:
                self._add_attached(name, part)

    def _add_attached(self, name: str, part: EmailMessage) -> None:
        kind = part.get_content_type()
        if kind.startswith("message/") and part.is_multipart():
            inner = _inner(self.source, part)
            if kind == "message/external-body":
                self.source.left_out["attachment"] += 1
            elif kind not in _MESSAGES:  # a report on the delivery
                for fields in part.get_payload():
                    for label, value in fields.items():  # type: ignore[union-attr]
                        self.writer.paragraph(f"{label}: {value}", term=label)
            elif self.depth + self.source.depth >= DEEPEST:
                self.source.left_out["attached message"] += 1
            else:
                _Message(self.writer, self.source, inner, self.depth + 1).add()
        else:
            label = name or f"{kind.partition('/')[2]} file"
            add_attachment(self.writer, self.source, label, kind, _payload(part))


def _inner(source: Source, part: EmailMessage) -> EmailMessage:
    """Return an attached message, which some programs encode."""
    inner: Any = part.get_payload(0)
    if not inner.keys() and str(part["Content-Transfer-Encoding"]).lower() == "base64":
        inner["Content-Transfer-Encoding"] = "base64"
        inner = _parse(source, _payload(inner))
        part.set_payload([inner])
    return inner  # type: ignore[no-any-return]


def _subject_of(source: Source, part: EmailMessage) -> str:
    is_message = part.get_content_type() in _MESSAGES and part.is_multipart()
    return _field(_inner(source, part), "Subject") if is_message else ""


def _shown_parts(source: Source, message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts of a message in order, and of alternatives the fullest.

    An attached message is one part.
    """
    waiting = [message]
    while waiting:
        part = waiting.pop()
        kind = part.get_content_type()
        if kind in _SIGNATURES:
            continue
        if kind == "multipart/alternative":
            waiting.extend(reversed(_chosen(source, part)))
        elif part.is_multipart() and not kind.startswith("message/"):
            waiting.extend(reversed(part.get_payload()))  # type: ignore[arg-type]
        elif kind == "application/pgp-encrypted":
            continue  # the other part has the text
        else:
            yield part


def _chosen(source: Source, around: EmailMessage) -> list[EmailMessage]:
    """Return the alternatives that are read: the plain text, or HTML that says more.

    HTML is read if it has far more text, or if a short text has next to no words of it. It is also
    read if it has nearly all words of the text and further figures, such as those of a table.
    """
    parts: list[Any] = list(around.get_payload())
    plain = [p for p in parts if p.get_content_type() == "text/plain"]
    rich = [p for p in parts if p not in plain and _html_of(p) is not None]
    others = [p for p in parts if p not in plain and p not in rich]
    if not plain or not rich:
        return [*plain[:1], *rich[-1:], *others]
    written = _ADDRESS.sub("", _text(source, plain[0]))
    length = len("".join(written.split()))
    root = parse_html(_text(source, _html_of(rich[-1])))
    shown = (
        ""
        if root is None
        else " ".join(
            text
            for element in root.iter()
            if element.tag not in ("style", "script", "title")
            for text in (element.text or "", element.tail or "")
        )
    )
    said, words = (set(_WORD.findall(text.casefold())) for text in (written, shown))
    is_rich = _FULLER * length < len("".join(shown.split()))
    if len(said & words) > _MOST_SAID * len(said):
        is_rich |= any(any(map(str.isdigit, word)) for word in words - said)
    elif length <= _LONGEST_NOTICE:
        is_rich |= bool(words) and _LEAST_SHARED * len(said & words) < len(said)
    held = [p for p in rich[-1].walk() if p.is_attachment()] if not is_rich else []
    return [*(rich[-1:] if is_rich else plain[:1]), *held, *others]


def _html_of(part: EmailMessage) -> Any:  # noqa: ANN401 - a message, or None
    return next((p for p in part.walk() if p.get_content_type() == "text/html"), None)
