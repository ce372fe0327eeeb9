"""docs/plugins.md names every kind of part, its protocol, and what a plugin is offered."""

import re
from pathlib import Path

import knotwork.plugins
from knotwork._knowledge_base.registries import GROUPS, find_registry

REGISTRIES = [find_registry(group) for group in GROUPS]
PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(knotwork\.\w+)` \| (.+?) \|", PAGE, re.MULTILINE)


def test_every_group_is_in_the_table_with_its_protocol():
    protocols = {r.group: r._protocol.__name__ for r in REGISTRIES if r._protocol is not None}
    documented = {group: text.strip("`") for group, text in ROWS}
    assert set(documented) == {registry.group for registry in REGISTRIES}
    assert {group: documented[group] for group in protocols} == protocols
    assert set(protocols.values()) <= set(knotwork.plugins.__all__)


def test_built_in_parts_are_entries_that_can_be_loaded():
    for registry in REGISTRIES:
        for name in registry.names(plugins=False):
            entry = registry.describe(name)
            assert (entry.distribution, entry.is_plugin) == ("knotwork", False)
            assert registry.load(name) is not None
