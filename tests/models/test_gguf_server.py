"""A model file behind the client of any model server."""

import gc
import os
import signal
import subprocess
import sys

import pytest

from knotwork._config import LlmSettings
from knotwork._extensions.local_models.gguf_server import GgufServer
from knotwork._extensions.served_models.chat import OpenAIChat
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatReply, ChatRequest, Message
from knotwork._inference.model_registry import ChatModels
from knotwork.errors import ConfigError, ModelError

REQUEST = ChatRequest((Message("user", "Name a city in France."),), max_output_tokens=12)
ASK_AND_WAIT = """
import sys
from knotwork._config import LlmSettings
from knotwork._inference.model_registry import ChatModels
from knotwork._inference.chat import ChatRequest, Message
model = ChatModels(LlmSettings(model="gguf:" + sys.argv[1], context_window=512)).open()
model.complete(ChatRequest((Message("user", "Hello"),), max_output_tokens=2))
print("asked", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server(model_file):
    return GgufServer(str(model_file), context=1_024, threads=0, timeout_s=120)


@pytest.fixture(scope="module")
def model(server):
    return OpenAIChat(server.options.alias, server, context_window=1_024, scheme="gguf")


def test_replies_are_real_and_counted(model, model_file):
    reply = model.complete(REQUEST)
    assert reply.text.strip()
    assert 0 < reply.usage.output_tokens <= 12
    assert reply.usage.input_tokens > 5
    assert model.name == f"gguf:{model_file.name}"


def test_a_control_token_in_a_text_is_plain_text_to_the_server(model):
    def tokens(content):
        message = Message("user", "")
        object.__setattr__(message, "content", content)  # past what makes a message harmless
        return model.complete(ChatRequest((message,), max_output_tokens=1)).usage.input_tokens

    for token in ("<|im_start|>", "<|im_end|>"):
        message = Message("user", f"one {token}")
        assert tokens(f"one {token}") <= tokens("one") + 2
        assert tokens(message.content) >= tokens("one") + 6


def test_a_stream_ends_with_the_reply_that_it_spelled(model):
    *pieces, reply = model.stream(REQUEST)
    assert isinstance(reply, ChatReply)
    assert "".join(pieces) == reply.text == model.complete(REQUEST).text


def test_a_prompt_beyond_the_context_is_refused_with_its_size(model):
    request = ChatRequest((Message("user", "word " * 3_000),), max_output_tokens=4)
    with pytest.raises(ModelError, match="exceeds the available context size"):
        model.complete(request)


def test_one_process_serves_all_that_use_a_file(server, model_file, model):
    other = GgufServer(str(model_file), context=1_024, threads=0, timeout_s=120)
    again = OpenAIChat(other.options.alias, other, scheme="gguf")
    model.complete(REQUEST)
    again.complete(REQUEST)
    assert other._process is server._process


def test_a_killed_process_is_started_again(server, model):
    model.complete(REQUEST)
    before = server._process._popen.pid
    os.kill(before, signal.SIGKILL)
    server._process._popen.wait()
    assert model.complete(REQUEST).text
    assert server._process._popen.pid != before


def test_the_process_ends_with_the_last_user(model_file):
    server = GgufServer(str(model_file), context=512, threads=1, timeout_s=120)
    OpenAIChat(server.options.alias, server).complete(REQUEST)
    child = server._process._popen
    assert child.poll() is None
    del server
    gc.collect()
    assert child.poll() is not None


def _ps(field, option, pid):
    command = ["ps", "-o", field, option, str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def test_the_process_ends_with_its_parent_even_if_that_is_killed(model_file):
    with subprocess.Popen(
        [sys.executable, "-c", ASK_AND_WAIT, str(model_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout.readline() == "asked\n"
        child = int(_ps("pid=", "--ppid", parent.pid))
        parent.kill()
        # The pipe that the child reads closes with the parent, and its own output with it.
        parent.wait()
    for _ in range(200):
        state = _ps("stat=", "-p", child)
        if not state or state.startswith("Z"):
            return
        signal.sigtimedwait([], 0.05)
    pytest.fail(f"the process {child} goes on without its parent")


def test_a_file_that_ends_too_early_is_reported(model_file, tmp_path):
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(model_file.read_bytes()[:5_000_000])
    model = ChatModels(
        LlmSettings(model=f"gguf:{cut}"), retries=RetryPolicy(attempts=1)
    ).open()  # fmt: skip
    with pytest.raises(ConfigError, match="corrupted or incomplete"):
        model.complete(REQUEST)


def test_a_context_beyond_the_training_is_refused(model_file):
    with pytest.raises(ConfigError, match=r"llm\.context_window is 1000000.*8192"):
        GgufServer(str(model_file), context=1_000_000, threads=0, timeout_s=1)
