"""Which names are shown as entities, which only find chunks, and what technical names are."""

from dataclasses import replace

import pytest
from tests.transform.documents import cut, extract, mentions

from knotwork._transform.rules import RuleExtractor
from knotwork._transform.rules.lexicon import is_command, technical_type
from knotwork.records import KEYWORD, Block, BlockKind, Span


def entities(*texts: str, title: str = "") -> dict[str, str]:
    """Return the types of what a document's texts show as entities, by normal form."""
    return {
        form: mention.type
        for extraction in extract(title, *texts)
        for form, mention in mentions(extraction).items()
        if mention.type not in {KEYWORD, "NUMBER"}
    }


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Enabled Apache rewrites all of the rules here.", "enabled apache"),
        ("The limits are given in Table 8.16 of this manual.", "table 8.16"),
        ("We need three volumes, and some space for back-ups (12 GB).", "12 gb"),
        ("The users of OLD and DELETE triggers cannot refer to them.", "old and delete"),
        ("It moves from md5 to newer SCRAM-based methods over time.", "scram based"),
        ("The query plan is shown. Another query plan is hidden.", "query plan"),
        ("They had to pay 40001 for all of it in the end.", "40001"),
        ("You can use PostgreSQL's EXPLAIN for a further look.", "postgresql's explain"),
        ("系统采用“红色动力”。", "红色动力"),
        ("信息技术发展很快。我们研究信息技术。", "信息技术"),
    ],
)
def test_questions_without_names_find_chunks_and_show_no_entities(text: str, form: str) -> None:
    assert form not in entities(text)


@pytest.mark.parametrize(
    ("text", "form", "kind"),
    [
        ("He met Kohuwala and Crestone Needle on the way.", "crestone needle", ""),
        ("Set the parameter wal_level before you start.", "wal_level", "SETTING"),
        ("It is shown in the pg_stat_activity view.", "pg_stat_activity", "TABLE"),
        ("Call pg_sleep() to wait for a moment.", "pg_sleep", "FUNCTION"),
        ("Edit /etc/ssh/sshd_config and restart it.", "etc ssh sshd_config", "FILE"),
        ("Run it with --no-sync to be faster.", "no sync", "OPTION"),
        ("Then run CREATE INDEX to make searches fast.", "create index", "COMMAND"),
        ("Install the apparmor-utils package for it.", "apparmor utils", "PACKAGE"),
        ("The lsdev command lists what devices use.", "lsdev", "COMMAND"),
        ("使用 delgroup 命令可以删除群组。", "delgroup", "COMMAND"),
    ],
)
def test_names_are_shown_with_what_they_are(text: str, form: str, kind: str) -> None:
    assert entities(text).get(form) == kind


def test_an_and_between_two_names_makes_neither_a_part_of_one() -> None:
    found = entities("Links to Lundu and Sematan were built. He read “Pride and Prejudice” too.")
    assert {"lundu", "sematan", "pride and prejudice"} <= found.keys()
    assert "lundu and sematan" not in found


def test_a_keyword_still_has_its_mention() -> None:
    (extraction,) = extract("", "The query plan is shown. Another query plan is hidden.")
    keyword = mentions(extraction)["query plan"]
    assert keyword.type == KEYWORD
    assert len(keyword.spans) == 2


def test_code_and_headings_name_nothing_that_the_text_does_not() -> None:
    text = "Checking Limits\n\nSee what Frobnicator prints.\n\nFilesystem Ext4Thing at MountPoint"
    document, chunks = cut("", text, headings=[("Checking Limits",)])
    start = text.index("Filesystem")
    code = Block(BlockKind.CODE, Span(start, len(text)))
    document = replace(document, blocks=(code,))
    (extraction,) = RuleExtractor().extract(document, chunks)
    shown = {form for form, m in mentions(extraction).items() if m.type != KEYWORD}
    assert shown == {"frobnicator"}


def defined(
    label: str, text: str, *, kind: BlockKind = BlockKind.DEFINITION, gap: str = "**\n\n"
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the types and the definitions of what a definition of one term defines."""
    opened = "**" if gap.startswith("**") else ""
    whole = f"{'- ' if kind is BlockKind.ITEM else opened}{label}{gap}{text}"
    document, chunks = cut("", whole)
    block = Block(kind, Span(0, len(whole)), label)
    (extraction,) = RuleExtractor().extract(replace(document, blocks=(block,)), chunks)
    kinds = {form: m.type for form, m in mentions(extraction).items()}
    return kinds, {d.normal_form: d.text for d in extraction.descriptions}


@pytest.mark.parametrize(
    ("label", "form", "kind"),
    [
        ("deadlock_timeout (integer)", "deadlock_timeout", "SETTING"),
        ("--jobs=njobs", "jobs njobs", "OPTION"),
        ("VACUUM", "vacuum", "COMMAND"),
        ("nonrepeatable read", "nonrepeatable read", "TERM"),
        ("/etc/fstab", "etc fstab", "FILE"),
    ],
)
def test_a_defined_term_is_an_entity_with_its_definition(label: str, form: str, kind: str) -> None:
    kinds, told = defined(label, "The time to wait on a lock. The default is one second.")
    assert kinds[form] == kind
    assert told[form].startswith("The time to wait on a lock.")


@pytest.mark.parametrize("kind", [BlockKind.DEFINITION, BlockKind.ITEM])
def test_a_term_at_the_start_of_its_definition_is_an_entity(kind: BlockKind) -> None:
    kinds, told = defined("lock_wait", "The time to wait on a lock.", kind=kind, gap=": ")
    assert kinds["lock_wait"] == "IDENTIFIER"
    assert told["lock_wait"] == "lock_wait: The time to wait on a lock."


@pytest.mark.parametrize("label", ["name", "the", "This is a whole sentence.", "x", "3.", "。。"])
def test_words_that_are_not_terms_are_not_defined(label: str) -> None:
    assert defined(label, "The time to wait on a lock.")[1] == {}


def test_options_belong_to_the_command_of_their_page() -> None:
    text = "pg_dump\n\npg_dump — extract a database into a script\n\n**--jobs**\n\nRun in parallel."
    document, chunks = cut("pg_dump", text)
    block = Block(BlockKind.DEFINITION, Span(text.index("**"), len(text)), "--jobs")
    (extraction,) = RuleExtractor().extract(replace(document, blocks=(block,)), chunks)
    names = {m.entity_id: m.normal_form for m in extraction.mentions}
    found = {(names[r.source], r.relation, names[r.target]) for r in extraction.relations}
    assert ("jobs", "option of", "pg_dump") in found
    assert mentions(extraction)["pg_dump"].type == "COMMAND"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("https://example.org/a", "URL"),
        ("a@example.org", "URL"),
        ("--full", "OPTION"),
        ("-f file", "OPTION"),
        ("now()", "FUNCTION"),
        ("~/.profile", "FILE"),
        ("postgresql.conf", "FILE"),
        ("wal_level", "IDENTIFIER"),
        ("SHARE (ShareLock)", "IDENTIFIER"),
    ],
)
def test_the_form_of_a_technical_name_decides_its_type(name: str, kind: str) -> None:
    assert technical_type(name) == kind


def test_commands_are_written_large() -> None:
    assert is_command("CREATE INDEX")
    assert not is_command("Create Index")
    assert not is_command("WAL")
