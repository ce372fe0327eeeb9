"""The graph: what it opens on, the legend, facts, paths, search, corrections, views and exports."""

import json
import re

import pytest
from tests.browser.serving import BLOCKS_WORKSPACE, MEASURED_WORKSPACE, SAMPLE_WORKSPACE
from tests.browser.watching import PHONE

PAGE = f"/{SAMPLE_WORKSPACE}/graph"


def open_map(visit, query=""):
    page = visit.open(PAGE + query)
    page.locator(".map-canvas canvas").first.wait_for(state="attached")
    return page


def read_shown(page):
    """Return how many entities are shown, of how many."""
    text = page.get_by_text(re.compile(r"^\d+ of \d+ entities, by importance")).first.inner_text()
    return [int(number) for number in re.findall(r"\d+", text)[:2]]


def find(page, name):
    """Go to an entity by its name, as a person types it."""
    field = page.get_by_role("combobox", name="Find an entity")
    field.fill(name)
    page.get_by_role("option", name=re.compile(f"^{name}\\b")).first.click()
    page.get_by_role("heading", level=2, name=name, exact=True).wait_for()


def choose(page, label, name):
    page.get_by_role("combobox", name=label, exact=True).fill(name)
    page.get_by_role("option", name=re.compile(f"^{name}\\b")).first.click()


def place_of(page, name):
    """Return where an entity is on the screen: the keyboard leads there, and the ring shows it."""
    canvas = page.locator(".map-canvas")
    canvas.focus()
    page.keyboard.press("Home")
    for _ in range(60):
        # At once: the ring may go back to where the mouse is.
        shown, x, y = page.locator(".graph-ring").evaluate(
            """ring => {
                const {x, y} = ring.getBoundingClientRect();
                return [ring.dataset.name, x, y];
            }"""
        )
        if shown == name:
            return x, y
        page.keyboard.press("PageDown")
    raise AssertionError(f"{name} is not on the map")


def test_it_opens_on_the_most_important_entities_at_once(visit):
    page = open_map(visit)
    shown, total = read_shown(page)
    assert 20 < shown <= 150
    assert shown <= total
    legend = page.get_by_role("complementary", name="Details")
    legend.get_by_role("button", name=re.compile(r"^Person\s*\d+")).wait_for()
    assert legend.get_by_text("FILE", exact=True).count() == 0
    visit.check_access()


def test_the_legend_shows_only_what_is_clicked(visit):
    page = open_map(visit)
    before = read_shown(page)
    person = page.get_by_role("button", name=re.compile(r"^Person\s*\d+"))
    number = int(re.search(r"\d+", person.inner_text()).group())
    person.click()
    page.get_by_text(f"{number} of {number} entities").wait_for()
    assert "types=PERSON" in page.url
    page.get_by_role("button", name="Show everything").click()
    page.get_by_text(f"{before[0]} of {before[1]} entities").wait_for()
    switch = page.get_by_role("switch", name=re.compile(r"^Show co-occurrence \(\d+\)$"))
    assert int(re.search(r"\d+", switch.evaluate("x => x.parentElement.innerText")).group()) > 0
    switch.check()
    page.wait_for_url(re.compile("co=1"))
    page.get_by_role("switch", name=re.compile("^Show dates")).check()
    page.wait_for_function(f"() => !document.body.innerText.includes('of {before[1]} entities')")
    assert read_shown(page)[1] > before[1]


