"""Agents search step by step within their budgets, and record every step."""

import pytest
from tests.retrieval.small_index import build_index

import knotwork
from knotwork._extensions.agents.agent import (
    AGENTS,
    MOST_UNUSABLE,
    NO_LONGER_ASKED,
    EvidenceVerdict,
    StepFinding,
    build_agent,
    follow_up,
    judge_evidence,
    keep_names,
    make_tools,
    merge_findings,
    split_comparison,
)
from knotwork._extensions.testing.brains.rule_brain import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._stores.urls import open_store
from knotwork.errors import ModelUnavailable, RetrievalError, UnknownName
from knotwork.records import Document, Query

QUESTION = "Where did the director of Silver Lantern grow up?"


@pytest.fixture(scope="module")
def embedder():
    return HashingEmbedder()


@pytest.fixture(scope="module")
def index(embedder):
    return build_index(open_store("memory:", create=True), embedder)


def titles(evidence):
    return [hit.chunk.document_title for hit in evidence.hits]


@pytest.mark.parametrize("kind", sorted(AGENTS))
@pytest.mark.parametrize("question", [QUESTION, "", "???", "长江发源于哪里？", "xyzzy plugh"])
def test_every_agent_answers_within_its_steps(index, embedder, kind, question):
    agent = build_agent(kind, store=index, embedder=embedder, steps=3)
    evidence = agent.retrieve(Query(question, k=4))
    assert len(evidence.hits) <= 4
    scores = [hit.score for hit in evidence.hits]
    assert scores == sorted(scores, reverse=True)
    assert evidence.trace[-1].startswith("Took ")
    assert sum(line[:1].isdigit() for line in evidence.trace) <= 3
    assert evidence == agent.retrieve(Query(question, k=4))


def test_a_bridge_is_followed_by_words_alone(index):
    agent = build_agent("iterative", store=index, tools=["bm25"])
    plain = make_tools(["bm25"], store=index)["bm25"].retrieve(Query(QUESTION, 3))
    evidence = agent.retrieve(Query(QUESTION, k=3))
    assert "Marta Ilves" in titles(evidence)
    assert set(titles(evidence)) >= {titles(plain)[0]}
    assert any("Marta Ilves" in line for line in evidence.trace)


def test_the_rest_of_a_question_is_asked_about_each_entity_found(index, embedder):
    graph = make_tools(["graph"], store=index, embedder=embedder)["graph"]
    evidence = graph.retrieve(Query(QUESTION, 5))
    follows = follow_up(evidence, index, most=4)
    assert any(f.text.endswith("Marta Ilves") and "grow" in f.text for f in follows)
    assert all(0.0 <= f.worth <= 1.0 for f in follows)


def test_a_comparison_has_two_sides():
    parts = split_comparison("Which film is older, Silver Lantern or Copper Kettle?")
    assert len(parts) == 2
    assert "Copper Kettle" not in parts[0]
    assert "Silver Lantern" not in parts[1]
    assert split_comparison("Where is Tartu?") == ()


def test_rewriting_keeps_what_something_speaks_of():
    assert keep_names("What is the capital of Estonia?", ["capit"]) == ""
    kept = keep_names("Which river flows through Tartu quickly?", ["quick"])
    assert "Tartu" in kept
    assert "quickly" not in kept


def test_evidence_is_judged_by_confidence_and_coverage(index, embedder):
    tool = make_tools(["graph"], store=index, embedder=embedder)["graph"]
    good = judge_evidence(tool.retrieve(Query("Where did Marta Ilves grow up?", 5)), index)
    poor = judge_evidence(tool.retrieve(Query("zebra quantum volcano pricing", 5)), index)
    assert good.coverage > poor.coverage
    assert poor.verdict is EvidenceVerdict.POOR
    assert poor.missing


def test_a_corrective_agent_looks_elsewhere_and_may_abstain(index, embedder):
    agent = build_agent("corrective", store=index, embedder=embedder, tools=["graph", "hybrid"])
    evidence = agent.retrieve(Query("How many zebras does the quantum volcano sell?"))
    first = make_tools(["graph"], store=index, embedder=embedder)["graph"]
    plain = first.retrieve(Query(evidence.query.text, 10))
    assert evidence.confidence == plain.confidence
    assert any("poor" in note for note in evidence.notes)
    assert sum(line[:1].isdigit() for line in evidence.trace) > 1


def stated(index):
    """Return an edge of the index with a relation, and the names of its ends."""
    edges = [e for e in index.graph.edges(types=["RELATES"]) if e.relation not in NOTHING_SAID]
    entities = index.graph.entities({end for e in edges for end in (e.source, e.target)})
    edge = next(e for e in edges if entities[e.source].name == "Olev Raud")
    return edge, entities[edge.source].name, entities[edge.target].name


