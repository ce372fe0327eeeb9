"""Descriptions of entities: merged while short, written up once, and again only for what is new."""

import random
import re
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.minimal_store import MinimalStore
from tests.transform.model.mutations import HARMFUL, HARMLESS

import knotwork
from knotwork._extensions.model_indexing import description_writer
from knotwork._extensions.model_indexing.description_writer import (
    DescriptionEntry,
    DescriptionWriter,
    describe_entities,
    parse_descriptions,
)
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.store_contract import sample_mention
from knotwork._indexing import entity_descriptions
from knotwork._indexing.entity_descriptions import MERGED_TOKENS, Describer, merge_descriptions
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.chat import ChatReply
from knotwork._text.token_counts import count_tokens
from knotwork.errors import BudgetExceeded, ModelError, ModelUnavailable
from knotwork.records import (
    EXTRACTIVE_SOURCE,
    ChunkReading,
    Description,
    Document,
    Homonym,
    ReadingStatus,
    entity_id,
)
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


BRAIN = RuleBrain()
FACTS = [
    "A harbour town that lives on herring, salt and old stories.",
    "Its council meets every Thursday below the lighthouse.",
    "Founded by Mara Quill after the great flood of 1702.",
    "Rebuilt twice, first in timber and then in granite.",
    "The northern railway ends two miles before its gates.",
    "Painters came each summer to its beaches until the war.",
    "A museum there keeps the bell of a sunken frigate.",
    "Twelve mills once ground barley along its only river.",
    "Fishermen elect their own judge for quarrels about nets.",
    "Snow closes the eastern pass from November until March.",
    "Its dialect has forty words for different winds.",
    "Smugglers dug the tunnels that tourists visit today.",
]
CHINESE = [
    "这座古城建于公元前三世纪，城墙至今保存完好。",
    "当地以丝绸和茶叶贸易闻名，商队从此出发前往西域。",
    "每年秋天举行盛大的灯会，吸引各地游客前来观赏。",
    "城中的大学拥有全国最早的天文台和植物园。",
    "一条运河穿城而过，连接南方的稻米产区与北方都城。",
    "博物馆收藏了大量青铜器和古代书法作品。",
    "战争期间许多工厂和学校迁到这里继续生产和教学。",
    "居民喜欢在清晨到湖边打太极拳和练习唱戏。",
]


def brain(request):
    return BRAIN(request.messages)


def writer(model=None, **options):
    return DescriptionWriter(
        model or ScriptedChatModel(brain), **{"concurrency": 1, "entries_a_call": 2, **options}
    )


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(entity_descriptions, "MERGED_TOKENS", 60)
    monkeypatch.setattr(description_writer, "MERGED_TOKENS", 60)


def refresh_descriptions(store, **options):
    return describe_entities(store, **options)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    path = "memory:" if request.param == "memory" else tmp_path / "a.knot"
    with knotwork.open(path, embedding_model="none") as base:
        base.index_documents([Document(f"{n:02}.txt", f"Plain text {n}.") for n in range(12)])
        yield base.store


def read_in(store, chunk, **texts):
    """Store a reading of a chunk by a model: a description for each name."""
    descriptions = [Description(chunk, name, text) for name, text in texts.items()]
    store.readings.put([ChunkReading(chunk, "m", ReadingStatus.OK)], descriptions)


def chunks_of(store):
    documents = store.documents.documents(store.documents.document_ids()).values()
    ordered = sorted(documents, key=lambda document: document.uri)
    return [
        ids[0]
        for ids in store.documents.chunk_ids_of([document.id for document in ordered]).values()
    ]


def fill(store, count=12, **facts):
    """Describe each name by the facts of its list, one a chunk."""
    for place, chunk in enumerate(chunks_of(store)[:count]):
        texts = {name: listed[place] for name, listed in facts.items() if place < len(listed)}
        read_in(store, chunk, **texts)


def summary_of(store, name):
    return store.readings.summaries([entity_id(name)]).get(entity_id(name))


def test_a_describer_reads_texts_again_that_changed_while_a_model_wrote_others(store, monkeypatch):
    monkeypatch.setattr(description_writer, "_SLICE", 1)
    fill(store, town=["A wet place."], moor=FACTS)
    assert store.readings.described()[0] == entity_id("town")  # it is read first

    def changing(request):
        read_in(store, chunks_of(store)[0], town="A drained place.")
        return brain(request)

    describer = Describer(store)
    model = writer(ScriptedChatModel(changing))
    assert refresh_descriptions(store, writer=model, describer=describer).summarised == 1
    assert describer.describe([entity_id("town")]) == {entity_id("town"): "A drained place."}


