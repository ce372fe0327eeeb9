"""Pictures that a model describes: by a server that sees, one that refuses, one that drops them."""

import pickle
from dataclasses import replace
from functools import partial

import pytest
from tests.indexing.loading import assert_offsets, blocks
from tests.indexing.office_files import (
    draw_page,
    join,
    make_diagram,
    make_pdf,
    make_picture,
    with_pictures,
    word_file,
)

import knotwork
from knotwork._extensions.media import text_recognition
from knotwork._extensions.media.picture_describer import read_description
from knotwork._extensions.testing.brains.rule_brain import RuleBrain
from knotwork._indexing.loaders.loader import can_recognise
from knotwork._indexing.loaders.loader_registry import describe, load_file, load_undescribed
from knotwork._indexing.prepare import Recipe, SourceFile, prepare
from knotwork._indexing.splitters import make_splitter
from knotwork._inference.chat import ChatReply
from knotwork._transform.rules.rule_extractor import RuleExtractor
from knotwork.errors import BudgetExceeded, ConfigError, ModelUnavailable, UnknownName, Unparsable
from knotwork.records import BlockKind
from knotwork.testing import ModelTestServer, ScriptedChatModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed"),
]

WORDS = [(30, 40, "Pump P-101"), (30, 120, "Valve V-7"), (400, 120, "Tank T-3")]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "docs"
    place.mkdir()
    (place / "plant.docx").write_bytes(word_file(make_diagram(WORDS)))
    (place / "notes.md").write_text("Keld Works built the plant in 1987.", encoding="utf-8")
    return place


@pytest.fixture
def server():
    with ModelTestServer(sees=True) as running:
        yield running


def open_base(tmp_path, server, **options):
    """Open an index that reads in this process, where recognition is loaded once for all tests."""
    wanted = {"llm_tier": "full", "index_pictures": "model", "index_workers": 0, **options}
    return knotwork.open(
        tmp_path / "k.knot",
        embedding_model="none",
        llm_model="openai:small",
        llm_base_url=server.url,
        **wanted,
    )


def texts(base):
    """Return the text of each document by its name."""
    documents = base.store.documents.documents(base.store.documents.document_ids())
    return {document.uri: document.text for document in documents.values()}


def described(server):
    """Return how many pictures the server was asked to describe."""
    calls = [str(call.body["messages"][0]["content"]) for call in server.traffic.calls]
    return sum("task: describe-picture" in text for text in calls)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_description_follows_its_picture_and_names_its_author(tmp_path, folder, server, workers):
    with open_base(tmp_path, server, index_workers=workers) as base:
        report = base.index(folder)
        assert report.failures == ()
        assert report.usage["describe"].calls == 2  # that it sees, and the picture
        text = texts(base)["docs/plant.docx"]
        place = text.index("Picture, described by a model: A diagram with the words Pump P-101")
        assert text.index("cooling circuit") < place < text.index("installed in 2019")
        answer = base.ask("Which valve is in the diagram?")
        assert "Valve V-7" in answer.text
        assert answer.citations


def test_a_description_is_paid_for_once(tmp_path, folder, server):
    with open_base(tmp_path, server) as base:
        base.index(folder)
        again = base.index(folder)
        assert (again.changed, again.unchanged) == (0, 2)
        (folder / "copy.docx").write_bytes(word_file(make_diagram(WORDS)))
        base.index(folder)
        assert described(server) == 1
        assert "Tank T-3." in texts(base)["docs/copy.docx"]


def test_pictures_close_to_each_other_are_each_described_once(tmp_path, server):
    """The description of a picture is not in what a model is shown of the next one."""
    place = tmp_path / "docs"
    place.mkdir()
    other = make_diagram([(30, 40, "Filter F-9"), (30, 140, "Fan W-2")])
    (place / "plant.docx").write_bytes(word_file(make_diagram(WORDS), other))
    with open_base(tmp_path, server) as base:
        assert base.index(place).failures == ()
        text = texts(base)["docs/plant.docx"]
    assert text.index("the words Pump P-101") < text.index("the words Filter F-9")
    assert described(server) == 2
    (shown,) = [
        str(call.body["messages"])
        for call in server.traffic.calls
        if "Filter F-9" in str(call.body["messages"]) and "describe-pic" in str(call.body)
    ]
    assert "Valve V-7" in shown
    assert "described by a model" not in shown