def test_an_entity_has_facts_with_sentences_that_lead_to_their_place(visit):
    page = open_map(visit)
    page.keyboard.press("/")
    find(page, "Oriane Keld")
    page.wait_for_url(re.compile("focus="))
    fact = page.locator(".fact-list li", has=page.locator(".quote")).first
    fact.wait_for()
    page.locator(".source mark", has_text="Keld").first.wait_for()
    visit.check_access()
    page.reload()
    page.get_by_role("heading", level=2, name="Oriane Keld").wait_for()
    sentence = page.locator(".fact-list li", has_text="born in").locator(".quote")
    words = sentence.inner_text()
    sentence.click()
    page.wait_for_url(re.compile("/documents.*start="))
    page.get_by_text(words.split(".")[0][:30]).first.wait_for()
    page.go_back()
    page.get_by_role("heading", level=2, name="Oriane Keld").wait_for()
    page.get_by_text("Ask about this").click()
    page.get_by_role("region", name="Answer").wait_for()
    page.get_by_role("heading", name="What do the documents say about Oriane Keld?").wait_for()


def test_a_double_click_adds_neighbours_and_the_keyboard_does_too(visit):
    visit.visitor.require_chromium("a double click")
    page = open_map(visit, "?types=PLACE")
    before = read_shown(page)[0]
    x, y = place_of(page, "Skarrow Station")
    page.mouse.dblclick(x, y)
    page.wait_for_url(re.compile("more="))
    page.get_by_role("button", name="Remove neighbours").click()
    page.wait_for_url(re.compile(r"^(?!.*more=)"))
    page.keyboard.press("e")
    page.wait_for_url(re.compile("more="))
    page.keyboard.press("Escape")
    shown = page.get_by_text(re.compile(rf"^{before} of \d+ entities"))
    shown.first.wait_for(state="detached")  # until the neighbours have come
    page.get_by_text(re.compile(r"^\d+ of \d+ entities")).first.wait_for()
    assert read_shown(page)[0] > before


def test_a_path_is_found_without_a_selection_and_read_as_lines(visit):
    page = open_map(visit)
    page.get_by_role("button", name="Find path").click()
    choose(page, "From", "The Kestrel probe")
    choose(page, "To", "Tarnby")
    page.get_by_text(re.compile(r"^\d+ paths? found$")).first.wait_for()
    steps = page.get_by_role("list", name="Steps of the path").get_by_role("listitem")
    steps.first.locator(".quote").wait_for()
    assert steps.count() == steps.locator(".quote").count()
    canvas = page.get_by_role(
        "application", name=re.compile(f"^Map of {steps.count() + 1} entities")
    )
    canvas.wait_for()
    visit.check_access()
    page.keyboard.press("Escape")
    page.get_by_text(re.compile(r"^\d+ of \d+ entities")).first.wait_for()


def test_two_selected_entities_show_their_path(visit):
    page = open_map(visit, "?relations=has%20manager")
    x, y = place_of(page, "Oriane Keld")
    page.mouse.click(x, y)
    page.get_by_role("heading", level=2, name="Oriane Keld").wait_for()
    x, y = place_of(page, "Ilse Tarrant")
    page.keyboard.down("Shift")
    page.mouse.click(x, y)
    page.keyboard.up("Shift")
    page.get_by_role("heading", level=2, name="Paths between two entities").wait_for()
    page.get_by_text(re.compile(r"^\d+ paths? found$")).first.wait_for()


def count_shown(page):
    """Return how many entities the map says it shows."""
    label = page.locator(".map-canvas").get_attribute("aria-label")
    return int(re.search(r"\d+", label).group())


def test_the_local_view_shows_what_is_around_one(visit):
    page = open_map(visit)
    find(page, "Oriane Keld")
    page.get_by_role("application", name=re.compile("^Map of")).wait_for()
    counts = [count_shown(page)]
    # The map shows what it had until the new entities are there.
    for depth, becomes in (("1", "<"), ("2", ">")):
        page.get_by_label("Local view").first.select_option(depth)
        page.wait_for_url(re.compile(f"depth={depth}"))
        label = "document.querySelector('.map-canvas')?.ariaLabel"
        page.wait_for_function(f"() => {label}?.match(/\\d+/)[0] {becomes} {counts[-1]}")
        counts.append(count_shown(page))
    assert 1 < counts[1] < counts[2]
    page.get_by_label("Hide hubs").check()
    page.wait_for_url(re.compile("hubs=0"))


