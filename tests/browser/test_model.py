"""With a language model: the cost is estimated first, and answers are streamed."""

import re
import threading

import pytest
from tests.browser.serving import fill_sample, run_server
from tests.browser.watching import Visitor

from knotwork.testing.model_server import ModelTestServer


@pytest.fixture(scope="module")
def may_answer():
    """Set while the model may answer; a test that looks at what is shown before clears it."""
    allowed = threading.Event()
    allowed.set()
    return allowed


@pytest.fixture(scope="module")
def models(may_answer):
    """A model on this machine that answers by rules, once it may."""
    with ModelTestServer(latency_s=60, sleep=may_answer.wait) as server:
        yield server


@pytest.fixture
def held_answer(may_answer):
    """Hold the model's answers back until ``set`` is called."""
    may_answer.clear()
    yield may_answer
    may_answer.set()


@pytest.fixture(scope="module")
def address_with_model(browser, models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("with-model")
    fill_sample(folder / "demo.knot")
    settings = {
        "KNOTWORK_LLM_MODEL": "openai:test",
        "KNOTWORK_LLM_BASE_URL": models.url,
        "OPENAI_API_KEY": "none",
    }
    with run_server(folder, **settings) as at:
        yield at


@pytest.fixture
def visit(browser, address_with_model):
    visitor = Visitor(browser, address_with_model)
    yield visitor.visit()
    visitor.leave()


def test_the_stages_are_reported_and_then_the_answer(visit, held_answer):
    page = visit.open("/demo/ask")
    page.get_by_role("textbox", name="Your question").fill("Who approves trips abroad?")
    page.keyboard.press("Control+Enter")
    page.get_by_text(re.compile(r"passages?(, .*)? found")).first.wait_for()
    held_answer.set()
    answer = page.get_by_role("region", name="Answer")
    answer.get_by_role("button", name=re.compile("^Citation ")).first.wait_for()
    page.locator("[aria-label=Answer][aria-busy=false]").wait_for()


def test_an_answer_is_stopped(visit, held_answer):
    page = visit.open("/demo/ask")
    page.get_by_role("textbox", name="Your question").fill("What did Oriane Keld study?")
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text(re.compile("^Stopped")).first.wait_for()
    page.get_by_role("button", name="Ask again").first.wait_for()


def test_the_cost_is_estimated_before_reading(visit):
    visit.visitor.call("POST", "/workspaces", {"name": "dear"})
    page = visit.open("/dear/library")
    line = "Oriane Keld built the Heron {} buoy at Lake Ashmere in {} for Ilse Tarrant.\n\n"
    text = "# Heron\n\n" + "".join(line.format(n, 1900 + n) for n in range(400))
    file = {"name": "heron.md", "mimeType": "text/markdown", "buffer": text.encode()}
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_text("1 file is ready. Index them?").wait_for()
    page.get_by_text("reads everything").click()
    page.get_by_text("Tokens in", exact=True).wait_for()
    visit.check_access()
    page.get_by_text("off", exact=True).click()
    page.get_by_text("Indexing costs no tokens").wait_for()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="1 document", exact=True).wait_for()