NOTHING_SAID = ("co-occurs with", "is", "also known as")


def test_reasoning_shows_a_path_that_the_graph_has(index, embedder):
    edge, source, target = stated(index)
    agent = build_agent("reasoning", store=index, embedder=embedder)
    evidence = agent.retrieve(Query(f"{source} {edge.relation} what?"))
    assert target in {hop.target_name for path in evidence.paths for hop in path.hops}
    for path in evidence.paths:
        for hop in path.hops:
            edges = index.graph.neighbours([hop.source], types=["RELATES"])[hop.source]
            assert any(
                {e.source, e.target} == {hop.source, hop.target}
                and e.relation == hop.relation
                and hop.chunk_id in e.chunks
                for e in edges
            )


def test_relations_missing_in_the_graph_give_no_path(index, embedder):
    agent = build_agent("reasoning", store=index, embedder=embedder)
    evidence = agent.retrieve(Query("Who directed Silver Birch?"))
    assert evidence.paths == ()
    assert evidence.hits


def test_a_model_plans_relations_and_wrong_ones_count_nothing(index, embedder):
    edge, source, target = stated(index)
    question = Query(f"What is there about {source}?")
    replies = {f"path | {source} | {edge.relation}": True, f"path | {source} | nowhere": False}
    for reply, is_planned in {**replies, "none": False}.items():
        model = ScriptedChatModel(reply)
        agent = build_agent("reasoning", store=index, embedder=embedder, model=model)
        evidence = agent.retrieve(question)
        assert any("by the model" in line for line in evidence.trace) is is_planned
        if is_planned:
            assert target in {path.hops[-1].target_name for path in evidence.paths}


def test_a_model_chooses_steps_within_steps_and_tokens(index, embedder):
    replies = ["search | bm25 | Marta Ilves childhood", "finish"]
    model = ScriptedChatModel(replies)
    agent = build_agent("iterative", store=index, embedder=embedder, model=model)
    evidence = agent.retrieve(Query(QUESTION))
    assert any("bm25: Marta Ilves childhood" in line for line in evidence.trace)
    assert "Marta Ilves" in titles(evidence)[:2]
    assert "tokens" in evidence.trace[-1]
    told = model.requests[1].messages[-1].content
    assert "# Marta Ilves childhood" in told
    silent = ScriptedChatModel([])
    agent = build_agent("iterative", store=index, embedder=embedder, model=silent, tokens=10)
    assert any("token budget" in note for note in agent.retrieve(Query(QUESTION)).notes)
    assert silent.requests == []


@pytest.mark.parametrize("reply", ["", "search | nothing | x", "I would look in the library."])
def test_rules_go_on_where_a_model_says_nothing_of_use(index, embedder, reply):
    model = ScriptedChatModel(reply)
    agent = build_agent("iterative", store=index, embedder=embedder, model=model)
    evidence = agent.retrieve(Query(QUESTION))
    assert any("chose no step" in note for note in evidence.notes)
    assert "Marta Ilves" in titles(evidence)[:2]


def test_a_model_that_is_gone_is_noted(index):
    model = ScriptedChatModel("finish", errors={1: ModelUnavailable("gone")})
    agent = build_agent("iterative", store=index, model=model)
    assert any("gone" in note for note in agent.retrieve(Query(QUESTION)).notes)


def test_the_rule_brain_plans(index, embedder):
    brain = RuleBrain()
    model = ScriptedChatModel(lambda request: brain(request.messages))
    for kind in sorted(AGENTS):
        agent = build_agent(kind, store=index, embedder=embedder, model=model)
        evidence = agent.retrieve(Query(QUESTION))
        assert not any("failed" in note for note in evidence.notes)


def test_merging_keeps_the_best_score_and_says_which_step_raised_it(index, embedder):
    tools = make_tools(["hybrid"], store=index, embedder=embedder)
    main = tools["hybrid"].retrieve(Query(QUESTION, 3))
    more = tools["hybrid"].retrieve(Query("Marta Ilves grew up in Tartu", 3))
    findings = [StepFinding("hybrid", QUESTION, main), StepFinding("hybrid", "x", more, 1.0)]
    hits = merge_findings(findings, question_evidence=main, k=10)
    assert {h.chunk.id for h in hits} == {h.chunk.id for e in (main, more) for h in e.hits}
    assert any("step 2" in hit.scores for hit in hits)
    for hit in hits:
        own = next((h.score for h in main.hits if h.chunk.id == hit.chunk.id), 0.0)
        assert hit.score >= own


def test_wrong_names_are_reported(index):
    with pytest.raises(UnknownName, match="`corrective`"):
        build_agent("clever", store=index)
    with pytest.raises(RetrievalError):
        make_tools([], store=index)