def test_a_phrase_finds_what_it_means(visit):
    page = open_map(visit)
    page.get_by_role("combobox", name="Find an entity").fill("people born in Tarnby")
    page.get_by_role("option", name="Show all for “people born in Tarnby”").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=2, name="people born in Tarnby").wait_for()
    page.get_by_role("application", name=re.compile(r"^Map of [1-5] entit")).wait_for()
    page.get_by_text("Query", exact=True).click()
    page.get_by_text("MATCH").first.wait_for()


def test_communities_are_a_view_and_old_addresses_lead_there(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/communities")
    page.get_by_role("button", name="Communities").and_(page.locator("[aria-current]")).wait_for()
    first = page.get_by_role("list", name="Communities").get_by_role("link").first
    title = first.locator(".tree-title").inner_text()
    first.click()
    page.get_by_role("heading", level=2, name=title).wait_for()
    page.get_by_role("heading", level=3, name="Findings").wait_for()
    page.get_by_role("button", name=re.compile("^Passage 1, in ")).first.click()
    page.locator(".reader mark").first.wait_for()
    visit.check_access()
    page.get_by_role("link", name="Show in graph").click()
    page.get_by_role("button", name=re.compile(re.escape(title))).and_(
        page.locator("[aria-pressed=true]")
    ).wait_for()


def test_tables_are_sorted_and_filtered(visit):
    page = open_map(visit)
    page.get_by_role("button", name="Table").click()
    entities = page.get_by_role("table", name="Entities")
    entities.wait_for()
    visit.check_access()
    entities.get_by_role("button", name="Name").click()
    names = entities.locator("tbody tr td:first-child").all_inner_texts()
    collated = page.evaluate(
        "names => [...names].sort(new Intl.Collator(undefined, {numeric: true}).compare)", names
    )
    assert names == collated
    page.get_by_role("searchbox", name="Filter rows").fill("keld")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length < 20")
    assert "Keld" in entities.locator("tbody tr").first.inner_text()
    page.get_by_role("button", name="Oriane Keld").first.click()
    page.get_by_role("heading", level=2, name="Oriane Keld").wait_for()


def test_a_view_is_saved_with_its_filters_and_positions(visit):
    page = open_map(visit, "?types=PLACE")
    x, y = place_of(page, "Skarrow Station")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("textbox", name="Name of this view").fill("Places")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{visit.visitor.address}/ui{PAGE}")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("button", name="Places", exact=True).click()
    page.wait_for_url(re.compile("types=PLACE"))
    stored = page.evaluate(f"() => localStorage.getItem('knotwork.views.{SAMPLE_WORKSPACE}')")
    assert len(json.loads(stored)[0]["places"]) == 1


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("Image (PNG)", b"\x89PNG"),
        ("Vector image (SVG)", b"<?xml"),
        ("Graph (GraphML)", b"<?xml"),
    ],
)
def test_exports(visit, tmp_path, kind, start):
    visit.visitor.require_chromium("a folder for downloads")
    page = open_map(visit)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=kind).click()
    path = tmp_path / "file"
    download.value.save_as(path)
    content = path.read_bytes()
    assert content.startswith(start)
    if start == b"<?xml":
        assert "Oriane Keld" in content.decode()


def test_on_a_phone_the_map_is_drawn_and_a_sheet_shows_the_rest(visitor):
    visit = visitor.visit(size=PHONE, has_touch=True)
    page = open_map(visit)
    page.get_by_role("button", name="Legend").click()
    page.get_by_role("button", name=re.compile(r"^Person\s*\d+")).wait_for()
    page.get_by_role("button", name="Close").click()
    find(page, "Oriane Keld")
    page.locator(".fact-list li").first.wait_for()
    visit.check_width()
    visit.check_access()


