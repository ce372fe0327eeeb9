from pathlib import Path

import pytest

from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema, RelationPattern
from knotwork._extensions.model_indexing.reply_formats import Draft, EntityDraft, RelationDraft
from knotwork.errors import ConfigError

DATA = {
    "entity_types": ["Person", "Company"],
    "relation_types": ["born in"],
    "patterns": [["Person", "works for", "Company"]],
}
DRAFT = Draft(
    (EntityDraft("Ada", "PERSON"), EntityDraft("Acme", "company"), EntityDraft("Rome", "CITY")),
    (
        RelationDraft("Ada", "WORKS_FOR", "Acme"),
        RelationDraft("Acme", "works for", "Ada"),
        RelationDraft("Ada", "likes", "Acme"),
        RelationDraft("Ada", "born in", "Rome"),
    ),
)


def test_records_are_written_as_the_schema_does_and_others_are_complaints() -> None:
    draft = ExtractionSchema.from_mapping(DATA).admit(DRAFT)
    assert draft.entities == (EntityDraft("Ada", "Person"), EntityDraft("Acme", "Company"))
    assert draft.relations == (
        RelationDraft("Ada", "works for", "Acme"),
        RelationDraft("Ada", "born in", "Rome"),
    )
    assert [c.reason for c in draft.complaints] == [
        "type `CITY` is not in the schema",
        "no pattern of the schema connects these types",
        "the relation is not in the schema",
    ]


def test_a_loose_schema_keeps_all() -> None:
    draft = ExtractionSchema.from_mapping({**DATA, "strict": False}).admit(DRAFT)
    assert draft.records == DRAFT.records
    assert draft.complaints == ()
    assert draft.relations[0].relation == "works for"


def test_no_schema_changes_nothing() -> None:
    assert ExtractionSchema().admit(DRAFT) is DRAFT
    assert not ExtractionSchema()


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('entity_types = ["人物"]\npatterns = [["人物", "任职", "组织"]]\n', "utf-8")
    schema = ExtractionSchema.read(path)
    assert schema.patterns == (RelationPattern("人物", "任职", "组织"),)
    assert schema.all_entity_types == ("人物", "组织")
    assert schema.all_relation_types == ("任职",)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"entities": []}, "Unknown key `entities`"),
        ({"entity_types": "PERSON"}, "`entity_types` of the schema is `PERSON`"),
        ({"relation_types": [1]}, "`relation_types`"),
        ({"patterns": [["A", "b"]]}, "three texts"),
        ({"patterns": [["A", "b", ""]]}, "`patterns`"),
        ({"strict": "yes"}, "`strict`"),
    ],
)
def test_faults_of_a_schema_are_named(data, said) -> None:
    with pytest.raises(ConfigError, match=said):
        ExtractionSchema.from_mapping(data)


def test_a_file_that_is_no_schema_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        ExtractionSchema.read(tmp_path / "missing.toml")
    (tmp_path / "bad.toml").write_text("= 1")
    with pytest.raises(ConfigError, match="cannot be read"):
        ExtractionSchema.read(tmp_path / "bad.toml")
