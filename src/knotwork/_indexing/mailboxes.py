"""Find the messages of a mailbox, without reading it whole."""

from __future__ import annotations

import email.header
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import BinaryIO, NamedTuple

from knotwork._cancellation import check_cancelled
from knotwork._indexing.loaders.loader import OLD_CHINESE

_PART_BYTES = 1 << 16
_FIELD = re.compile(rb">?[!-9;-~]{1,80}:|>From ")
_SUBJECT = re.compile(rb"(?im)^subject:((?:.*\n?)(?:[ \t].*\n?)*)")
_UNSAFE = re.compile(r"[\x00-\x1f/\\\\:*?\"<>|]+")
_LONGEST_SUBJECT = 80
_HEAD_BYTES = 20_000


class Message(NamedTuple):
    """A message: its place in the mailbox, a hash of its bytes, and its subject as a file name."""

    start: int
    size: int
    version: str
    subject: str


def mailbox_messages(stream: BinaryIO) -> Iterator[Message]:
    """Yield the messages of a mailbox. Nothing if it does not begin with one."""
    start = place = 0
    head = bytearray()
    digest = blake2b(digest_size=16)
    waiting = b""  # a line that begins a message if the next one is a field
    is_line = is_blank = True
    while line := stream.readline(_PART_BYTES):
        if waiting and _FIELD.match(line):
            if start:
                yield _message(start, place - len(waiting), digest.hexdigest(), bytes(head))
            start, head, digest = place, bytearray(), blake2b(digest_size=16)
        elif waiting:
            digest.update(waiting)
        if not start and not waiting and place:
            return
        check_cancelled()
        begins = is_line and is_blank and line.startswith(b"From ")
        waiting = line if begins else b""
        if not begins:
            digest.update(line)
            head += line if len(head) < _HEAD_BYTES else b""
        is_blank = is_line and not line.strip()
        is_line = line.endswith(b"\n")
        place += len(line)
    if start:
        yield _message(start, place, digest.hexdigest(), bytes(head))


def _message(start: int, end: int, version: str, head: bytes) -> Message:
    found = _SUBJECT.search(head.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0])
    raw = found[1].decode("utf-8", "replace") if found else ""
    try:
        subject = str(
            email.header.make_header(
                email.header.decode_header(OLD_CHINESE.sub("=?gb18030", raw.strip()))
            )
        )
    except (LookupError, ValueError):
        subject = raw
    name = " ".join(_UNSAFE.sub(" ", subject).split())[:_LONGEST_SUBJECT].strip(" .")
    return Message(start, end - start, version, name or "message")
