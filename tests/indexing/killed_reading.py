"""Index with a model through kills; `python -m tests.indexing.killed_reading FOLDER SEED KILLS`.

Children index the same documents in the full tier, each with the file of calls that the ones before
left, and kill themselves at a random call of a function, Python's or C's, in any thread. Whenever
one comes to the end, the next begins from nothing, until there were KILLS of them, and one more
comes to the end. A child notes the key of each call to the model before it answers. This process
checks that no call is made whose reply was kept when its child began, that the ledger counts the
calls that are kept, and that each index equals that of a run which nothing stopped. It prints as
JSON how often it killed, how many runs came to the end, how many calls were made, and how many a
run takes.
"""

import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import threading
from pathlib import Path

from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.call_cache import call_key
from knotwork._sqlite_file import open_connection
from knotwork._stores.urls import open_store
from knotwork.records import Document

PEOPLE = ("Ada Smith", "Bob Jones", "Carol White", "Dan Brown", "Eve Black", "Fay Green")
TOWNS = ("London", "Vienna", "Oslo", "Bergen", "Riga", "Paris")
FIRMS = ("Acme Works", "Boreal Bank", "Cobalt Mines")
VERBS = ("founded", "left", "sold", "advised", "sued", "praised")
UNREADABLE = "Xavier Void"
"""Who is named where the model replies with garbage, every time."""


def make_documents(count=8):
    chance = random.Random(3)

    def sentence():
        who, other = chance.sample(PEOPLE, 2)
        firm, town = chance.choice(FIRMS), chance.choice(TOWNS)
        return f"{who} {chance.choice(VERBS)} {firm} in {town} with {other}."

    texts = [
        "\n\n".join(" ".join(sentence() for _ in range(4)) for _ in range(chance.randint(1, 3)))
        for _ in range(count)
    ]
    texts[3] += f" {UNREADABLE} kept silent in {TOWNS[0]}."
    return [Document(f"{i:02}.txt", text, title=f"Day {i}") for i, text in enumerate(texts)]


class NotingModel(ScriptedChatModel):
    """Notes in a file the key of each call before it answers, and the stage."""

    def __init__(self, log):
        brain = RuleBrain()
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def reply(request):
            key = call_key(self.name, request).hex()
            os.write(self._log, f"{key} {request.stage}\n".encode())
            asked = request.messages[0].content.partition("<text>")[2]
            garbled = request.stage == "extract" and UNREADABLE in asked
            return "%%%" if garbled else brain(request.messages)

        super().__init__(reply)


def index(home):
    """Index the documents in ``home``, noting calls in the file "asked" there."""
    Path(home).mkdir(exist_ok=True)
    options = {
        "embedding_model": "none",
        "llm_tier": "full",
        "llm_concurrency": 4,
        "index_chunk_tokens": 64,
    }
    model = NotingModel(Path(home) / "asked")
    with knotwork.open(Path(home) / "index.knot", chat_model=model, **options) as kb:
        kb.index_documents(make_documents())


def kept_keys(home):
    """Return the keys of the calls whose replies are kept, good or not, in a file at rest."""
    path = Path(home) / "index.knot.calls"
    if not path.exists():
        return set()
    with contextlib.closing(open_connection(str(path))) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'rejected'").fetchone():
            return set()
        rows = connection.execute(
            "SELECT key, 1 FROM reply UNION ALL SELECT key, attempts FROM rejected"
        ).fetchall()
        ((counted,),) = connection.execute("SELECT TOTAL(calls) FROM spent")
    if counted != sum(attempts for _, attempts in rows):
        raise SystemExit(f"the ledger counts {counted:g} calls, and {len(rows)} are kept")
    return {key.hex() for key, _ in rows}


def asked_keys(home):
    """Return the keys of the calls that were made, in order; the last line may be torn."""
    path = Path(home) / "asked"
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    return [line.split(" ")[0] for line in lines]


def contents(home):
    """Return all that an index holds, what was made once its documents were in included."""
    store = open_store(str(Path(home) / "index.knot"), read_only=True)
    with contextlib.closing(store):
        levels = store.communities.levels()
        ids = [community for level in levels for community in level]
        entities = store.readings.described()
        return snapshot(store) | {
            "levels": levels,
            "communities": store.communities.communities(ids),
            "reports": store.communities.reports(ids),
            "summaries": store.readings.summaries(entities),
            "decisions": store.resolutions.decisions(),
        }


def count_calls(stop_at=0):
    """Count calls of functions in all threads; kill this process at call ``stop_at``, if any."""
    count = [0]

    def profile(frame, event, argument):
        count[0] += 1
        if count[0] == stop_at:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(profile)
    sys.setprofile(profile)
    return count


def run_child(action):
    """Run ``action`` in a child, and return its wait status."""
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def note_modules(home, report):
    """Index without a stop, and write the names of the modules that this needed."""
    index(home)
    report.write_text(json.dumps(list(sys.modules)), "utf-8")


def note_calls(home, report):
    """Index without a stop, and write how many calls of functions that took."""
    count = count_calls()
    index(home)
    sys.setprofile(None)
    report.write_text(json.dumps(count[0]), "utf-8")


def told_by(child, home):
    """Return what a run in a child writes."""
    report = home.with_name("told")
    if run_child(lambda: child(home, report)):
        raise SystemExit("the uninterrupted run failed")
    return json.loads(report.read_text("utf-8"))


def prepare(folder):
    """Make the uninterrupted index, load what it needed, and return its calls of functions."""
    for name in told_by(note_modules, folder / "first"):  # each child would import them again
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    return told_by(note_calls, folder / "whole")


def index_through_kills(folder, seed, wanted):
    count = prepare(folder)
    chance = random.Random(seed)
    killed = folder / "killed"
    kills = ended = asked = 0
    expected = contents(folder / "whole")
    while True:
        kept, before = kept_keys(killed), len(asked_keys(killed))
        stop_at = chance.randint(1, count) if kills < wanted else 0

        def action(stop_at=stop_at):
            count_calls(stop_at)
            index(killed)

        status = run_child(action)
        made = asked_keys(killed)[before:]
        asked += len(made)
        again = kept.intersection(made)
        if again:
            raise SystemExit(f"after {kills} kills, finished calls were made again: {again}")
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            kills += 1
            continue
        if status:
            raise SystemExit(f"a resumed run failed with status {status}")
        ended += 1
        found = contents(killed)
        wrong = [part for part, value in expected.items() if found[part] != value]
        if wrong:
            raise SystemExit(f"after {kills} kills, the index has other {', '.join(wrong)}")
        if kills >= wanted:
            break
        shutil.rmtree(killed)
    told = {
        "kills": kills,
        "ended": ended,
        "asked": asked,
        "calls": len(asked_keys(folder / "whole")),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    index_through_kills(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