def test_an_index_without_communities_has_a_map(visit):
    page = visit.open(f"/{BLOCKS_WORKSPACE}/graph")
    page.locator(".map-canvas canvas").first.wait_for(state="attached")
    page.get_by_role("button", name="Build communities").wait_for()
    find(page, "Oriane Keld")


CORRECTIONS = f"/workspaces/{MEASURED_WORKSPACE}/corrections"


def correct(page, item):
    """Choose a correction of the entity whose panel is open; return its dialog."""
    page.get_by_role("button", name="Correct", exact=True).click()
    page.get_by_role("button", name=item, exact=True).click()
    return page.get_by_role("dialog")


def undo_all(page, dialog):
    """Undo the corrections that a dialog lists, one by one; return how many there were."""
    made = dialog.get_by_role("listitem").count()
    for left in reversed(range(made)):
        dialog.get_by_role("button", name="Undo").first.click()
        page.wait_for_function(
            "left => document.querySelectorAll('.corrections li').length === left", arg=left
        )
    return made


def merge(page):
    dialog = correct(page, "Merge with…")
    choose(page, "Other entity", "Skarrow Station")
    dialog.get_by_role("button", name="Merge with").click()
    page.get_by_text("Also: Tarnby").wait_for()


def split(page):
    merge(page)
    dialog = correct(page, "Split…")
    dialog.get_by_label("Name of the other entity").select_option("Tarnby")
    dialog.get_by_role("button", name="Split").click()
    page.get_by_text("Also: Tarnby").wait_for(state="detached")


def retype(page):
    dialog = correct(page, "Change type")
    dialog.get_by_label("Type").fill("EVENT")
    dialog.get_by_role("button", name="Change type").click()
    page.locator(".entity-head").get_by_text("Event", exact=True).wait_for()


def pin(page):
    correct(page, "Pin")
    page.get_by_text("Correction saved.").wait_for()


def relate(page):
    dialog = correct(page, "Add relation")
    dialog.get_by_label("Relation").fill("is twinned with")
    choose(page, "Other entity", "Oriane Keld")
    dialog.get_by_role("button", name="Add relation").click()
    page.locator(".fact-list li", has_text="is twinned with").wait_for()


def unrelate(page):
    relate(page)
    fact = page.locator(".fact-list li", has_text="is twinned with")
    fact.get_by_role("button", name="Remove the relation Tarnby is twinned with").click()
    fact.wait_for(state="detached")


@pytest.mark.parametrize(
    ("make", "listed"),
    [
        (merge, "Merge with: Tarnby + Skarrow Station"),
        (split, "Split: Skarrow Station | Tarnby"),
        (retype, "Change type: Tarnby: Event"),
        (pin, "Pin: Tarnby"),
        (relate, "Add relation: Tarnby is twinned with Oriane Keld"),
        (unrelate, "Remove relation: Tarnby is twinned with Oriane Keld"),
    ],
)
def test_each_kind_of_correction_is_made_listed_and_undone(visit, make, listed):
    for left in visit.visitor.call("GET", CORRECTIONS)["corrections"]:
        visit.visitor.call("DELETE", f"{CORRECTIONS}/{left['id']}")
    page = visit.open(f"/{MEASURED_WORKSPACE}/graph")
    find(page, "Tarnby")
    make(page)
    page.locator(".map-toolbar").get_by_role("button", name="Corrections").click()
    dialog = page.get_by_role("dialog", name="Corrections")
    dialog.get_by_text(listed).wait_for()
    visit.check_access()
    undo_all(page, dialog)
    assert visit.visitor.call("GET", CORRECTIONS)["corrections"] == []


