"""Shapes of guides and of the questions that they offer."""

from __future__ import annotations

from typing import Annotated

import knotwork._shapes.results  # noqa: F401  the shape of citations
from knotwork._extensions.guide.guide import DatedEvent, DescribedDocument, Guide, GuideTopic
from knotwork._extensions.guide.offers import OfferedQuestion
from knotwork._shapes.base import Shape
from knotwork.records import Citation, content_id

OFFERED_QUESTION = Shape(
    "OfferedQuestionShape",
    OfferedQuestion,
    "A question that was tried: the documents answer it from ``source``.",
)
DESCRIBED_DOCUMENT = Shape(
    "DescribedDocumentShape",
    DescribedDocument,
    "A document, and the sentence that describes it best.",
    source=Annotated[Citation | None, "Where it says so; null for the columns of a table."],
    document_id=(str, lambda described: content_id("document", described.document)),
)
GUIDE_TOPIC = Shape("GuideTopicShape", GuideTopic, "A main topic: a community with its size.")
DATED_EVENT = Shape(
    "DatedEventShape",
    DatedEvent,
    "A sentence that says what happened at a time.",
    date=Annotated[str, "The first day of that time, as YYYY-MM-DD."],
    when=Annotated[str, "The time as it is written."],
)
GUIDE = Shape(
    "GuideShape",
    Guide,
    "What an index is about: a page of its documents, its main topics, questions from different "
    "documents, and a timeline, empty unless there are events enough.",
    total=Annotated[int, "The number of all documents."],
)