def test_short_descriptions_are_merged_without_a_model(store):
    fill(store, town=FACTS[:3])
    model = ScriptedChatModel([])
    changes = refresh_descriptions(store, writer=writer(model))
    assert (changes.merged, changes.summarised) == (1, 0)
    text = Describer(store).describe([entity_id("town")])[entity_id("town")]
    assert all(fact in text for fact in FACTS[:3])
    assert summary_of(store, "town") is None


def test_long_ones_are_written_up_several_a_call(store):
    fill(store, town=FACTS, village=FACTS[::-1], hamlet=FACTS[:2], city=CHINESE)
    model = ScriptedChatModel(brain)
    changes = refresh_descriptions(store, writer=writer(model))
    assert (changes.merged, changes.summarised, changes.stand_ins) == (1, 3, 0)
    assert [r.stage for r in model.requests] == ["summarize"] * 2
    found = Describer(store).describe(
        [entity_id(name) for name in ("city", "town", "ghost", "hamlet")]
    )
    assert list(found) == [entity_id("city"), entity_id("town"), entity_id("hamlet")]
    assert found[entity_id("town")] == summary_of(store, "town").text
    assert summary_of(store, "town").source == model.name
    for request in model.requests:
        system, user = (message.content for message in request.messages)
        assert system.startswith("task: summarise-descriptions\n")
        assert ("古城" in user) == ("编号" in system)
        assert count_tokens(system) <= 135
    assert re.search("[\u4e00-\u9fff]{8}", found[entity_id("city")])


def test_nothing_is_asked_where_little_is_new(store):
    fill(store, 6, town=FACTS, village=FACTS[::-1])
    model = ScriptedChatModel(brain)
    assert refresh_descriptions(store, writer=writer(model)).summarised == 2
    assert refresh_descriptions(store, writer=writer(model)).kept == 2
    later = chunks_of(store)[6:]
    read_in(store, later[0], town=FACTS[6], village="Fishermen elect a judge for quarrels")
    assert refresh_descriptions(store, writer=writer(model)).kept == 2
    assert len(model.requests) == 1
    for chunk, fact in zip(later[1:4], FACTS[7:], strict=False):
        read_in(store, chunk, town=fact)
    changes = refresh_descriptions(store, writer=writer(model))
    assert (changes.summarised, changes.kept) == (1, 1)
    assert "village" not in model.requests[-1].messages[-1].content
    assert len(model.requests) == 2


def test_deleted_statements_appear_in_no_text(store):
    fill(store, town=FACTS)
    refresh_descriptions(store, writer=writer())
    gone = next(fact for fact in FACTS if fact in summary_of(store, "town").text)
    chunk = chunks_of(store)[FACTS.index(gone)]
    store.remove_documents([store.documents.chunks([chunk])[chunk].document_id])
    assert gone not in Describer(store).describe([entity_id("town")])[entity_id("town")]
    model = ScriptedChatModel(brain)
    assert refresh_descriptions(store, writer=writer(model)).summarised == 1
    assert gone not in summary_of(store, "town").text
    assert summary_of(store, "town").source == model.name


def test_a_text_that_no_model_wrote_is_of_whole_lines(store):
    fill(store, town=FACTS)
    assert summary_of(store, "town") is None
    text = Describer(store).describe([entity_id("town")])[entity_id("town")]
    assert count_tokens(text) <= MERGED_TOKENS
    assert all(sentence in " ".join(FACTS) for sentence in text.split(". "))


def test_entities_that_are_one_share_a_text(store):
    fill(store, town=FACTS[:6], borough=FACTS[6:])
    town, borough, alias = map(entity_id, ("town", "borough", "alias"))
    groups = {town: alias, borough: alias, alias: alias}
    assert refresh_descriptions(store, writer=writer(), groups=groups).summarised == 1
    found = Describer(store, groups=groups).describe([town, borough, alias])
    assert len(set(found.values())) == 1
    assert found.keys() == {town, borough, alias}
    apart = Describer(store).describe([town, borough])
    assert apart[town] != apart[borough]
    assert refresh_descriptions(store, writer=writer(), groups=groups).kept == 1


