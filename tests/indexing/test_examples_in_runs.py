"""Examples and instructions in runs: what is asked, what it costs, and what is read again."""

import json

import pytest
from tests.indexing.brained import brained, documents_of

from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import ConfigError, UnknownName

TEXTS = {
    "firms.txt": "Ada Smith founded Acme London in 1900.",
    "travel.txt": "王小明在北京大学工作。他与李华一起创办了长江公司。",
}
EXAMPLES = """
[[en]]
text = "Pump P-7 feeds boiler B-2."
entities = [["Pump P-7", "EQUIPMENT"], ["boiler B-2", "EQUIPMENT"]]
relations = [["Pump P-7", "feeds", "boiler B-2"]]
"""


@pytest.fixture
def examples(tmp_path):
    path = tmp_path / "examples.toml"
    path.write_text(EXAMPLES, encoding="utf-8")
    return path


def test_a_change_of_examples_reads_again_and_is_paid_for(opened, examples):
    model = brained()

    def indexed(**settings):
        kb = opened(model, llm_tier="full", **settings)
        before = len(model.requests)
        report = kb.index_documents(documents_of(TEXTS))
        kb.close()
        return report.changed, len(model.requests) - before

    assert indexed() == (0, 2)
    with_examples = {"extraction_examples": str(examples)}
    assert indexed(**with_examples) == (2, 1)  # the prompt of the Chinese chunk is the same
    assert "Pump P-7" in model.requests[-1].messages[0].content
    assert indexed(**with_examples) == (0, 0)
    examples.write_text(EXAMPLES.replace("P-7", "P-8"), encoding="utf-8")
    assert indexed(**with_examples) == (2, 1)
    assert indexed() == (2, 0)


def test_an_estimate_counts_the_examples(opened, examples, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    text = "\n\n".join(f"Ada Smith met Bob Jones at place {n}. " * 20 for n in range(30))
    (folder / "long.txt").write_text(text, encoding="utf-8")
    tokens = []
    for name, path in (("bare", ""), ("shown", str(examples))):
        kb = opened(brained(), path=f"{name}.knot", llm_tier="full", extraction_examples=path)
        tokens.append(kb.estimate(folder).run.input_tokens.expected)
    assert tokens[1] > 1.1 * tokens[0]


def test_faults_are_reported_before_anything_is_asked(opened, examples):
    model = brained()
    examples.write_text(EXAMPLES.replace("Pump P-7 feeds", "It feeds"), encoding="utf-8")
    for settings, error in (
        ({"extraction_examples": str(examples)}, ConfigError),
        ({"extraction_form": "oneke"}, ConfigError),
        ({"extraction_form": "onek"}, UnknownName),
    ):
        kb = opened(model, llm_tier="full", **settings)
        with pytest.raises(error):
            kb.index_documents(documents_of(TEXTS))
        kb.close()
    assert model.requests == []


def test_documents_are_read_by_instructions(opened, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text('relation_types = ["founded", "创办"]\n', encoding="utf-8")

    def reply(request):
        asked = json.loads(request.messages[0].content)
        ends = {"Ada": ("Ada Smith", "Acme London"), "王小": ("李华", "长江公司")}
        subject, thing = ends[asked["input"][:3] if asked["input"].isascii() else "王小"]
        wanted = asked["schema"][0 if asked["input"].isascii() else 1]
        return json.dumps({wanted: [{"subject": subject, "object": thing}]}, ensure_ascii=False)

    kb = opened(
        ScriptedChatModel(reply),
        llm_tier="full",
        extraction_form="oneke",
        extraction_schema=str(schema),
        extraction_strict=True,
        extraction_rules=False,
    )
    report = kb.index_documents(documents_of(TEXTS))
    found = {edge.relation for edge in kb.store.graph.edges(types=["RELATES"])}
    assert found == {"founded", "创办"}
    assert report.relations == 2
