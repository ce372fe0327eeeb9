"""Run as a process of its own: copy an index in small pages, printing a line after each step."""

from __future__ import annotations

import sys

from knotwork._extensions.upkeep import copies
from knotwork._extensions.upkeep.copies import copy_index


def main(source: str, target: str) -> None:
    copies._PAGE_ROWS = 4
    for event in copy_index.run(source, target):
        sys.stdout.write(f"{event.stage} {event.done}\n")
        sys.stdout.flush()
    sys.stdout.write("finished 0\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
