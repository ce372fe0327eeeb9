"""Every example of docs/patterns.md runs and prints what the page says; every pattern has one."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import knotwork
from knotwork._extensions.agents.agent import AGENTS
from knotwork._retrieval.retriever_registry import AUTO, RETRIEVERS
from knotwork.demo import open_sample

PAGE = (Path(__file__).parents[2] / "docs" / "patterns.md").read_text(encoding="utf-8")
SECTIONS = {
    title.strip("` "): body
    for title, body in re.findall(
        r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL
    )
}
PARTS = ("**For:**", "**Graph:**", "**Options:**", "**Limits:**")


@pytest.fixture(scope="module")
def sample():
    """An index of the demo sample without vectors, so that any machine prints the same."""
    with open_sample() as folder, knotwork.open("memory:", embedding_model="none") as kb:
        kb.index(folder)
        kb.entities.find_aliases()
        kb.communities.update()
        yield kb


@pytest.mark.parametrize("title", sorted(SECTIONS))
def test_the_example_of_a_section_prints_what_the_page_says(sample, title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```$", SECTIONS[title], re.MULTILINE | re.DOTALL)
    assert examples
    globs = {"kb": sample, "knotwork": knotwork}
    test = doctest.DocTestParser().get_doctest(
        "\n".join(examples), globs, title, "docs/patterns.md", 0
    )
    assert test.examples
    report: list[str] = []
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False
    )
    failed = runner.run(test, out=report.append).failed
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", sorted([*RETRIEVERS.names(plugins=False), *AGENTS]))
def test_every_retriever_and_agent_has_a_section_with_all_its_parts(name):
    (body,) = [text for title, text in SECTIONS.items() if name in re.split(r"`?, `", title)]
    for part in PARTS:
        assert part in body
    assert AUTO not in RETRIEVERS
