"""Send questions in tests, and questions about the sample."""

from __future__ import annotations

import json

from tests.service.serving import API, await_job

OPEN = f"{API}/workspaces/open"
EVALUATIONS = f"{OPEN}/evaluations"


def sample_questions(uris):
    """Return questions of which one names its document by the end of its uri alone."""
    travel = next(uri for uri in uris if "travel" in uri)
    return [
        {"qid": "t", "question": "Who approves trips abroad?", "gold_pids": [travel]},
        {
            "question": "Where was the designer of the Kestrel probe born?",
            "gold_pids": [uris[0].rpartition("/")[2], uris[1]],
            "answers": ["Halvik"],
        },
        {"qid": "k", "question": "What did Oriane Keld study?", "answers": ["no such thing"]},
    ]


def list_uris(client):
    """Return the uris of the sample."""
    listed = client.get(f"{OPEN}/documents", params={"limit": 100}).json()["data"]["documents"]
    return [document["uri"] for document in listed]


def lines(records):
    """Return records as the bytes of a file of lines."""
    return "\n".join(json.dumps(record) for record in records).encode()


def start(client, records, *, unanswerable=(), at=EVALUATIONS, headers=None, **fields):
    """Start an evaluation, and return the response."""
    files = {"questions": ("mine.jsonl", lines(records))}
    if unanswerable:
        files["unanswerable"] = ("none.jsonl", lines(unanswerable))
    return client.post(at, files=files, data=fields, headers=headers)


def finish(client, response, workspace="open"):
    """Return the id of an evaluation once its job is finished."""
    assert response.status_code == 202, response.text
    started = response.json()["data"]
    job = await_job(client, workspace, {"id": started["job"]})
    assert job["state"] == "finished", job
    return started["id"]
