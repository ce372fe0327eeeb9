"""The demo's questions are answered as promised, with the default embedder."""

import pytest

import knotwork
from knotwork._extensions.local_models import e5
from knotwork.demo import QUESTIONS, open_sample

pytestmark = pytest.mark.slow


pytest.importorskip("onnxruntime")
if e5.find_weights() is None:
    pytest.skip("no package with the weights of multilingual-e5-small", allow_module_level=True)

HOLDS = ("Tarnby", "海外出差由办事处主任审批", None)
"""What each answer has to hold; None where the documents hold no answer."""


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.knot"
    with open_sample() as folder, knotwork.open(path, embedding_model="auto") as opened:
        opened.index(folder)
        yield opened


@pytest.mark.parametrize(("asked", "held"), list(zip(QUESTIONS, HOLDS, strict=True)))
def test_the_demo_keeps_its_promises(kb, asked, held):
    answer = kb.ask(asked.text)
    assert answer.answered is (held is not None)
    if held is not None:
        assert held in answer.text