def iterate_with(model, index, embedder):
    agent = build_agent("iterative", store=index, embedder=embedder, model=model)
    return agent.retrieve(Query(QUESTION))


def test_a_model_whose_replies_are_useless_is_asked_twice(index, embedder):
    model = ScriptedChatModel("Bridges are nice.")
    evidence = iterate_with(model, index, embedder)
    assert len(model.requests) == MOST_UNUSABLE
    assert NO_LONGER_ASKED in evidence.notes
    assert evidence.hits


def test_a_search_is_made_once_and_a_passage_shown_once(index, embedder):
    model = ScriptedChatModel("search | graph | Who designed the arched bridge?")
    evidence = iterate_with(model, index, embedder)
    searches = [line.partition("(")[0][3:] for line in evidence.trace if line[:1].isdigit()]
    assert len(searches) == len(set(searches))
    shown = model.requests[-1].messages[-1].content.partition("\n# ")[2].splitlines()
    passages = [line for line in shown if ": " in line]
    assert len(passages) == len(set(passages))


def test_a_plan_that_lacks_a_hop_is_followed_with_a_detour_that_the_trace_names(index, embedder):
    edge, director, birthplace = stated(index)
    model = ScriptedChatModel(f"path | Copper Kettle | {edge.relation}")
    agent = build_agent("reasoning", store=index, embedder=embedder, model=model)
    evidence = agent.retrieve(Query("What is there about Copper Kettle?"))
    best = evidence.paths[0]
    assert [hop.target_name for hop in best.hops] == [director, birthplace]
    assert any(f"with a detour: {best.hops[0].relation} -> " in line for line in evidence.trace)
    direct = ScriptedChatModel(f"path | Copper Kettle | {best.hops[0].relation} | {edge.relation}")
    agent = build_agent("reasoning", store=index, embedder=embedder, model=direct)
    planned = agent.retrieve(Query("What is there about Copper Kettle?"))
    assert not any("detour" in line for line in planned.trace)
    assert planned.paths[0].score > best.score


def revise_with(model, index, embedder, **options):
    agent = build_agent("revising", store=index, embedder=embedder, model=model, **options)
    return agent.retrieve(Query(QUESTION))


def test_a_draft_is_searched_step_by_step_and_revised_by_what_was_found(index, embedder):
    drafts = [
        "step | Silver Lantern was directed by Anna Ilves.\nstep | Anna Ilves grew up in Tallinn.",
        "step | Marta Ilves grew up in Tallinn.",
        "finish",
    ]
    model = ScriptedChatModel(drafts)
    evidence = revise_with(model, index, embedder)
    searches = [line for line in evidence.trace if line[:1].isdigit()]
    assert [line.partition(": ")[2].partition(" (")[0] for line in searches] == [
        QUESTION,
        "Silver Lantern was directed by Anna Ilves.",
        "Marta Ilves grew up in Tallinn.",
    ]
    assert "Marta Ilves" in titles(evidence)[:2]
    seen = model.requests[1].messages[-1].content
    assert "Anna Ilves grew up in Tallinn." in seen
    assert "directed by Marta Ilves" in seen


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "She grew up in Tartu.",
        "step |",
        f"step | {QUESTION}",
        "step | a\n" * 2_000 + "x" * 90_000,
    ],
    ids=["empty", "no form", "no step", "a step again", "endless"],
)
def test_rules_go_on_where_a_draft_is_useless(index, embedder, reply):
    model = ScriptedChatModel(reply)
    evidence = revise_with(model, index, embedder)
    assert len(model.requests) <= 4
    assert "Marta Ilves" in titles(evidence)


def test_a_draft_is_within_its_tokens_and_needs_no_model(index, embedder):
    silent = ScriptedChatModel([])
    evidence = revise_with(silent, index, embedder, tokens=10)
    assert any("token budget" in note for note in evidence.notes)
    assert silent.requests == []
    assert "Marta Ilves" in titles(revise_with(None, index, embedder))


@pytest.mark.parametrize(
    "question",
    [
        "Where was the founder of Lantern Works born?",
        "In which town was the one born who founded Lantern Works?",
    ],
)
def test_rules_follow_relations_in_the_order_that_the_graph_has(question):
    texts = ("Lantern Works was founded by Marta Ilves.", "Marta Ilves was born in Tartu.")
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index_documents([Document(f"{n}.md", text) for n, text in enumerate(texts)])
        (path, *_) = build_agent("reasoning", store=kb.store).retrieve(Query(question)).paths
    assert [hop.relation for hop in path.hops] == ["founded by", "born in"]
    assert path.hops[-1].target_name == "Tartu"