@pytest.fixture
def recognitions(monkeypatch):
    """Return a list that gets the size of each picture that is recognised in this process."""
    sizes = []
    engine = text_recognition._engine

    def counting():
        def read(pixels):
            sizes.append(pixels.shape[:2])
            return engine()(pixels)

        return read

    monkeypatch.setattr(text_recognition, "_engine", counting)
    return sizes


SCAN = make_picture(
    draw_page([(60, 90, "A scanned page about pumps.")], size=(900, 700)), form="PDF"
)
FIGURE = with_pictures(
    make_pdf([["The drawing on this page shows the cooling circuit."]]),
    (0, draw_page(WORDS, size=(700, 600)), (72, 400, 336, 288)),
)


@pytest.mark.parametrize(
    ("name", "data", "pictures"),
    [
        ("plant.docx", word_file(make_diagram(WORDS)), 1),
        ("plant.png", make_diagram(WORDS), 1),
        ("plant.pdf", join(SCAN, FIGURE), 2),
    ],
)
def test_a_picture_is_recognised_once_and_described_later(
    tmp_path, recognitions, name, data, pictures
):
    place = tmp_path / "docs"
    place.mkdir()
    (place / name).write_bytes(data)
    said = "Number 7403 is painted on a pump."  # the model reads the number, and describes
    with open_scripted(tmp_path, lambda _: said, number=False) as base:
        assert base.index(place).failures == ()
        (text,) = texts(base).values()
    assert said in text
    assert "Tank T-3" in text
    assert len(recognitions) == pictures


def test_any_process_may_describe_what_another_has_loaded(tmp_path, recognitions):
    recipe = Recipe(make_splitter("whole"), RuleExtractor())
    path = tmp_path / "plant.png"
    path.write_bytes(make_diagram(WORDS))
    source = SourceFile("plant.png", partial(load_undescribed, path, uri="plant.png"))
    found = sent(prepare(source, recipe))
    (picture,) = found.pictures
    path.unlink()
    prepared = prepare(sent(found.described({picture.key: "A pump."})), recipe)
    assert "Valve V-7" in prepared.document.text
    assert "A pump." in prepared.document.text
    assert len(recognitions) == 1


def sent(item):
    """Return what another process gets."""
    return pickle.loads(pickle.dumps(item))


def test_pictures_without_a_description_leave_no_trace(tmp_path):
    path = tmp_path / "a.tiff"
    drawn = [draw_page(words, size=(700, 600)) for words in ([], WORDS[:1], WORDS, [])]
    path.write_bytes(make_picture(*drawn, form="TIFF"))
    found = load_undescribed(path, uri="a.tiff")
    first, second, third, _last = found.pictures
    bare = load_file(path, uri="a.tiff")
    assert describe(found.rest, {}) == bare
    assert describe(found.rest, {picture.key: "" for picture in found.pictures}) == bare
    known = {first.key: "A blank sheet.", second.key: "A pump.", third.key: "三个部件。"}
    document = describe(found.rest, known)
    assert_offsets(document)
    said = "Picture, described by a model: "
    assert [(label, text) for _, label, text in blocks(document, BlockKind.FIGURE)] == [
        ("Picture", f"{said}A blank sheet."),
        ("Picture", f"{said}A pump."),
        ("图片", "图片（模型描述）：三个部件。"),
    ]
    pages = [(page.label, document.text[page.start :][:4]) for page in document.pages]
    assert pages == [("2", "Pump"), ("3", "Pump")]
    assert document.boxes[0].span.start == document.text.index("Pump")


