"""Responses of chat servers, for `serve`."""

import json

from tests.inference.model_server import Answer, Reply, reply

USAGE = {"prompt_tokens": 11, "completion_tokens": 7}


def say(content, *, finish="stop", usage=USAGE, **message) -> Answer:
    """Answer with a message; a request to stream gets it in pieces of three characters."""

    def answer(payload: dict) -> Reply:
        if payload.get("stream"):
            shown = usage if payload.get("stream_options") else None
            return stream_events(*deltas(content or "", **message), finish=finish, usage=shown)
        body = {
            "choices": [{"message": {"content": content, **message}, "finish_reason": finish}],
            "usage": usage,
        }
        return reply(200, body)(payload)

    return answer


def deltas(content: str, **first) -> list[dict]:
    pieces = [content[i : i + 3] for i in range(0, len(content), 3)]
    return [{"role": "assistant", **first}, *({"content": piece} for piece in pieces)]


def stream_events(*parts: dict, finish="stop", usage=None) -> Reply:
    events = [{"choices": [{"delta": part}]} for part in parts]
    if finish:
        events.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    if usage:
        events.append({"choices": [], "usage": usage})
    return raw_stream(*map(json.dumps, events), "[DONE]")


def raw_stream(*data: str) -> Reply:
    text = ": a comment\n\n" + "".join(f"data: {line}\n\n" for line in data)
    return 200, {"Content-Type": "text/event-stream"}, text.encode()


def refuse(message: str, status: int = 400, **error) -> Answer:
    return reply(status, {"error": {"message": message, **error}})


def refuse_if(test, message: str, otherwise: Answer, status: int = 400) -> Answer:
    """Refuse the requests of which ``test`` holds."""
    return lambda payload: (refuse(message, status) if test(payload) else otherwise)(payload)