def test_an_entity_is_corrected_and_each_correction_undone(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/graph")
    find(page, "Tarnby")
    correct(page, "Rename")
    dialog = page.get_by_role("dialog", name="Rename Tarnby")
    dialog.get_by_label("Name").fill("Old Tarnby")
    visit.check_access()
    dialog.get_by_role("button", name="Rename").click()
    page.get_by_role("heading", level=2, name="Old Tarnby").wait_for()
    correct(page, "Hide")
    page.get_by_role("heading", level=2, name="Old Tarnby").wait_for(state="detached")
    page.get_by_role("button", name="Corrections").click()
    listed = page.get_by_role("dialog", name="Corrections")
    listed.get_by_text("An entity of it is hidden.").wait_for()
    visit.check_access()
    assert undo_all(page, listed) == 2
    assert visit.visitor.call("GET", CORRECTIONS)["corrections"] == []


def test_a_name_with_two_meanings_is_divided_by_documents(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/graph")
    find(page, "Tarnby")
    correct(page, "Split meanings…")
    dialog = page.get_by_role("dialog", name="Another meaning of Tarnby")
    save = dialog.get_by_role("button", name="Split meanings")
    dialog.get_by_label("Name").fill("Tarnby, ship")
    assert save.is_disabled()
    dialog.get_by_role("checkbox").first.check()
    visit.check_access()
    save.click()
    dialog.wait_for(state="detached")
    (made,) = visit.visitor.call("GET", CORRECTIONS)["corrections"]
    assert (made["kind"], made["applied"], len(made["documents"])) == ("divide", True, 1)
    find(page, "Tarnby, ship")
    page.get_by_role("button", name="Corrections").click()
    listed = page.get_by_role("dialog", name="Corrections")
    listed.get_by_text("Tarnby | Tarnby, ship").wait_for()
    listed.get_by_role("button", name="Undo").click()
    listed.get_by_text("No corrections yet.").wait_for()


def divide(page, name, number):
    """Tick a document, by its number, that means something else; return the dialog."""
    dialog = correct(page, "Split meanings…")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("checkbox").nth(number).check()
    dialog.get_by_role("button", name="Split meanings").click()
    return dialog


def test_a_division_grows_and_its_hidden_meaning_is_said_to_be_hidden(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/graph")
    find(page, "Oriane Keld")
    for _ in range(2):
        divide(page, "Keld, ship", 0).wait_for(state="detached")
    made, _ = visit.visitor.call("GET", CORRECTIONS)["corrections"]
    assert len(made["documents"]) == 2
    find(page, "Keld, ship")
    correct(page, "Hide")
    page.get_by_text("Correction saved.").first.wait_for()
    page.get_by_role("button", name="Corrections").click()
    listed = page.get_by_role("dialog", name="Corrections")
    listed.get_by_text("An entity of it is hidden.").wait_for()
    assert listed.get_by_text("No document mentions the entity now.").count() == 0
    assert undo_all(page, listed) == 3


def test_what_a_dialog_refuses_is_said_in_it(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/graph")
    find(page, "Oriane Keld")
    dialog = correct(page, "Rename")
    dialog.get_by_label("Name").fill("Tarnby")
    dialog.get_by_role("button", name="Rename").click()
    dialog.get_by_role("alert").get_by_text("is the name of another entity").wait_for()
    visit.check_access()
    page.keyboard.press("Escape")
    # The dialog asks for more sources than the panel shows.
    with page.expect_response(re.compile("/graph/entities/.*sources=50")):
        dialog = correct(page, "Split meanings…")
    dialog.get_by_label("Name").fill("Keld, ship")
    for box in dialog.get_by_role("checkbox").all():
        box.check()
    dialog.get_by_text(
        "At least one document must keep the first meaning of Oriane Keld."
    ).wait_for()
    assert dialog.get_by_role("button", name="Split meanings").is_disabled()
    box.uncheck()
    assert dialog.get_by_role("button", name="Split meanings").is_enabled()
    assert visit.visitor.call("GET", CORRECTIONS)["corrections"] == []
    visit.visitor.account.faults.clear()  # the browser logs the 400
