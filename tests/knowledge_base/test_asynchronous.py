"""The asynchronous knowledge base: same results, concurrent calls, orderly cancellation."""

import asyncio
import contextvars
import threading
from contextlib import aclosing

import pytest

import knotwork
from knotwork._extensions.asynchronous import AHEAD_ITEMS
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._run import Run, Stage
from knotwork.errors import StoreError, StoreNotFound, UnknownName

pytestmark = pytest.mark.slow


QUESTION = "Who approves travel abroad?"


@pytest.fixture
def docs(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "team.md").write_text("# Team\n\nAda Lovelace leads the Travel Office.", "utf-8")
    (docs / "travel.md").write_text(
        "# Travel\n\nThe Travel Office approves travel abroad.", "utf-8"
    )
    (docs / "出差.txt").write_text("出差到北京需要部门经理批准。", "utf-8")
    return docs


@pytest.fixture
def index(tmp_path, docs):
    with knotwork.open(tmp_path / "kb.knot", embedding_model="none") as kb:
        kb.index(docs)
    return tmp_path / "kb.knot"


def opened(path, **options):
    return knotwork.open_async(path, embedding_model="none", **options)


def test_every_method_gives_what_its_namesake_gives(index, docs):
    async def ask_all():
        async with opened(index) as kb:
            same = kb.knowledge_base
            assert await kb.search(QUESTION, k=2) == same.search(QUESTION, k=2)
            answer = await kb.ask(QUESTION)
            assert (answer.text, answer.citations) == (
                same.ask(QUESTION).text,
                same.ask(QUESTION).citations,
            )
            assert await kb.graph.explore("Travel Office") == same.graph.explore("Travel Office")
            assert await kb.communities.list() == same.communities.list()
            assert await kb.entities.aliases() == same.entities.aliases()
            statement = "MATCH (e:Entity) RETURN e.name AS name ORDER BY name"
            rows = await kb.graph.cypher(statement, row_limit=3)
            assert rows.rows == same.graph.cypher(statement, row_limit=3).rows
            assert len(rows.rows) == 3
            assert await kb.documents() == same.documents()
            assert await kb.document("docs/team.md") == same.document("docs/team.md")
            assert await kb.stats() == same.stats()
            assert (await kb.index(docs)).unchanged == 3
            assert await kb.delete("docs/team.md") == ("docs/team.md",)
            document = knotwork.Document("note", "Grace Hopper wrote a compiler.")
            assert (await kb.index_documents([document])).added == 1

    asyncio.run(ask_all())


def test_events_come_in_the_order_of_the_run(tmp_path, docs):
    async def listen():
        async with opened(tmp_path / "new.knot") as kb:
            kinds = [event.stage async for event in kb.index.run(docs)]
            assert kinds[0] is Stage.DISCOVERED
            assert kinds.count(Stage.ADDED) == 3
            assert kinds[-1] is Stage.FINISHED
            steps = [event.stage async for event in kb.ask.run(QUESTION)]
            assert steps[0] is Stage.FOUND
            assert steps[-1] is Stage.FINISHED

    asyncio.run(listen())


def test_many_ask_at_once_and_inside_runs_without_starving(index):
    async def ask_inside(kb):
        async with aclosing(kb.ask.run(QUESTION)) as events:
            async for _ in events:
                assert (await kb.search(QUESTION)).hits
        return await kb.ask(QUESTION)

    async def ask_together():
        async with opened(index, threads=2) as kb:
            answers = await asyncio.gather(*(ask_inside(kb) for _ in range(12)))
            assert {answer.text for answer in answers} == {answers[0].text}

    asyncio.run(ask_together())


def test_no_more_threads_work_than_allowed(index):
    together, most, lock, gate = 0, 0, threading.Lock(), threading.Barrier(2)

    def work():
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        gate.wait()  # passes when two are here, so that there are two at some time
        with lock:
            together -= 1

    async def work_together():
        async with opened(index, threads=2) as kb:
            await asyncio.gather(*(kb.call(work) for _ in range(8)))

    asyncio.run(work_together())
    assert most <= 2


