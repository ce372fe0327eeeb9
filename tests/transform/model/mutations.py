"""Mutations of a model's reply, of a line and of the whole, that real models produce."""

from __future__ import annotations

import random
from collections.abc import Callable

NOISE = "|｜\t,，:：\"'“”「」*_`#()[]{}<>\\-–.;；0159 aZé王北\u200b\x00\u2028\n🙂"


def _insert(line: str, chance: random.Random) -> str:
    place = chance.randrange(len(line) + 1)
    return line[:place] + chance.choice(NOISE) + line[place:]


def _delete(line: str, chance: random.Random) -> str:
    place = chance.randrange(len(line))
    return line[:place] + line[place + chance.randint(1, 9) :]


def _swap(line: str, chance: random.Random) -> str:
    fields = line.split("|")
    chance.shuffle(fields)
    return "|".join(fields)


def _drop_field(line: str, chance: random.Random) -> str:
    fields = line.split("|")
    del fields[chance.randrange(len(fields))]
    return "|".join(fields)


def _cut(line: str, chance: random.Random) -> str:
    return line[: chance.randrange(len(line))]


def _garble(line: str, chance: random.Random) -> str:
    return "".join(chance.choice(NOISE) if chance.random() < 0.3 else c for c in line)


def _prose(line: str, chance: random.Random) -> str:
    return f"Sure! Here is {chance.choice(['the list', 'what I found'])}: {line[: len(line) // 2]}"


HARMFUL: tuple[Callable[[str, random.Random], str], ...] = (
    _insert, _delete, _swap, _drop_field, _cut, _garble, _prose,
)  # fmt: skip
"""What may cost the line it befalls, and no other."""

HARMLESS: tuple[Callable[[str], str], ...] = (
    lambda line: f"- {line}",
    lambda line: f"12. {line}",
    lambda line: f"* **{line.split(' | ')[0]}** | " + " | ".join(line.split(" | ")[1:]),
    lambda line: f"| {line} |",
    lambda line: line.replace(" | ", "|"),
    lambda line: line.replace(" | ", "｜"),
    lambda line: line.replace(" | ", "\t"),
    lambda line: line[0].upper() + line[1:],
    lambda line: line.split(" | ")[0].upper() + " | " + " | ".join(line.split(" | ")[1:]),
    lambda line: " | ".join(f'"{field}"' for field in line.split(" | ")),
    lambda line: " | ".join([line.split(" | ")[0], *(f"“{f}”" for f in line.split(" | ")[1:])]),
    lambda line: line.replace(" | ", ": ", 1),
    lambda line: f"({line})" if "(" not in line else line,
    lambda line: f"`{line}`",
    lambda line: f"   {line}   ",
)
"""What costs nothing."""