def test_a_picture_without_words_is_indexed_by_its_description(tmp_path, server):
    place = tmp_path / "docs"
    place.mkdir()
    (place / "barn.png").write_bytes(make_diagram([], size=(500, 400)))
    server.brain = RuleBrain(tasks={"describe-picture": lambda *_: "A photo of a red barn."})
    with open_base(tmp_path, server) as base:
        report = base.index(place)
        assert report.failures == ()
        assert texts(base) == {
            "docs/barn.png": "Picture, described by a model: A photo of a red barn."
        }
    server.brain = RuleBrain()
    with open_base(tmp_path, server, llm_describe="openai:other") as base:
        (place / "other.png").write_bytes(make_diagram([], size=(500, 300)))
        (failure,) = base.index(place).failures
        assert (failure.uri, failure.reason) == ("docs/other.png", "no_text")


NOT_IN_LEAN = (
    'index.pictures is "model", but pictures are described only in documents that a model reads, '
    'and the tier is "lean". Set llm.tier to "full" (or add --tier full), or index.pictures to '
    '"text".'
)


def test_the_setting_decides_and_documents_that_no_model_reads_are_not_described(
    tmp_path, folder, server
):
    with open_base(tmp_path, server, index_pictures="text") as base:
        base.index(folder)
        assert described(server) == 0
    with open_base(tmp_path, server) as base:
        report = base.index(folder)  # read again, since the setting changed
        assert (report.changed, described(server)) == (2, 1)
    with open_base(tmp_path, server, llm_tier="lean") as base:
        (folder / "new.docx").write_bytes(word_file(make_diagram(WORDS), before="Another circuit."))
        report = base.index(folder, tier="lean")
        assert described(server) == 1
        assert report.notes == base.estimate(folder, tier="lean").notes == (NOT_IN_LEAN,)
        assert base.estimate(folder, tier="full").notes == ()


def test_a_page_of_text_is_not_described(tmp_path, server):
    page = [
        (20, 20 + 34 * row, f"Line {row} of a contract about pumps, valves") for row in range(24)
    ]
    place = tmp_path / "docs"
    place.mkdir()
    (place / "scan.png").write_bytes(make_diagram(page, size=(800, 860)))
    with open_base(tmp_path, server) as base:
        assert base.index(place).failures == ()
    assert described(server) == 0


def blind_brain(messages):
    """Answer as a server does that drops pictures without an error."""
    return RuleBrain(
        tasks={
            "describe-picture": lambda *_: "A chart of sales that nobody drew.",
            "read-number": lambda *_: "The number is 12.",
        }
    )([replace(message, pictures=()) for message in messages])


@pytest.mark.parametrize("drops", [True, False], ids=["drops", "refuses"])
def test_a_model_that_does_not_see_describes_nothing_until_one_does(tmp_path, folder, drops):
    with ModelTestServer(blind_brain, sees=drops) as blind:
        with open_base(tmp_path, blind) as base:
            report = base.index(folder)
            (note,) = [note for note in report.notes if "described" in note]
            assert note.startswith("1 picture was not described: `openai:small` ")
            assert ("It wrote: The number is 12." if drops else "takes no pictures") in note
            assert "Set llm.describe to a model that takes pictures" in note
            assert report.failures == ()
            assert "described by a model" not in texts(base)["docs/plant.docx"]
            assert "Valve V-7" in texts(base)["docs/plant.docx"]
        assert described(blind) == 0
    with ModelTestServer(sees=True) as server:
        seeing = {"model": "openai:seeing", "base_url": server.url}
        with open_base(tmp_path, server, llm_describe=seeing) as base:
            report = base.index(folder)
            assert report.changed == 1
            assert "described by a model" in texts(base)["docs/plant.docx"]
            assert report.notes == ()


def scripted(description, *, number=True):
    """Return a model that describes by a script, and answers all else by rules.

    Without ``number``, the picture of a number is described too.
    """
    brain = RuleBrain()
    asked = ("task: describe-picture",) if number else ("task: describe-picture", "task: read-n")

    def reply(request):
        if request.messages[0].content.startswith(asked):
            return description(request)
        return brain(request.messages)

    return ScriptedChatModel(reply)


def open_scripted(tmp_path, description, *, number=True):
    return knotwork.open(
        tmp_path / "k.knot",
        embedding_model="none",
        chat_model=scripted(description, number=number),
        llm_tier="full",
        index_pictures="model",
        index_workers=0,
    )


