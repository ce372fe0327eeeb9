"""The adapter for LangChain, in the real library."""

import asyncio

import pytest
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableLambda

from knotwork.adapters.langchain import KnotworkRetriever, build_ask_tool, build_search_tool
from knotwork.errors import ConfigError, QueryRefused, UnknownName

QUESTION = "Who approves trips abroad?"


def test_documents_are_the_hits_and_say_where_they_stand(kb, check_place):
    retriever = KnotworkRetriever(knowledge_base=kb, retriever="bm25", k=3)
    documents = retriever.invoke(QUESTION)
    hits = kb.search(QUESTION, retriever="bm25", k=3).hits
    assert [d.id for d in documents] == [hit.chunk.id for hit in hits]
    assert [d.metadata["score"] for d in documents] == [hit.score for hit in hits]
    for document in documents:
        check_place(document.page_content, document.metadata)


def test_it_is_a_runnable_like_any_other(kb):
    retriever = KnotworkRetriever(knowledge_base=kb, k=2)
    chain = retriever | RunnableLambda(lambda found: [d.metadata["document"] for d in found])
    alone = chain.invoke(QUESTION)
    assert alone[0] == "sample/en/travel-policy.docx"
    assert asyncio.run(chain.ainvoke(QUESTION)) == alone
    assert chain.batch([QUESTION] * 3) == [alone] * 3


def test_errors_match_the_knowledge_base(kb):
    with pytest.raises(UnknownName, match="bm25"):
        KnotworkRetriever(knowledge_base=kb, retriever="bm26").invoke(QUESTION)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        KnotworkRetriever(knowledge_base=kb, k=0)


def test_an_agent_finds_passages_with_their_documents(kb, check_place):
    tool = build_search_tool(kb, k=2)
    assert tool.args.keys() == {"query"}
    call = ToolCall(name=tool.name, args={"query": QUESTION}, id="1", type="tool_call")
    message = tool.invoke(call)
    assert isinstance(message, ToolMessage)
    assert "[sample/en/travel-policy.docx, Travel policy > Approval]" in message.content
    for document in message.artifact:
        check_place(document.page_content, document.metadata)


def test_an_agent_asks_and_keeps_the_citations(kb):
    tool = build_ask_tool(kb, retriever="bm25")
    assert tool.args.keys() == {"question"}
    call = ToolCall(name=tool.name, args={"question": QUESTION}, id="1", type="tool_call")
    message = tool.invoke(call)
    answer = kb.ask(QUESTION, retriever="bm25")
    assert message.content.startswith(answer.text)
    assert message.artifact.citations == answer.citations
    assert message.artifact.pieces == answer.pieces != ()
    for citation in answer.citations:
        assert f"[{citation.number}] {citation.document}" in message.content
    assert asyncio.run(tool.ainvoke(call)).content == message.content


def test_no_answer_is_reported_as_such(kb):
    question = "What is the price of tea in Lima?"
    answer = kb.ask(question)
    assert not answer.answered
    assert answer.reason in build_ask_tool(kb).invoke({"question": question})


def test_a_filter_holds_for_the_retriever_or_for_one_question(kb):
    retriever = KnotworkRetriever(knowledge_base=kb, k=30, filter={"path": "sample/en"})
    assert {d.metadata["document"].split("/")[1] for d in retriever.invoke(QUESTION)} == {"en"}
    other = retriever.invoke("出差需要谁批准？", filter="language = zh")
    assert {d.metadata["document"].split("/")[1] for d in other} == {"zh"}
    scored = retriever.invoke(QUESTION, min_score=0.3)
    assert all(d.metadata["score"] >= 0.3 for d in scored)
    tool = build_ask_tool(kb, filters="path = sample/zh")
    call = ToolCall(name=tool.name, args={"question": QUESTION}, id="1", type="tool_call")
    cited = tool.invoke(call).artifact.citations
    assert all(citation.document.startswith("sample/zh/") for citation in cited)


def test_the_rows_of_a_retrieval_query_are_the_last_document(kb, people):
    retriever = KnotworkRetriever(
        knowledge_base=kb, k=3, retrieval_query=people, query_params={"start": "T"}
    )
    *passages, rows = retriever.invoke(QUESTION)
    found = kb.search(QUESTION, k=3, retrieval_query=people, query_params={"start": "T"})
    assert [d.id for d in passages] == [hit.chunk.id for hit in found.hits]
    names = [name for (name,) in found.results[-1].rows]
    assert "Travel Office" in names
    assert rows.page_content.splitlines() == [f"name: {name}" for name in names]
    assert rows.metadata["source"] == "retrieval_query"
    assert (rows.metadata["columns"], rows.metadata["rows"]) == (["name"], [[n] for n in names])


def test_a_retrieval_query_may_be_given_for_one_question(kb, people):
    retriever = KnotworkRetriever(knowledge_base=kb, k=3)
    given = {"retrieval_query": people, "query_params": {"start": "Travel Off"}}
    assert retriever.invoke(QUESTION, **given)[-1].page_content == "name: Travel Office"
    without_rows = retriever.invoke(QUESTION, **{**given, "query_params": {"start": "Ж"}})
    assert without_rows == retriever.invoke(QUESTION)
    further = retriever.invoke(QUESTION, retrieval_query="MATCH (node)-[:NEXT]->(n) RETURN n")
    assert {d.id for d in further} > {d.id for d in retriever.invoke(QUESTION)}
    with pytest.raises(QueryRefused, match="DETACH"):
        retriever.invoke(QUESTION, retrieval_query="DETACH DELETE node")
    with pytest.raises(ConfigError, match="no retrieval query"):
        retriever.invoke(QUESTION, query_params={"start": "T"})


def test_tools_show_the_rows_of_a_retrieval_query(kb, people):
    given = {"retrieval_query": people, "query_params": {"start": "Travel Off"}}
    for tool, argument in [
        (build_search_tool(kb, k=3, **given), "query"),
        (build_ask_tool(kb, k=3, use_llm=False, **given), "question"),
    ]:
        assert tool.args.keys() == {argument}
        call = ToolCall(name=tool.name, args={argument: QUESTION}, id="1", type="tool_call")
        assert "name: Travel Office" in tool.invoke(call).content