@pytest.mark.parametrize("garbage", ["", "I cannot help.", "||||\n|", "1 | \n2 |", "好的好的"])
def test_merged_descriptions_stand_in_for_garbage(store, garbage):
    fill(store, town=FACTS)
    model = ScriptedChatModel(garbage)
    changes = refresh_descriptions(store, writer=writer(model))
    assert (changes.summarised, changes.stand_ins) == (0, 1)
    assert changes.complaints
    assert len(model.requests) == 2
    text = Describer(store).describe([entity_id("town")])[entity_id("town")]
    assert FACTS[0] in text or FACTS[1] in text
    assert summary_of(store, "town").source == EXTRACTIVE_SOURCE
    assert refresh_descriptions(store, writer=writer(model)).kept == 1
    assert len(model.requests) == 2
    assert refresh_descriptions(store, writer=writer(retry=True)).summarised == 1


def test_items_missing_in_a_reply_are_requested_once_more_alone(store):
    fill(store, town=FACTS, village=FACTS[::-1])

    def half(request):
        if "Your last reply" in request.messages[-1].content:
            return brain(request)
        return brain(request).split("\n")[0]

    model = ScriptedChatModel(half)
    changes = refresh_descriptions(store, writer=writer(model))
    assert (changes.summarised, changes.stand_ins, len(model.requests)) == (2, 0, 2)
    assert "# 2" not in model.requests[1].messages[-1].content


@pytest.mark.parametrize(
    "error", [BudgetExceeded("Enough."), ModelError("The key is refused.", status=401)]
)
def test_finished_work_is_kept(store, error):
    fill(store, town=FACTS, village=FACTS[::-1])
    model = ScriptedChatModel(brain, errors={2: error})
    with pytest.raises(type(error)):
        refresh_descriptions(store, writer=writer(model, entries_a_call=1))
    assert len([n for n in ("town", "village") if summary_of(store, n)]) == 1
    changes = refresh_descriptions(store, writer=writer(model, entries_a_call=1))
    assert (changes.summarised, changes.kept, len(model.requests)) == (1, 1, 3)


def test_an_entity_that_no_server_answered_for_is_asked_about_again(store):
    fill(store, town=FACTS, village=FACTS[::-1])
    model = ScriptedChatModel(brain, errors={1: ModelUnavailable("No server.")})
    changes = refresh_descriptions(store, writer=writer(model, entries_a_call=1))
    assert (changes.summarised, changes.stand_ins, changes.unanswered) == (1, 0, 1)
    assert len([n for n in ("town", "village") if summary_of(store, n)]) == 1
    assert len(Describer(store).describe([entity_id("town"), entity_id("village")])) == 2
    changes = refresh_descriptions(store, writer=writer(model, entries_a_call=1))
    assert (changes.summarised, changes.kept, changes.unanswered) == (1, 1, 0)


def test_a_server_that_is_gone_ends_the_run(store):
    fill(store, town=FACTS, village=FACTS[::-1], harbour=FACTS[3:] + FACTS[:3])
    gone = ScriptedChatModel(lambda _: ModelUnavailable("No server."))
    with pytest.raises(ModelUnavailable, match="2 requests in a row: No server"):
        refresh_descriptions(store, writer=writer(gone, entries_a_call=1, patience=2))
    assert store.readings.summaries(store.readings.described()) == {}
    assert refresh_descriptions(store, writer=writer()).summarised == 3


def test_a_server_that_fails_at_times_loses_nothing(store, tmp_path):
    from knotwork._config import LlmSettings
    from knotwork._inference.call_limits import RetryPolicy
    from knotwork._inference.model_registry import ChatModels

    names = {f"town{n}": FACTS[n:] + FACTS[:n] for n in range(6)}
    fill(store, **names)
    plan = FaultPlan(rates={Fault.RATE_LIMITED: 0.3, Fault.GARBAGE: 0.2, Fault.TRUNCATED: 0.2})
    with ModelTestServer(faults=plan) as server, closing(CallCache(tmp_path / "c")) as cache:
        settings = LlmSettings(model="openai:test", base_url=server.url)
        model = ChatModels(settings, retries=RetryPolicy(sleep=lambda _: None)).open("summarize")
        cached = CachedChatModel(model, cache)
        changes = refresh_descriptions(store, writer=writer(cached, concurrency=3))
        assert changes.summarised + changes.stand_ins == 6
        assert refresh_descriptions(store, writer=writer(cached)).kept == 6
    facts = " ".join(FACTS)
    for text in Describer(store).describe([entity_id(name) for name in names]).values():
        assert all(part.strip(". ") in facts for part in text.split(". "))


def test_a_store_without_readings_has_nothing_to_describe():
    store = MinimalStore()
    assert refresh_descriptions(store, writer=writer()).merged == 0
    assert Describer(store).describe(["a"]) == {}


