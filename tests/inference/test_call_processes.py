"""Many processes share the call cache; a killed process loses no finished call."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.inference.calling_process import request_for
from tests.inference.chat_fakes import EchoModel

from knotwork._inference.call_cache import CachedChatModel, CallCache, KeyLocks, call_key
from knotwork._inference.chat import ChatReply, TokenUsage

pytestmark = pytest.mark.slow


_ROOT = Path(__file__).parents[2]
_KILLS = 8


@pytest.fixture
def start(start_process, tmp_path):
    def start(first: int, last: int, *, pause_s: float = 0.0) -> subprocess.Popen[bytes]:
        arguments = [tmp_path / "calls", tmp_path / "log", first, last, pause_s]
        return start_process(
            [sys.executable, "-m", "tests.inference.calling_process", *map(str, arguments)],
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])},
        )

    return start


def finish(process: subprocess.Popen[bytes]) -> list[int]:
    output, _ = process.communicate(timeout=60)
    return [int(line) for line in output.split()]


def made_calls(folder: Path) -> Counter[int]:
    return Counter(map(int, (folder / "log").read_text(encoding="utf-8").split()))


def expected_usage(calls: Counter[int]) -> TokenUsage:
    usages = (TokenUsage(len(str(number)), len(str(number)) + 4, 1) for number in calls.elements())
    return sum(usages, TokenUsage())


def test_a_killed_process_repeats_no_finished_call(tmp_path, start):
    chance = random.Random(3)
    finished: list[int] = []
    in_flight = 0
    for _ in range(_KILLS):
        process = start(0, 100_000)
        assert process.stdout is not None
        lines = chance.randint(1, 40)
        for _ in range(len(finished) + lines):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
        finished = list(range(len(finished) + lines + len(output.split(b"\n")[:-1])))
        in_flight += 1
    calls = made_calls(tmp_path)
    cache = CallCache(tmp_path / "calls")
    assert cache.check() == []
    # What was acknowledged is there, whole, and was asked for once.
    for number in finished:
        found = cache.find(call_key("fake:echo", request_for(number)))
        assert found is not None
        assert found.text == f"re: {number}"
        assert isinstance(found, ChatReply) == (number % 5 != 0)
    # A call may be made twice only where a process was killed before its reply came in.
    repeated = calls.total() - len(calls)
    assert repeated <= in_flight
    counted = cache.total()
    assert len(finished) <= counted.usage.calls <= calls.total()
    assert cache.reply_count() + len(cache.rejected()) == counted.usage.calls
    cache.close()


def test_processes_at_once_make_each_call_once_and_count_it(tmp_path, start):
    processes = [start(0, 60, pause_s=0.002) for _ in range(3)]
    for process in processes:
        assert finish(process) == list(range(60))
    calls = made_calls(tmp_path)
    cache = CallCache(tmp_path / "calls")
    assert set(calls) == set(range(60))
    assert calls.total() == 60
    total = cache.total()
    usage = total.usage
    expected = expected_usage(calls)
    assert (usage.input_tokens, usage.output_tokens, usage.calls) == (
        expected.input_tokens,
        expected.output_tokens,
        60,
    )
    assert total.rejected == 12
    # The two that came later reused all good replies; bad ones are refused, not reused.
    assert usage.reused == 2 * 48
    assert cache.check() == []
    cache.close()


def test_a_process_waits_for_the_call_of_another_until_that_one_is_killed(tmp_path, start):
    other = start(1, 2, pause_s=600.0)
    while not (tmp_path / "log").exists() or not made_calls(tmp_path):
        assert other.poll() is None
    waits: list[float] = []

    def kill_other(wait_s: float) -> None:
        waits.append(wait_s)
        assert inner.requests == []
        other.kill()
        other.communicate(timeout=60)

    inner = EchoModel()
    cache = CallCache(tmp_path / "calls")
    cache.locks = KeyLocks(f"{cache.path}-lock", sleep=kill_other)
    assert CachedChatModel(inner, cache).complete(request_for(1)).text == "re: 1"
    assert len(waits) == len(inner.requests) == 1
    cache.close()
