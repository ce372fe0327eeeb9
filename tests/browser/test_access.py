"""A server with keys: the pages ask for one, keep it, and show what it may do."""

from contextlib import closing

import pytest
from tests.browser.serving import fill_sample, run_server
from tests.browser.watching import Visitor

from knotwork._companions import companion_path
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.server.keys import KeyFile, KeyRole, keys_beside
from knotwork._sqlite_file import MEMORY_SUFFIX


@pytest.fixture(scope="module")
def keyed(chromium, tmp_path_factory):
    """The address of a server, and a key that may only read."""
    folder = tmp_path_factory.mktemp("keyed")
    fill_sample(folder / "demo.knot")
    reader, key = KeyFile(keys_beside(folder)).add(
        "reader", role=KeyRole.READ, workspaces=("demo",)
    )
    facts = companion_path(str(folder / "demo.knot"), MEMORY_SUFFIX)
    with closing(FactMemory(facts, owner=reader.id)) as memory:
        memory.learn(RememberedFact("Ina Berg", "works in", "Bergen", "2021"))
    with run_server(folder) as at:
        yield at, key


@pytest.fixture
def visitor(chromium, keyed):
    opened = Visitor(chromium, keyed[0])
    yield opened
    opened.account.faults = [
        fault for fault in opened.account.faults if "401 (Unauthorized)" not in fault
    ]  # the browser logs the requests refused before a key was set
    opened.leave()


def test_a_key_is_asked_for_refused_and_taken(visitor, keyed):
    visit = visitor.visit()
    page = visit.page
    page.goto(f"{keyed[0]}/ui/demo/library")
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("Key", exact=True)
    field.fill("not-a-key")
    visit.check_access()
    dialog.get_by_role("button", name="Use this key").click()
    dialog.get_by_text("Unknown key. It may have been removed.").wait_for()
    assert page.get_by_text("Bearer").count() == 0
    assert page.get_by_role("alert").count() == 0
    field.fill(keyed[1])
    dialog.get_by_role("button", name="Use this key").click()
    page.get_by_role("heading", level=1, name="Library").wait_for()
    page.get_by_role("link", name="22 documents").wait_for()
    assert page.get_by_role("button", name="Choose files").count() == 0
    page.reload()  # it is kept as long as the tab
    page.get_by_role("link", name="22 documents").wait_for()
    assert page.get_by_role("dialog").count() == 0
    other = page.context.new_page()  # it gets the key from the tab that has it
    other.goto(f"{keyed[0]}/ui/demo/library")
    other.get_by_role("link", name="22 documents").wait_for()
    other.get_by_role("dialog").wait_for(state="hidden")


def test_a_key_that_ends_is_asked_for_once_and_the_page_stays(chromium, tmp_path):
    fill_sample(tmp_path / "demo.knot")
    keys = KeyFile(keys_beside(tmp_path))
    _, first = keys.add("first", role=KeyRole.READ, workspaces=("demo",))
    with run_server(tmp_path) as at:
        visitor = Visitor(chromium, at)
        visit = visitor.visit()
        visit.page.context.add_init_script(f"sessionStorage.setItem('knotwork.key', '{first}')")
        page = visit.open("/demo/library")
        page.get_by_role("link", name="22 documents").wait_for()
        other = page.context.new_page()
        other.goto(f"{at}/ui/demo/evaluation")
        other.get_by_role("heading", level=1, name="Evaluation").wait_for()
        keys.remove("first")
        _, second = keys.add("second", role=KeyRole.READ, workspaces=("demo",))
        page.get_by_role("navigation").get_by_role("link", name="Evaluation").click()
        dialog = page.get_by_role("dialog")
        dialog.wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("status").get_by_role("button", name="Enter access key").click()
        assert page.get_by_role("alert").count() == 0
        dialog.get_by_label("Key", exact=True).fill(second)
        dialog.get_by_role("button", name="Use this key").click()
        page.get_by_role("heading", level=1, name="Evaluation").wait_for()
        page.get_by_text("No evaluations yet").wait_for()
        assert page.get_by_role("alert").count() == 0
        other.get_by_role("navigation").get_by_role("link", name="Library").click()
        other.get_by_role("link", name="22 documents").wait_for()  # it uses the new key, too
        assert other.get_by_role("dialog").count() == 0
        visitor.account.faults.clear()  # the browser logs the requests that were refused
        visitor.leave()


def test_who_may_only_read_is_offered_nothing_else(visitor, keyed):
    visit = visitor.visit()
    visit.page.add_init_script(f"sessionStorage.setItem('knotwork.key', '{keyed[1]}')")
    page = visit.open("/demo/evaluation")
    page.get_by_text("Starting one requires a key with write access.").wait_for()
    assert page.get_by_role("button", name="New evaluation").count() == 0
    page = visit.open("/demo/documents")
    page.get_by_role("link", name="The Kestrel probe").click()
    page.get_by_role("heading", level=1, name="The Kestrel probe").wait_for()
    assert page.get_by_role("button", name="Remove").count() == 0
    visit.check_access()


def test_who_may_only_read_is_answered_from_facts_and_forgets_none(visitor, keyed):
    visit = visitor.visit()
    visit.page.add_init_script(f"sessionStorage.setItem('knotwork.key', '{keyed[1]}')")
    page = visit.open("/demo/ask")
    memory = page.get_by_role("region", name="Remembered facts", exact=True)
    memory.get_by_text("Ina Berg works in Bergen").wait_for()
    assert memory.get_by_role("button").count() == 0
    box = page.get_by_role("textbox", name="Your question")
    box.fill("Where does Ina Berg work?")
    page.keyboard.press("Control+Enter")
    page.get_by_role("region", name="From remembered facts").wait_for()
    visit.check_access()
    box.fill("Ben Cole lives in Riga.")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Not in your files").wait_for()
    assert page.get_by_role("region", name="Remember this?").count() == 0