def test_errors_arrive_as_they_were_raised(index, tmp_path):
    async def fail():
        async with opened(index) as kb:
            with pytest.raises(UnknownName):
                await kb.search(QUESTION, retriever="nothing-like-it")
            with pytest.raises(UnknownName):
                await kb.ask(QUESTION, retriever="nothing-like-it")
            with pytest.raises(UnknownName):
                await kb.graph.explore("Nobody Known")
        with pytest.raises(StoreNotFound):
            async with opened(tmp_path / "none.knot", read_only=True):
                raise AssertionError

    asyncio.run(fail())


def test_a_run_that_is_left_early_keeps_what_it_finished_and_goes_on_later(tmp_path):
    docs = tmp_path / "many"
    docs.mkdir()
    for number in range(40):
        (docs / f"{number:02}.md").write_text(f"# Note {number}\n\nA note of number {number}.")

    async def leave():
        async with opened(tmp_path / "left.knot") as kb:
            async with aclosing(kb.index.run(docs)) as events:
                async for event in events:
                    if event.stage is Stage.STARTED:
                        break
            kept = len(await kb.documents())
            report = await kb.index(docs)
            assert report.unchanged == kept < 40
            assert report.total_documents == 40

    asyncio.run(leave())


def endless(made: list[int], closed: threading.Event):
    try:
        while True:
            made.append(len(made))
            yield made[-1]
    finally:
        closed.set()


def test_a_run_is_not_far_ahead_of_its_listener_and_ends_when_it_is_cancelled(index):
    made: list[int] = []
    closed = threading.Event()

    async def cancel():
        async with opened(index) as kb:
            heard = asyncio.Event()

            async def listen():
                async with aclosing(kb._workers.iterate(Run(endless(made, closed)))) as run:
                    async for item in run:
                        heard.set()
                        assert len(made) - item <= AHEAD_ITEMS + 2
                        await asyncio.sleep(0)

            task = asyncio.create_task(listen())
            await heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert closed.is_set()

    asyncio.run(cancel())


def test_a_cancelled_run_that_waits_for_its_turn_never_begins(index):
    made: list[int] = []
    closed = threading.Event()

    async def cancel():
        async with opened(index, threads=1) as kb:
            first = kb._workers.iterate(Run(endless([], threading.Event())))
            assert await anext(first) == 0
            second = asyncio.create_task(anext(kb._workers.iterate(Run(endless(made, closed)))))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            await first.aclose()

    asyncio.run(cancel())
    assert made == []


def test_closing_ends_runs_with_an_error_and_no_thread_remains(index):
    async def close():
        async with opened(index) as kb:
            run = kb._workers.iterate(Run(endless([], threading.Event())))
            await anext(run)
            await kb.aclose()
            with pytest.raises(StoreError, match="closed"):
                async for _ in run:
                    pass

    before = threading.active_count()
    asyncio.run(close())
    assert threading.active_count() <= before


def test_a_fault_in_a_run_is_raised_after_its_items(index):
    def broken():
        yield 1
        raise ValueError("broken")

    async def hear():
        async with opened(index) as kb:
            run = kb._workers.iterate(Run(broken()))
            assert await anext(run) == 1
            with pytest.raises(ValueError, match="broken"):
                await anext(run)

    asyncio.run(hear())


def test_context_variables_reach_the_worker(index):
    who = contextvars.ContextVar("who", default="nobody")

    async def tell():
        async with opened(index) as kb:
            who.set("a reader")
            assert await kb.call(who.get) == "a reader"

    asyncio.run(tell())


def test_the_words_of_a_model_come_as_they_are_written(index):
    model = ScriptedChatModel(lambda _: "The Travel Office approves travel abroad [1].")

    async def listen():
        async with knotwork.open_async(index, embedding_model="none", chat_model=model) as kb:
            events = [event async for event in kb.ask.run(QUESTION)]
            pieces = [e.note for e in events if e.stage is Stage.TEXT]
            assert "".join(pieces) == events[-1].value.text

    asyncio.run(listen())
