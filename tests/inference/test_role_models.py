"""Models by role share one call cache, which is created when the first of them is opened."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from tests.inference.chat_fakes import EchoModel, ask

from knotwork._companions import FileCompanions, companion_path
from knotwork._config import LlmSettings
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference import role_models
from knotwork._inference.call_budget import CallBudget, Ceiling, parse_ceiling
from knotwork._inference.call_cache import CallCache
from knotwork._inference.call_costs import UsageMeter
from knotwork._inference.chat import ChatRequest, Message, TokenUsage
from knotwork._inference.role_models import RoleModels
from knotwork._sqlite_file import CALLS_SUFFIX, MEMORY_SUFFIX
from knotwork._text.token_counts import count_tokens
from knotwork.errors import (
    BudgetExceeded,
    SchemaMismatch,
    StoreReadOnly,
    UnknownName,
    Unparsable,
)

REQUEST = ChatRequest((Message("user", "Who?"),), stage="answer")


@pytest.fixture
def index(tmp_path):
    return str(tmp_path / "index.knot")


@pytest.fixture
def path(index):
    return companion_path(index, CALLS_SUFFIX)


@pytest.fixture
def companions(index):
    return FileCompanions(index)


def test_calls_stand_beside_the_index_and_outlive_it(path, companions):
    assert path.endswith("index.knot.calls")
    assert companion_path("memory:", CALLS_SUFFIX) == ":memory:"
    assert companion_path("my docs/a@b?c#d.knot", CALLS_SUFFIX) == "my docs/a@b?c#d.knot.calls"
    for script in ("Ada.", []):
        models = RoleModels(LlmSettings(), companions=companions, model=ScriptedChatModel(script))
        assert not Path(path).exists() or script == []
        assert models.open("answer").complete(REQUEST).text == "Ada."
        assert models.open("judge").complete(REQUEST).usage.reused == 1
        models.close()
        models.close()


@pytest.mark.parametrize("suffix", [CALLS_SUFFIX, MEMORY_SUFFIX])
def test_no_secret_of_a_store_url_is_in_a_file_name(suffix):
    def file_of(url):
        return companion_path(url, suffix)

    address = "postgres://{}db.example:5432/docs{}"
    plain = file_of(address.format("", ""))
    assert plain.startswith("postgres-db.example-5432-docs-")
    assert plain == Path(plain).name  # no folder that would have to exist
    for user in ("", "ada@", "ada:s3cret@", "ada:p%40ss:w@rd@"):
        for query in ("", "?password=s3cret&sslmode=require", "#s3cret", "?key=a@b/c"):
            assert file_of(address.format(user, query)) == plain
    others = ("postgres://db.example/docs", "postgres://db.example:5432/docs/2", "mysql://a/b")
    assert len({plain, *map(file_of, others), file_of("postgres://db.example:5432/docs-2")}) == 5


def test_a_role_without_a_model_is_none_and_makes_no_file(path, companions):
    models = RoleModels(LlmSettings(), companions=companions)
    assert models.open("answer") is None
    wrong = RoleModels(LlmSettings(answer="closedai:x"), companions=companions)
    with pytest.raises(UnknownName):
        wrong.open("answer")
    assert wrong.open("judge") is None
    assert not Path(path).exists()


def test_a_model_has_its_meter_and_its_budget(companions):
    models = RoleModels(LlmSettings(), companions=companions, model=ScriptedChatModel("Ada."))
    budget = CallBudget(parse_ceiling("10"), count_tokens=count_tokens)
    meter = UsageMeter()
    with pytest.raises(BudgetExceeded):
        models.open("answer", budget=budget).complete(REQUEST)
    models.open("answer", meter=meter).complete(REQUEST)
    # What is kept needs no budget.
    assert models.open("answer", budget=budget).complete(REQUEST).usage.reused == 1
    assert meter.total().calls == 1
    models.close()


class ReadOnlyCompanions(FileCompanions):
    """Companions on a disk that nothing can be written to."""

    def open(self, companion):
        raise StoreReadOnly(f"The {companion.kind} may not be written.")


def test_where_nothing_may_be_written_calls_are_kept_in_memory(path):
    models = RoleModels(
        LlmSettings(), companions=ReadOnlyCompanions(path), model=ScriptedChatModel(["Ada."])
    )
    assert models.open("answer").complete(REQUEST).usage.calls == 1
    assert models.open("answer").complete(REQUEST).usage.reused == 1
    assert "may not be written" in models.notes[0]
    models.close()


def test_a_file_that_is_something_else_is_refused(path, companions):
    Path(path).write_text("my shopping list", encoding="utf-8")
    models = RoleModels(LlmSettings(), companions=companions, model=ScriptedChatModel("Ada."))
    with pytest.raises(SchemaMismatch):
        models.open("answer")


def test_roles_share_cache_meter_and_budget(path, companions, monkeypatch):
    inner = {name: EchoModel(name=f"fake:{name}") for name in ("extract", "answer")}
    monkeypatch.setattr(role_models.ChatModels, "open", lambda _self, role: inner.get(role))
    models = RoleModels(LlmSettings(), companions=companions)
    budget, meter = CallBudget(Ceiling(Decimal(60), "tokens"), count_tokens=len), UsageMeter()
    assert models.open("judge") is None
    extract = models.open("extract", budget=budget, meter=meter)
    answer = models.open("answer", budget=budget, meter=meter)
    assert extract is not None
    assert answer is not None
    extract.complete(ask("ab", max_output_tokens=20))
    answer.complete(ask("ab", max_output_tokens=20))
    extract.complete(ask("ab", max_output_tokens=20))
    assert meter.total() == TokenUsage(4, 12, 2, 1)
    assert budget.spent() == TokenUsage(4, 12, 2)
    with pytest.raises(BudgetExceeded):
        answer.complete(ask("a", max_output_tokens=50))
    # A kept reply is served also when nothing may be spent any more.
    assert answer.complete(ask("ab", max_output_tokens=20)).usage == TokenUsage(reused=1)
    models.close()
    kept = CallCache(path)
    assert kept.total().usage == meter.total()
    kept.close()


def test_roles_with_one_model_make_an_equal_call_once(companions):
    inner = EchoModel()
    inner.gate.clear()
    models = RoleModels(LlmSettings(), companions=companions, model=inner)
    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(models.open(role).complete, ask("a")) for role in ("summarize", "answer")
        ]
        assert inner.arrived.acquire(timeout=30)
        inner.gate.set()
    assert sorted(future.result().usage.reused for future in futures) == [0, 1]
    assert len(inner.requests) == 1
    models.close()


def test_a_run_that_retries_asks_again_for_what_was_rejected(companions):
    def refuse(_reply):
        raise Unparsable("no")

    inner = EchoModel()
    for retry, calls in ((False, 1), (False, 1), (True, 2)):
        models = RoleModels(LlmSettings(), companions=companions, model=inner)
        with pytest.raises(Unparsable):
            models.open("extract", retry_rejected=retry).complete_checked(ask("a"), refuse)
        assert len(inner.requests) == calls
        models.close()