@pytest.mark.parametrize("number", [True, False], ids=["with the number", "without"])
def test_without_an_answer_the_next_run_asks_again(tmp_path, folder, number):
    with open_scripted(tmp_path, lambda _: ModelUnavailable("It is away."), number=number) as base:
        report = base.index(folder)
        assert report.failures == ()
        said = "as the model did not answer: It is away. The next run asks again."
        assert any(note.endswith(said) for note in report.notes)
        assert "described" not in texts(base)["docs/plant.docx"]
    with open_scripted(tmp_path, lambda _: "Three parts in a row.") as base:
        assert base.index(folder).changed == 1
        assert "described by a model: Three parts" in texts(base)["docs/plant.docx"]


def test_an_unusable_reply_is_named_and_not_asked_for_again(tmp_path, folder):
    asked = []

    def empty(request):
        asked.append(request)
        return ""

    for _ in range(2):
        with open_scripted(tmp_path, empty) as base:
            report = base.index(folder)
    assert len(asked) == 1
    assert report.changed == 0
    with open_scripted(tmp_path, empty) as base:
        (folder / "plant.docx").write_bytes(word_file(make_diagram(WORDS), before="A second text."))
        (note,) = base.index(folder).notes
    assert note == "1 picture was not described. The first reason: The reply is empty."


def test_an_exhausted_budget_ends_the_run_and_a_larger_one_continues_it(tmp_path, folder, server):
    with open_base(tmp_path, server) as base:
        with pytest.raises(BudgetExceeded):
            base.index(folder, budget="600 tokens")
        base.index(folder)
        assert "described by a model" in texts(base)["docs/plant.docx"]


def test_the_estimate_counts_pictures_and_has_none_described(tmp_path, folder, server):
    with open_base(tmp_path, server) as base:
        found = base.estimate(folder)
        (stage,) = [stage for stage in found.run.stages if stage.stage == "describe"]
        assert (found.pictures, stage.calls, described(server)) == (1, 1, 0)
        base.index(folder)
        assert base.estimate(folder).pictures == 0


def test_batches_are_of_texts_with_their_descriptions(tmp_path, folder, server):
    with open_base(tmp_path, server) as base:
        report = base.index(folder, batch=True)
        assert report.failures == ()
        assert "described by a model" in texts(base)["docs/plant.docx"]
        assert described(server) == 1


def test_pictures_of_unsendable_files_are_described_too(tmp_path, folder, server):
    class LocalExtractor(RuleExtractor):
        """An extractor of a function, which pickle cannot find."""

    with open_base(tmp_path, server, extractor=LocalExtractor(), index_workers=1) as base:
        assert base.index(folder).failures == ()
        assert "described by a model" in texts(base)["docs/plant.docx"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"index_pictures": "all"}, UnknownName, "all"),
        ({"llm_model": "none", "llm_tier": "lean"}, ConfigError, "no language model is set"),
    ],
)
def test_settings_that_cannot_be_followed_are_refused(tmp_path, folder, options, error, message):
    wanted = {"index_pictures": "model", **options}
    with (
        knotwork.open(tmp_path / "k.knot", embedding_model="none", **wanted) as base,
        pytest.raises(error, match=message),
    ):
        base.index(folder)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (ChatReply(" A pump.\n\nIt feeds a tank. "), "A pump. It feeds a tank."),
        (ChatReply("NONE."), ""),
        (ChatReply("无"), ""),
        (ChatReply("A pump. It feeds a", "length"), "A pump."),
        (ChatReply("水泵向水箱供水。阀门在", "length"), "水泵向水箱供水。"),
        (ChatReply("A rate of 3.5 bar is", "length"), None),
        (ChatReply("", "filter"), None),
        (ChatReply("   "), None),
        (ChatReply("word " * 900), None),
    ],
)
def test_replies_are_read_to_their_last_whole_sentence(reply, text):
    if text is not None:
        assert read_description(reply) == text
    else:
        with pytest.raises(Unparsable):
            read_description(reply)
