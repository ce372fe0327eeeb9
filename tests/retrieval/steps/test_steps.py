"""What steps change of a question and of its evidence."""

import numpy as np
import pytest
from tests.retrieval.small_index import build_index

from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._retrieval.retriever_registry import STEPS, build_retriever
from knotwork._retrieval.steps.postprocessing import Rerank, similarities
from knotwork._retrieval.steps.query_transformation import without_politeness
from knotwork._stores.urls import open_store
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelUnavailable, RetrievalError, UnknownName
from knotwork.records import Query

pytestmark = pytest.mark.slow


NESTED = "Where did the director of Silver Lantern grow up?"


def ask(index, embedder, text, question=NESTED, *, k=4, model=None):
    retriever = build_retriever(text, store=index, embedder=embedder, model=model)
    return retriever.retrieve(Query(question, k=k))


def titles(evidence):
    return [hit.chunk.document_title for hit in evidence.hits]


@pytest.mark.parametrize("name", STEPS.names(plugins=False))
@pytest.mark.parametrize("question", ["", "???", "的", "xyzzy plugh", "a" * 3_000, NESTED])
def test_every_step_takes_every_question(index, embedder, name, question):
    text = f"{name} > graph" if STEPS.load(name).precedes else f"graph > {name}"
    evidence = ask(index, embedder, text, question, k=3)
    assert len(evidence.hits) <= 3
    assert evidence.query == Query(question, k=3)
    scores = [hit.score for hit in evidence.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(hit.scores for hit in evidence.hits)
    assert evidence == ask(index, embedder, text, question, k=3)


@pytest.mark.parametrize("name", STEPS.names(plugins=False))
def test_every_step_works_without_vectors_or_text(index, embedder, name):
    text = f"{name} > bm25" if STEPS.load(name).precedes else f"bm25 > {name}"
    assert titles(ask(index, None, text, "silver birch bark"))[0] == "Silver Birch"
    empty = build_index(open_store("memory:", create=True), embedder, passages={})
    assert ask(empty, None, text).hits == ()


def test_parts_are_filled_with_what_the_part_before_found(index, embedder):
    plain = ask(index, embedder, "bm25", k=10)
    evidence = ask(index, embedder, "decompose > bm25", k=10)
    assert any("the director of Silver Lantern" in line for line in evidence.trace)
    assert any("Where did Marta Ilves grow up" in line for line in evidence.trace)
    assert not any("1954" in line for line in evidence.trace)
    assert "Marta Ilves" not in titles(plain)
    assert titles(evidence)[0] == "Silver Lantern"
    found = next(h for h in evidence.hits if h.chunk.document_title == "Marta Ilves")
    assert found.scores["parts"] > 0


def test_both_sides_of_a_comparison_are_asked(index, embedder):
    question = "Which film came out first, Silver Lantern or Copper Kettle?"
    evidence = ask(index, embedder, "decompose > bm25", question)
    assert set(titles(evidence)[:2]) == {"Silver Lantern", "Copper Kettle"}
    assert len(evidence.trace) == 2


def test_a_simple_question_is_answered_as_without_the_step(index, embedder):
    question = "What kind of tree is the silver birch?"
    plain = ask(index, embedder, "graph", question)
    stepped = ask(index, embedder, "decompose > graph", question)
    assert (stepped.hits, stepped.confidence) == (plain.hits, plain.confidence)
    assert stepped.trace == ()


def test_a_model_may_take_the_question_apart(index, embedder):
    model = ScriptedChatModel(["Who directed Silver Lantern?\nWhere did {} grow up?"])
    evidence = ask(index, embedder, "decompose(by=model) > bm25", model=model)
    assert any("Where did Marta Ilves grow up" in line for line in evidence.trace)


@pytest.mark.parametrize("name", ["decompose", "expand", "hyde", "rewrite"])
def test_a_model_that_fails_costs_the_step_alone(index, embedder, name):
    model = ScriptedChatModel(["x"], errors={1: ModelUnavailable("The server is away.")})
    evidence = ask(index, embedder, f"{name}(by=model) > bm25", model=model)
    assert evidence.hits == ask(index, embedder, "bm25").hits
    assert any("The server is away." in note for note in evidence.notes)


@pytest.mark.parametrize("name", ["decompose", "expand", "hyde", "rewrite"])
@pytest.mark.parametrize("question", [NESTED, "《长江》的发源地在哪里？"])
def test_the_prompts_can_be_answered_by_rules(index, embedder, name, question):
    brain = RuleBrain()
    model = ScriptedChatModel(lambda request: brain(request.messages))
    evidence = ask(index, embedder, f"{name}(by=model) > bm25", question, model=model)
    assert evidence.hits
    assert not evidence.notes
    assert len(model.requests) == 1


def test_expansion_finds_what_shares_no_word_with_the_question(index, embedder):
    plain = ask(index, None, "bm25", "Which town lies on the Emajogi river?", k=9)
    more = ask(index, None, "expand(weight=1) > bm25", "Which town lies on the Emajogi river?", k=9)
    assert set(titles(plain)) < set(titles(more))
    assert any(line.startswith("Also searched for:") for line in more.trace)


def test_the_graph_gives_other_words(index, embedder):
    evidence = ask(index, None, "expand(by=graph, weight=1) > bm25", "What is Silver Lantern?")
    assert "Marta Ilves" in titles(evidence)
    assert any("Marta Ilves" in line for line in evidence.trace)


def test_the_sentences_of_the_index_stand_for_an_imagined_passage(index, embedder):
    evidence = ask(index, embedder, "hyde > bm25")
    (line,) = evidence.trace
    assert line.startswith("Also searched for: the director of Silver Lantern grow up")
    assert "directed by Marta Ilves" in line


@pytest.mark.parametrize(
    ("asked", "bare"),
    [
        ("Could you please tell me who directed Silver Lantern?", "who directed Silver Lantern?"),
        ("Hi, I'd like to know where Tartu is. Thanks!", "where Tartu is"),
        ("请问，长江有多长？", "长江有多长？"),
        ("Tell me", "Tell me"),
        ("Who directed Silver Lantern?", "Who directed Silver Lantern?"),
    ],
)
def test_politeness_is_left_out(asked, bare):
    assert without_politeness(asked) == bare


def test_a_misspelt_word_is_corrected_from_the_index(index, embedder):
    evidence = ask(index, None, "rewrite > bm25", "Whose film was direcetd in 1961?")
    assert evidence.trace == ("Asked as: Whose film was directed in 1961?",)
    assert titles(evidence)[0] == "Copper Kettle"
    known = ask(index, None, "rewrite > bm25", "Whose film was directed in 1961?")
    assert known.trace == ()


def test_diversity_moves_copies_back(embedder):
    passages = {
        "One": "The old harbour of Aldry has a lamp.",
        "Copy": "The old harbour of Aldry has a lamp.",
        "Other": "A lamp burns on the southern pier of Aldry.",
    }
    store = build_index(open_store("memory:", create=True), embedder, passages)
    plain = ask(store, embedder, "bm25", "old harbour lamp of Aldry", k=3)
    assert set(titles(plain)[:2]) == {"One", "Copy"}
    varied = ask(
        store, embedder, "bm25 > diversify(strength=0.9)", "old harbour lamp of Aldry", k=3
    )
    assert titles(varied)[1] == "Other"
    assert varied.hits[2].scores["repeats"] < 0
    same = ask(store, embedder, "bm25 > diversify(strength=0)", "old harbour lamp of Aldry", k=3)
    assert [h.chunk.id for h in same.hits] == [h.chunk.id for h in plain.hits]


def test_similarity_is_symmetric_and_1_with_itself(index, embedder):
    hits = ask(index, embedder, "hybrid", k=6).hits
    alike = similarities(hits, index)
    assert np.allclose(alike, alike.T)
    assert np.allclose(np.diag(alike), 1, atol=1e-3)
    assert ((alike >= 0) & (alike <= 1)).all()


def test_without_vectors_similarity_is_the_share_of_common_words():
    store = build_index(open_store("memory:", create=True), None)
    hits = ask(store, None, "bm25", "Silver Lantern film river 长江", k=9).hits
    words = [set(content_terms(hit.chunk.text)) for hit in hits]
    assert len(hits) > 3
    expected = [[len(one & other) / len(one | other) for other in words] for one in words]
    assert np.allclose(similarities(hits, store), expected)


def test_pruning_keeps_what_is_near_the_best(index, embedder):
    plain = ask(index, embedder, "graph", k=9)
    kept = ask(index, embedder, "graph > prune(share=0.5)", k=9)
    best = plain.hits[0].score
    assert [h.chunk.id for h in kept.hits] == [
        h.chunk.id for h in plain.hits if h.score >= 0.5 * best
    ]
    assert len(kept.hits) < len(plain.hits)


def test_a_budget_holds(index, embedder):
    evidence = ask(index, embedder, "graph > budget(tokens=45)", k=9)
    assert 0 < sum(count_tokens(hit.chunk.text) for hit in evidence.hits) <= 45


class ReverseReranker:
    """Prefers what comes later."""

    name = "reverse"

    def score(self, question, texts):
        return [float(place) for place in range(len(texts))]


def test_a_reranker_decides_within_its_depth(index, embedder):
    base = build_retriever("bm25", store=index, embedder=embedder)
    plain = base.retrieve(Query("silver lantern film", k=4))
    step = Rerank(
        store=index,
        base=base,
        reranker=ReverseReranker(),
        options=Rerank.Options(depth=2, weight=1.0),
    )
    moved = step.retrieve(Query("silver lantern film", k=4))
    first, second, *rest = titles(plain)
    assert titles(moved) == [second, first, *rest]
    scores = [hit.score for hit in moved.hits]
    assert scores == sorted(scores, reverse=True)


def test_the_encoder_of_the_settings_is_asked_where_there_is_one(index, embedder):
    def ask_with(text, reranker):
        parts = {"store": index, "embedder": embedder, "reranker": reranker}
        return build_retriever(text, **parts).retrieve(Query("silver lantern film", k=4))

    plain = titles(ask_with("bm25", None))
    turned = [*plain[1::-1], *plain[2:]]
    reverse = ReverseReranker()
    assert titles(ask_with("bm25 > rerank(depth=2, weight=1.0)", reverse)) == turned
    assert titles(ask_with("bm25 > rerank(by=encoder, depth=2, weight=1.0)", reverse)) == turned
    by_features = ask_with("bm25 > rerank(by=features)", None)
    assert ask_with("bm25 > rerank(by=features)", reverse).hits == by_features.hits
    assert ask_with("bm25 > rerank", None).hits == by_features.hits
    with pytest.raises(RetrievalError, match="none is configured") as raised:
        ask_with("bm25 > rerank(by=encoder)", None)
    assert "rerank.model" in raised.value.fix


class SilentReranker:
    """Behind a server that is down."""

    name = "silent"

    def score(self, question, texts):
        raise ModelUnavailable("No connection.")


def test_without_a_reply_of_the_encoder_the_order_stays_with_a_note(index, embedder):
    base = build_retriever("bm25", store=index, embedder=embedder)
    query = Query("silver lantern film", k=4)
    kept = Rerank(store=index, base=base, reranker=SilentReranker()).retrieve(query)
    assert kept.hits == base.retrieve(query).hits
    assert kept.notes == ("Reranking failed and was left out: No connection.",)


def test_a_model_rates_passages_in_one_call(index, embedder):
    model = ScriptedChatModel(["1 | 0\n2 | 5\n3 | 1"])
    plain = ask(index, embedder, "bm25", "silver lantern film")
    text = "bm25 > rerank(by=model, depth=3, weight=1.0)"
    moved = ask(index, embedder, text, "silver lantern film", model=model)
    assert titles(moved)[0] == titles(plain)[1]
    assert len(model.requests) == 1
    silent = ScriptedChatModel(["I cannot say."])
    kept = ask(index, embedder, text, "silver lantern film", model=silent)
    assert kept.hits == plain.hits
    assert kept.notes


def test_an_unknown_way_is_reported(index, embedder):
    with pytest.raises(UnknownName, match="feedback"):
        ask(index, embedder, "expand(by=magic) > bm25")