def test_lines_that_repeat_others_are_left_out():
    lines = [
        "The council meets on Thursday below the lighthouse.",
        "The council meets below the lighthouse",
        "A harbour town.",
        "A harbour town.  ",
        "",
    ]
    assert merge_descriptions(lines) == [lines[0], lines[2]]


@given(st.lists(st.sampled_from([*FACTS, *CHINESE]), max_size=12), st.randoms())
def test_merging_knows_no_order(lines, shuffle):
    merged = merge_descriptions(lines)
    shuffle.shuffle(lines)
    assert merge_descriptions(lines) == merged
    assert set(merged) <= set(lines)
    assert merge_descriptions(merged) == merged


ENTRIES = [
    DescriptionEntry("a", "Town", tuple(FACTS)),
    DescriptionEntry("b", "古城", tuple(CHINESE)),
]
REPLY = [f"1 | {FACTS[0]} {FACTS[2]}", f"2 | {CHINESE[0]}"]


def read(text, entries=ENTRIES, **reply):
    return parse_descriptions(ChatReply(text, **reply), entries)


@pytest.mark.parametrize(
    "reply",
    [
        "\n".join(REPLY),
        "\n".join(reversed(REPLY)),
        "```\n" + "\n\n".join(REPLY) + "\n```",
        "\n".join(line.replace(" | ", ". ") for line in REPLY),
        "\n".join(line.replace(" | ", "：") for line in REPLY),
        "\n".join(f"# {line}" for line in REPLY),
        "\n".join(f"**{line[0]}**{line[1:]}" for line in REPLY),
        REPLY[0].replace("1 |", "1 | Town |") + "\n" + REPLY[1].replace("2 |", "古城 |"),
    ],
)
def test_summaries_are_read_as_models_write_them(reply):
    reading = read(reply)
    assert dict(reading.found) == {0: f"{FACTS[0]} {FACTS[2]}", 1: CHINESE[0]}
    assert reading.complaints == ()


def test_one_entry_needs_no_number():
    assert dict(read(f"{FACTS[0]}\n{FACTS[1]}", ENTRIES[:1]).found) == {0: f"{FACTS[0]} {FACTS[1]}"}


def test_cut_off_and_overlong_replies_are_not_used():
    reading = read("\n".join(REPLY)[:-5], finish_reason="length")
    assert list(reading.found) == [0]
    assert [c.reason for c in reading.complaints] == ["it was cut off"]
    assert read("1 | " + " ".join(FACTS) * 5).found == {}
    assert read("1 | " + "herring | " * 3).found == {}


@given(st.integers(0, 10**6))
def test_summaries_with_facts_of_models_cost_nothing(seed):
    chance = random.Random(seed)
    harmless = [f for f in HARMLESS if not f("1 | x").startswith("12. ")]
    reading = read("\n".join(chance.choice(harmless)(line) for line in REPLY))
    assert reading.found == read("\n".join(REPLY)).found


@given(st.integers(0, 10**6), st.text(max_size=80), st.sampled_from(["stop", "length"]))
def test_reading_summaries_never_fails(seed, text, finish_reason):
    chance = random.Random(seed)
    lines = [chance.choice(HARMFUL)(line, chance) for line in REPLY * 2] + [text]
    chance.shuffle(lines)
    reading = read("\n".join(lines), finish_reason=finish_reason)
    assert set(reading.found) <= {0, 1}
    assert all(reading.found.values())


def test_a_long_line_of_a_summary_is_read_in_no_time():
    for text in (" " * 30_000 + "x", "| a" * 30_000, "1 " * 30_000, "(" * 30_000):
        assert read(f"1{text}\n{REPLY[1]}").found[1] == CHINESE[0]


def test_an_ambiguous_name_is_described_under_numbers_without_a_model(store):
    fill(store, 8, town=FACTS[:8])
    chunks = chunks_of(store)
    store.graph.upsert(mentions=[sample_mention(chunk, "town") for chunk in chunks])
    homonym = Homonym(entity_id("town"), (tuple(chunks[:4]), tuple(chunks[4:8])), "why")
    store.homonyms.replace([homonym])
    model = ScriptedChatModel([])
    done = refresh_descriptions(store, writer=writer(model))
    assert (done.merged, done.summarised, model.requests) == (1, 0, [])
    text = Describer(store).describe([entity_id("town")])[entity_id("town")]
    first, second = text.removeprefix("(1) ").split(" (2) ")
    assert {fact for fact in FACTS if fact in first} <= set(FACTS[:4])
    assert {fact for fact in FACTS if fact in second} <= set(FACTS[4:8])
    assert first
    assert second
    store.homonyms.replace([])
    assert refresh_descriptions(store, writer=writer()).summarised == 1
