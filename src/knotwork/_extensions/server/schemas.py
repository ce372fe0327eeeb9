"""Request and response models that several routes share."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from knotwork._extensions.server.job_store import Job
from knotwork._extensions.server.responses import HALF_A_PAIR, hide_paths, hide_paths_within
from knotwork._shapes.base import Shape, typed

MOST_PASSAGES = 200

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
MOST_FILTER_CHARACTERS = 10_000
FilterText = Annotated[str, Field(max_length=MOST_FILTER_CHARACTERS)]


class UnicodeRequest(BaseModel):
    """A request whose texts can be written as UTF-8, and whose numbers are finite.

    Values are not converted: "yes" is not true, and "3" is not a number.
    """

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_values(cls, data: Any) -> Any:  # noqa: ANN401  what a client sent
        try:
            json.dumps(data, ensure_ascii=False, allow_nan=False, default=str).encode()
        except UnicodeEncodeError:
            raise ValueError(HALF_A_PAIR) from None
        except ValueError:
            raise ValueError("A number is infinite or NaN, which JSON does not have") from None
        except RecursionError:
            raise ValueError("The JSON body is nested too deeply") from None
        return data


class RequestModel(UnicodeRequest):
    """The base of request bodies: unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


Retriever = Annotated[
    Annotated[str, Field(max_length=500)] | None,
    Field(description="A name from GET /api/v1/retrievers, or a composition of several."),
]
Passages = Annotated[int | None, Field(ge=1, le=MOST_PASSAGES, description="Maximum of passages.")]
UsesModel = Annotated[bool, Field(description="Whether to use a language model.")]


class SearchOptions(BaseModel):
    """What may be said about a search with its question."""

    k: Passages = None
    filters: FilterText | dict[str, Any] | None = Field(
        default=None,
        description="Filter for documents and pages: a text such as \"author = 'Ann' and date >= "
        '2023", or an object such as {"author": "Ann", "date": {"gte": 2023}}. '
        "GET /api/v1/workspaces/{workspace}/fields lists the fields.",
    )
    min_score: float | None = Field(
        default=None, description="Minimum score of a passage, on the scale of the retriever."
    )
    retrieval_query: Annotated[str, Field(max_length=20_000)] | None = Field(
        default=None,
        description="Read-only Cypher over the passages found. `node` is a chunk and `score` its "
        "score: MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, score. Its rows are the last "
        "of `results`; chunks in these rows are added to the passages.",
    )
    query_params: dict[str, Any] | None = Field(
        default=None, description="Parameters of `retrieval_query`; `$question` is the question."
    )


class SearchRequest(RequestModel, SearchOptions):
    """Find passages."""

    question: Text
    retriever: Retriever = None


class TurnShape(RequestModel):
    """An earlier question of a conversation, and its answer."""

    question: str = Field(max_length=2_000)
    answer: str = Field("", max_length=20_000)


class AnswerOptions(RequestModel):
    """What may be said about an answer with its question."""

    mode: str = Field("auto", max_length=40, description="auto, basic, local, global …")
    use_llm: UsesModel = True
    budget: str = Field(
        "", max_length=40, description='Ceiling in tokens, such as "3k", or in money.'
    )


class AskRequest(SearchRequest, AnswerOptions):
    """Answer a question."""

    expand: bool = Field(default=False, description="Also search by keywords from the model.")
    classify: bool = Field(
        default=False, description="Whether the model chooses the mode if it is auto."
    )
    turns: list[TurnShape] = Field(
        default=[],
        max_length=20,
        description="Earlier questions of the conversation with their answers, oldest first.",
    )
    thread: str | None = Field(
        default=None,
        max_length=40,
        description="The id of a thread of …/threads: its turns are those before the question, "
        "which is added to it with its answer.",
    )
    as_written: bool = Field(
        default=False,
        description="Whether the question is asked as it is, without the turns before it.",
    )


TierName = Literal["none", "lean", "full"]
BUDGET_FIELD = Field(
    "", max_length=40, description='Ceiling in tokens, such as "200k", or in money.'
)
MOST_NAMED = 1_000
PublicText = Annotated[str, hide_paths]
PublicObject = Annotated[dict[str, Any], hide_paths_within]
"""Values without paths of the server."""


JOB = Shape(
    "JobShape",
    Job,
    "A job: ``state`` is queued, running, stopping, finished, failed or cancelled.",
    "id kind state arguments created started finished progress report error",
    state=str,
    **typed(PublicObject, "arguments progress report error"),
)
REFUSED = Shape(
    "RefusedFile",
    None,
    "A rejected file of an upload, and the reason.",
    **typed(str, "name reason"),
    **typed(PublicText, "message fix"),
)
