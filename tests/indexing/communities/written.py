"""Reports by the brain of rules on communities small enough to be seen through."""

from tests.indexing.communities.worlds import TOPICS, make_index, topic_documents

from knotwork._extensions.model_indexing.written_reports import ReportWriter
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.communities.detection import (
    CommunityOptions,
    refresh_communities,
    stored_communities,
)

OPTIONS = CommunityOptions(max_size=4)
REPORTS_A_CALL = 2
BRAIN = RuleBrain()


def brain(request):
    return BRAIN(request.messages)


def writer(model=None, **options):
    return ReportWriter(
        model or ScriptedChatModel(brain),
        **{"concurrency": 1, "least_tokens": 60, "reports_a_call": REPORTS_A_CALL, **options},
    )


def indexed(documents=None, path="memory:"):
    if documents is None:
        documents = [document for topic in TOPICS for document in topic_documents(topic)]
    base = make_index(documents, path)
    refresh_communities(base.store, OPTIONS)
    return base


def reports_of(base):
    communities = stored_communities(base.store.communities)
    return base.store.communities.reports([community.id for community in communities])


def sources(base):
    return {report.source for report in reports_of(base).values()}


def tops_of(base):
    """Return the communities that have others below them."""
    communities = stored_communities(base.store.communities)
    parents = {community.parent_id for community in communities}
    return [community for community in communities if community.id in parents]
