"""Documents and reports as resources: their list, their texts, and what is refused."""

import asyncio
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

import knotwork
from knotwork._extensions.mcp.results import document_resource_uri
from knotwork.mcp_server import build_server
from knotwork.records import Span

pytestmark = pytest.mark.slow


def read(path, *uris):
    async def run():
        async with (
            knotwork.open_async(path, read_only=True) as kb,
            Client(build_server(kb)) as client,
        ):
            listed = (await client.list_resources()).resources
            return listed, [(await client.read_resource(u)).contents[0] for u in uris]

    return asyncio.run(run())


def test_every_document_and_top_report_is_listed_and_can_be_read(sample_index):
    with knotwork.open(sample_index, read_only=True) as kb:
        uris = [entry.uri for entry in kb.documents() if entry.chunks]
        reports = {topic.community.id: topic.report for topic in kb.communities.list()}
        ids = kb.store.documents.document_ids()
        texts = {d.uri: d.text for d in kb.store.documents.documents(ids).values()}
    listed, _ = read(sample_index)
    _, contents = read(sample_index, *(resource.uri for resource in listed))
    by_name = {r.name: c.text for r, c in zip(listed, contents, strict=True)}
    assert {name: by_name[name] for name in uris} == texts
    for report in reports.values():
        assert all(finding.text in by_name[report.title] for finding in report.findings)
    assert len(listed) == len(uris) + len(reports)


def test_a_part_of_a_document_is_read_by_its_characters(sample_index):
    with knotwork.open(sample_index, read_only=True) as kb:
        chunk = kb.search("苍鹭浮标", k=1).hits[0].chunk
        document = kb.store.documents.documents([chunk.document_id])[chunk.document_id]
    _, (content,) = read(sample_index, document_resource_uri(document.uri, chunk.span))
    assert content.text == chunk.text
    assert content.mime_type == "text/markdown"


@pytest.mark.parametrize(
    "uri",
    [
        "knotwork://documents/nothing.md",
        "knotwork://documents/../../etc/passwd",
        "knotwork://documents//etc/passwd",
        "knotwork://documents/%2Fetc%2Fpasswd",
        "knotwork://documents/sample/en/kestrel-probe.html?start=5&end=1",
        "knotwork://documents/sample/en/kestrel-probe.html?start=-1",
        "knotwork://documents/sample/en/kestrel-probe.html?end=99999999",
        "knotwork://reports/0000000000000000",
        "knotwork://reports/none",
        "file:///etc/passwd",
    ],
)
def test_questions_beyond_the_index_are_refused(uri, sample_index):
    async def run():
        async with (
            knotwork.open_async(sample_index, read_only=True) as kb,
            Client(build_server(kb)) as client,
        ):
            with pytest.raises(
                MCPError, match=r"nknown (document|community report|resource)|out of range"
            ):
                await client.read_resource(uri)

    asyncio.run(run())


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("?#%&=/{}+ ~..,;"),
    min_size=1,
    max_size=30,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NAMES, min_size=1, max_size=3, unique=True))
def test_any_name_of_a_document_leads_to_its_text(names):
    async def run():
        async with knotwork.open_async("memory:", embedding_model="none") as kb:
            await kb.index_documents(
                [knotwork.Document(name, f"Text {n} of it.") for n, name in enumerate(names)]
            )
            async with Client(build_server(kb)) as client:
                for number, name in enumerate(names):
                    uri = document_resource_uri(name, Span(0, 6))
                    (content,) = (await client.read_resource(uri)).contents
                    assert content.text == f"Text {number}"

    asyncio.run(run())


def test_a_uri_is_ascii_and_without_doubt():
    assert (
        document_resource_uri("docs/a b?c#d%.md") == "knotwork://documents/docs/a%20b%3Fc%23d%25.md"
    )
    assert document_resource_uri("差旅.md").endswith(quote("差旅.md"))
