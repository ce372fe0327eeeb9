"""The settings and pages that SECURITY.md names exist."""

import re
from pathlib import Path

from knotwork._config.settings import setting_fields

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_the_settings_behind_its_promises_exist():
    named = set(re.findall(r"`((?:index|query|service|store)\.[a-z_]+)(?: = [^`]+)?`", PAGE))
    assert len(named) > 5
    assert named <= {field.name for field in setting_fields()}


def test_its_links_lead_to_pages_and_headings():
    for target in re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", PAGE):
        page, heading = ROOT / target[0], target[1]
        titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not heading or heading in slugs, target
