"""The local reranker on sentence-transformers, with random models."""

import math
from importlib.util import find_spec

import pytest

from knotwork._config import RerankSettings
from knotwork._extensions.local_models.torch_reranker import LocalReranker
from knotwork._extensions.served_models.rerank import ServedReranker
from knotwork._inference.model_registry import open_reranker
from knotwork.errors import ConfigError, MissingExtra, ModelError, UnknownName

# The library takes seconds to import: each worker collects this module, and few run it.
pytestmark = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs the library"
)

WORDS = [
    "the",
    "old",
    "bridge",
    "was",
    "built",
    "of",
    "stone",
    "mayor",
    "opened",
    "it",
    "in",
    "who",
    "when",
    ".",
    "?",
]
TEXTS = ["The bridge was built of stone.", "The mayor opened it.", "", "Who ? " * 200]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return folders of random cross-encoders, by their number of scores for a pair."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "who", ".", "?"]
    made = {}
    for labels in (1, 3):
        folder = tmp_path_factory.mktemp(f"labels{labels}")
        (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
        tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=32)
        tokenizer.save_pretrained(folder)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=labels,
        )
        BertForSequenceClassification(config).save_pretrained(folder)
        made[labels] = folder
    return made


def test_scores_are_the_models_own_whatever_their_company(folders):
    from sentence_transformers import CrossEncoder

    reranker = LocalReranker(str(folders[1]))
    question = "Who opened the old bridge?"
    scores = reranker.score(question, TEXTS)
    own = CrossEncoder(str(folders[1]), local_files_only=True)
    for text, score in zip(TEXTS, scores, strict=True):
        assert score == pytest.approx(float(own.predict([(question, text)])[0]), abs=1e-5)
    assert len(set(scores)) == len(TEXTS)
    assert reranker.score(question, []) == []
    assert reranker.name == f"local:{folders[1].name}"


def test_undecodable_text_is_read_all_the_same(folders):
    (score,) = LocalReranker(str(folders[1])).score("Who \ud800?", ["\udfff bridge"])
    assert math.isfinite(score)


def test_a_model_that_cannot_rank_is_refused(folders, tmp_path):
    with pytest.raises(ModelError, match="3 scores per text"):
        LocalReranker(str(folders[3])).score("Who?", ["The mayor."])
    with pytest.raises(ModelError, match="cannot be loaded") as raised:
        LocalReranker(str(tmp_path)).score("Who?", ["The mayor."])
    assert "rerank.download" in raised.value.fix


def test_the_registry_opens_by_scheme():
    assert open_reranker(RerankSettings()) is None
    assert isinstance(open_reranker(RerankSettings(model="local:some/encoder")), LocalReranker)
    served = open_reranker(RerankSettings(model="served:some/encoder"))
    assert isinstance(served, ServedReranker)
    assert served.name == "rerank:some/encoder"
    with pytest.raises(UnknownName, match=r"`locl:x`.*`local:…`"):
        open_reranker(RerankSettings(model="locl:x"))
    with pytest.raises(ConfigError, match="has no name after its scheme"):
        open_reranker(RerankSettings(model="served:"))
    with pytest.raises(ConfigError) as raised:
        open_reranker(RerankSettings(model="served:x", base_url="localhost"))
    assert "rerank.base_url" in raised.value.fix


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="`sentence-transformers`"):
        open_reranker(RerankSettings(model="local:some/encoder"))
