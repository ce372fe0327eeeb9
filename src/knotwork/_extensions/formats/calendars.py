"""Load calendars (.ics) and address books (.vcf): an event, a task or a person is a section."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source, clean_line
from knotwork._indexing.loaders.text_blocks import add_text
from knotwork._indexing.loaders.titles_and_captions import readable_name
from knotwork._text.dates import MONTHS
from knotwork.errors import LoadError

_LINE = re.compile(
    r"(?:[\w-]++\.)?([\w-]++)((?:;[^:\";]*+(?:\"[^\"\n]*+\"[^:\";]*+)*+)*+):(.*)", re.DOTALL
)
_PARAMETER = re.compile(r";([\w-]++)(?:=(\"[^\"]*+\"|[^;\"]*+))?")
_LENGTH = re.compile(r"\+?P(?:(\d{1,4})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,5})M)?.*)?")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PARTS = re.compile(r"(?<!\\);")
_SHOWN = {
    "START": "When", "DUE": "Due", "LOCATION": "Place", "RRULE": "Repeats", "RDATE": "Also",
    "EXDATE": "Except", "RECURRENCE-ID": "Instead of", "STATUS": "Status",
    "ORGANIZER": "Organizer", "ATTENDEE": "Attendees", "CATEGORIES": "Categories",
    "NICKNAME": "Nickname", "ORG": "Organization", "TITLE": "Title", "ROLE": "Role",
    "TEL": "Phone", "EMAIL": "E-mail", "ADR": "Address", "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary", "URL": "Web page", "IMPP": "Chat", "X-SOCIALPROFILE": "Profile",
    "RELATED": "Related", "LANG": "Language", "CONTACT": "Contact", "COMMENT": "Comment",
}  # fmt: skip
"""The names of properties for readers, in their order."""
_TEXTS = ("DESCRIPTION", "NOTE")
_ENTRIES = ("VEVENT", "VTODO", "VJOURNAL", "VCARD")
_HIDDEN_TYPES = frozenset({"pref", "internet", "voice", "x400", "dom", "intl", "postal", "parcel"})
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday",
    "SA": "Saturday", "SU": "Sunday",
}  # fmt: skip
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year", "HOURLY": "hour"}


class CalendarLoader(FormatLoader, name="calendar"):
    """Reads iCalendar and vCard; photos and reminders are left out."""

    def load(self, source: Source) -> Content:
        writer = BlockWriter(source)
        count = add_calendar(writer, text := decode_text(source))
        is_card = re.match(r"\s*BEGIN:VCARD", text, re.IGNORECASE)
        if not count:
            writer.paragraph(text)
        title = readable_name(source.name) if count > 1 else ""
        return writer.content("text/vcard" if is_card else "text/calendar", title=title)


class _Property(NamedTuple):
    name: str
    parameters: Mapping[str, str]
    value: str


def add_calendar(writer: BlockWriter, text: str) -> int:
    """Append the events, tasks and persons of a text, and return their number."""
    count = 0
    for count, entry in enumerate(_entries(text), start=1):  # noqa: B007 - is returned
        _add_entry(writer, entry)
    return count


def _entries(text: str) -> Iterator[dict[str, list[_Property]]]:
    """Yield the properties of each entry by name, without those of the reminders in it."""
    found: dict[str, list[_Property]] | None = None
    inside = ""
    for held in _properties(text):
        value = held.value.strip().upper()
        if found is None:
            found = {} if held.name == "BEGIN" and value in _ENTRIES else None
        elif held.name == "BEGIN":
            inside = inside or value
        elif held.name == "END" and value == inside:
            inside = ""
        elif held.name == "END" and value in _ENTRIES:
            yield found
            found = None
        elif held.name != "END" and not inside:
            found.setdefault(held.name, []).append(held)


def _properties(text: str) -> Iterator[_Property]:
    unfolded = re.sub(r"\n[ \t]", "", text)
    waiting: list[str] = []
    for line in unfolded.split("\n"):
        # Of vCard 2.1: a line that ends in "=" goes on.
        waiting.append(line)
        is_quoted = "QUOTED-PRINTABLE" in waiting[0][:200].upper()
        if is_quoted and line.endswith("="):
            continue
        found = _LINE.fullmatch("\n".join(waiting))
        waiting = []
        if found is None:
            continue
        parameters: dict[str, str] = {}
        for name, value in _PARAMETER.findall(found[2]):
            key, held = (name, value) if value else ("TYPE", name)
            before = parameters.get(key.upper())
            parameters[key.upper()] = f"{before},{held}" if before else held.strip('"')
        value = found[3]
        if is_quoted:
            data = quopri.decodestring(value.encode("utf-8"))
            value = _decoded(data, parameters.get("CHARSET", ""))
        if parameters.get("VALUE", "").lower() != "binary":
            yield _Property(found[1].upper(), parameters, value)


def _decoded(data: bytes, declared: str) -> str:
    try:
        return decode_text(Source("", data), declared=declared)
    except LoadError:
        return data.decode("utf-8", "replace")


def _add_entry(writer: BlockWriter, values: dict[str, list[_Property]]) -> None:
    name = next((_plain(p.value) for key in ("SUMMARY", "FN") for p in values.get(key, ())), "")
    if not name and "N" in values:
        last, first, *_ = (*_PARTS.split(values["N"][0].value), "", "")
        name = f"{_plain(first)} {_plain(last)}".strip()

    writer.heading(1, name or "Entry")
    with writer.subsections():
        for key, label in _SHOWN.items():
            texts: dict[str, list[str]] = {}
            if key == "START" and "DTSTART" in values:
                texts[""] = [_period(values)]
            for held in values.get(key, ()) if key != "START" else ():
                texts.setdefault(_types(held), []).append(_shown(key, held))
            for types, shown in texts.items():
                line = ", ".join(dict.fromkeys(filter(None, shown)))
                if line and not (key == "STATUS" and line.lower() == "confirmed"):
                    term = f"{label} ({types})" if types else label
                    writer.paragraph(f"{term}: {line}", term=term)
        for key in _TEXTS:
            for held in values.get(key, ()):
                add_text(writer, _plain(held.value, is_line=False))


def _types(held: _Property) -> str:
    if held.name not in ("TEL", "EMAIL", "ADR", "URL", "IMPP", "RELATED"):
        return ""
    types = (name.strip('" ').lower() for name in held.parameters.get("TYPE", "").split(","))
    return ", ".join(name for name in types if name and name not in _HIDDEN_TYPES)


def _shown(key: str, held: _Property) -> str:
    """Return the value of a property for a reader."""
    if key in ("ADR", "ORG"):
        return ", ".join(filter(None, map(_plain, _PARTS.split(held.value))))
    if key in ("ORGANIZER", "ATTENDEE"):
        address = re.sub(r"(?i)^mailto:", "", held.value.strip())
        name = held.parameters.get("CN", "").strip('"')
        reply = held.parameters.get("PARTSTAT", "").replace("NEEDS-ACTION", "").lower()
        shown = f"{name} <{address}>" if name and name != address else address
        return f"{shown} ({reply})" if reply else shown
    if key == "RRULE":
        return _repeats(held.value)
    if key in ("BDAY", "ANNIVERSARY", "DUE", "RECURRENCE-ID", "RDATE", "EXDATE"):
        return ", ".join(_moment(held._replace(value=one)) for one in held.value.split(","))
    if key == "STATUS":
        return held.value.strip().lower()
    return re.sub(r"^tel:", "", _plain(held.value))


def _plain(value: str, *, is_line: bool = True) -> str:
    text = _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)
    return clean_line(text) if is_line else text


def _read_time(held: _Property) -> datetime | None:
    try:
        return datetime.fromisoformat(held.value.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def _moment(held: _Property) -> str:
    if (time := _read_time(held)) is not None:
        return _day(time) if "T" not in held.value else f"{_day(time)}, {time:%H:%M}{_zone(held)}"
    if yearly := re.fullmatch(r"--(0[1-9]|1[0-2])-?(\d\d)", held.value.strip()):
        return f"{int(yearly[2])} {MONTHS[int(yearly[1]) - 1].title()}"
    return _plain(held.value)


def _zone(held: _Property) -> str:
    zone = "UTC" if held.value.strip().endswith("Z") else held.parameters.get("TZID", "").strip('"')
    return f" ({zone})" if zone else ""


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1].title()} {day.year}"


def _period(values: Mapping[str, list[_Property]]) -> str:
    """Return the start and the end of an event; the end of whole days is the day after them."""
    start = values["DTSTART"][0]
    begins = _read_time(start)
    if begins is None:
        return _plain(start.value)
    ends, zone = None, _zone(start)
    if "DTEND" in values:
        end = values["DTEND"][0]
        if _zone(end) != zone:
            return f"{_moment(start)} to {_moment(end)}"
        ends = _read_time(end)
    elif found := _LENGTH.match(
        values["DURATION"][0].value.strip() if "DURATION" in values else ""
    ):
        weeks, days, hours, minutes = (int(part or 0) for part in found.groups())
        ends = begins + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)
    if "T" not in start.value:
        last = ends - timedelta(days=1) if ends is not None and ends > begins else begins
        return _day(begins) if last <= begins else f"{_day(begins)} to {_day(last)}"
    shown = f"{_day(begins)}, {begins:%H:%M}"
    if ends is not None and ends > begins:
        day = "" if ends.date() == begins.date() else f"{_day(ends)}, "
        shown += f" to {day}{ends:%H:%M}"
    return shown + zone


def _repeats(rule: str) -> str:
    """Return a rule of repetition in words."""
    parts = dict(part.split("=", 1) for part in rule.upper().split(";") if "=" in part)
    unit = _UNITS.get(parts.get("FREQ", ""))
    if unit is None:
        return clean_line(rule)
    times = parts.get("INTERVAL", "1")
    words = [f"every {unit}" if times == "1" else f"every {times} {unit}s"]
    days = re.findall(rf"(-?\d+)?({'|'.join(_DAYS)})", parts.get("BYDAY", ""))
    if days:
        named = (f"{_ordinal(place)} {_DAYS[day]}".strip() for place, day in days)
        words.append("on " + ", ".join(named))
    if "BYMONTHDAY" in parts:
        words.append(f"on day {parts['BYMONTHDAY']}")
    until = f", {parts['COUNT']} times" if "COUNT" in parts else ""
    if "UNTIL" in parts:
        until = ", until " + _moment(_Property("UNTIL", {}, parts["UNTIL"][:8]))
    return " ".join(words) + until


def _ordinal(place: str) -> str:
    names = {"": "", "1": "the first", "2": "the second", "3": "the third", "4": "the fourth"}
    return names.get(place, "the last" if place == "-1" else f"the {place}th")
