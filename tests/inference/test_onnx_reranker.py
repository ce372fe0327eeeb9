"""The reranker on onnxruntime against transformers, with random models."""

import json
import math
import shutil
import warnings

import numpy as np
import pytest

from knotwork._config import RerankSettings
from knotwork._extensions.local_models.onnx_reranker import OnnxReranker, find_graph
from knotwork._extensions.local_models.torch_reranker import LocalReranker
from knotwork._inference.model_registry import open_reranker
from knotwork.errors import MissingExtra, ModelError

pytestmark = pytest.mark.slow


pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

WORDS = [
    *("the", "old", "bridge", "was", "built", "of", "stone", "mayor", "opened", "it", "in"),
    *("who", "when", ".", "?"),
]
QUESTION = "Who opened the old bridge?"
TEXTS = ["The bridge was built of stone.", "The mayor opened it.", "", "Who ? " * 200]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MAX_TOKENS = 48


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return folders of random cross-encoders, by their number of scores for a pair."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("onnx")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    made = {}
    for labels in (1, 3):
        folder = tmp_path_factory.mktemp(f"labels{labels}")
        (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
        tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=MAX_TOKENS)
        tokenizer.save_pretrained(folder)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=MAX_TOKENS,
            num_labels=labels,
        )
        model = BertForSequenceClassification(config)
        model.save_pretrained(folder)
        export(model, folder / "model.onnx", INPUTS)
        made[labels] = folder
    return made


def export(model, path, names):
    """Write a model of transformers in ONNX format, as hubs offer it."""
    import torch

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *values):
            return self.model(**dict(zip(names, values, strict=True))).logits

    path.parent.mkdir(exist_ok=True)
    example = {
        "input_ids": torch.full((1, 8), 5),
        "attention_mask": torch.ones((1, 8), dtype=torch.long),
        "token_type_ids": torch.zeros((1, 8), dtype=torch.long),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no further package is old
        torch.onnx.export(
            Logits().eval(),
            tuple(example[name] for name in names),
            str(path),
            dynamo=False,
            input_names=list(names),
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "length"} for name in names},
        )


def own_scores(folder, question, texts):
    """Return the scores of transformers, for padded batches."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    encoded = tokenizer(
        [question] * len(texts), texts, padding=True, truncation=True, return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**encoded).logits[:, 0].tolist()


def test_scores_match_transformers(folders):
    reranker = OnnxReranker(folders[1])
    scores = reranker.score(QUESTION, TEXTS)
    assert scores == pytest.approx(own_scores(folders[1], QUESTION, TEXTS), abs=1e-4)
    assert len(set(scores)) == len(TEXTS)
    assert reranker.score(QUESTION, []) == []
    assert reranker.name == f"local:{folders[1].name}"


def test_a_score_does_not_depend_on_its_company(folders):
    reranker = OnnxReranker(folders[1], threads=1)
    together = reranker.score(QUESTION, TEXTS)
    assert [reranker.score(QUESTION, [text])[0] for text in TEXTS] == together
    assert reranker.score(QUESTION, TEXTS[::-1])[::-1] == together


def test_texts_rank_as_by_sentence_transformers(folders):
    pytest.importorskip("sentence_transformers")
    texts = [f"The mayor {word} it in stone ." for word in WORDS]
    one = np.array(OnnxReranker(folders[1]).score(QUESTION, texts))
    other = np.array(LocalReranker(str(folders[1])).score(QUESTION, texts))
    assert np.allclose(1 / (1 + np.exp(-one)), other, atol=1e-5)


def test_a_long_question_leaves_the_text_some_room(folders):
    reranker = OnnxReranker(folders[1])
    long = "who when the old bridge " * 100
    scores = reranker.score(long, ["stone " * 100, "mayor " * 100])
    assert scores == pytest.approx(
        own_scores(folders[1], long, ["stone " * 100, "mayor " * 100]), abs=1e-4
    )
    assert scores[0] != scores[1]


def test_half_a_surrogate_pair_is_read(folders):
    (score,) = OnnxReranker(folders[1]).score("Who \ud800?", ["\udfff bridge"])
    assert math.isfinite(score)


def test_a_graph_may_be_in_a_folder_of_its_own_and_lack_types_of_tokens(folders, tmp_path):
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folders[1])
    export(model, tmp_path / "onnx" / "model.onnx", INPUTS[:2])
    shutil.copy(folders[1] / "tokenizer.json", tmp_path)
    assert find_graph(tmp_path) == tmp_path / "onnx" / "model.onnx"
    # Without further files, the limit is that of tokenizer.json: none here.
    (score,) = OnnxReranker(tmp_path).score(QUESTION, [TEXTS[0]])
    assert math.isfinite(score)
    with pytest.raises(ModelError, match="cannot score a text"):
        OnnxReranker(tmp_path).score(QUESTION, [TEXTS[-1]])
    config = {"max_position_embeddings": MAX_TOKENS + 2, "model_type": "xlm-roberta"}
    (tmp_path / "config.json").write_text(json.dumps(config | {"pad_token_id": 1}))
    assert math.isfinite(OnnxReranker(tmp_path).score(QUESTION, [TEXTS[-1]])[0])


def test_a_tokenizer_may_bring_its_own_limit_and_padding(folders, tmp_path):
    from tokenizers import Tokenizer

    shutil.copy(folders[1] / "model.onnx", tmp_path)
    tokenizer = Tokenizer.from_file(str(folders[1] / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding(length=MAX_TOKENS)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    scores = OnnxReranker(tmp_path).score(QUESTION, TEXTS)
    assert scores == OnnxReranker(folders[1]).score(QUESTION, TEXTS)


def test_a_model_that_cannot_rank_is_refused(folders, tmp_path):
    with pytest.raises(ModelError, match="3 scores per text"):
        OnnxReranker(folders[3]).score("Who?", ["The mayor."])
    shutil.copy(folders[1] / "model.onnx", tmp_path)
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        OnnxReranker(tmp_path).score("Who?", ["The mayor."])
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.json is invalid"):
        OnnxReranker(tmp_path).score("Who?", ["The mayor."])
    shutil.copy(folders[1] / "tokenizer.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelError, match="cannot open the model"):
        OnnxReranker(tmp_path).score("Who?", ["The mayor."])


def test_scores_that_are_not_numbers_are_refused(folders, tmp_path):
    import onnx

    graph = onnx.load(folders[1] / "model.onnx")
    for tensor in graph.graph.initializer:
        if tensor.name.endswith("classifier.bias"):
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.float32([np.nan]), tensor.name))
    onnx.save(graph, tmp_path / "model.onnx")
    shutil.copy(folders[1] / "tokenizer.json", tmp_path)
    with pytest.raises(ModelError, match="not finite numbers"):
        OnnxReranker(tmp_path).score("Who?", ["The mayor."])


def test_other_inputs_are_refused(folders, tmp_path):
    import onnx

    graph = onnx.load(folders[1] / "model.onnx")
    graph.graph.input.append(onnx.helper.make_tensor_value_info("pixels", 1, [1]))
    onnx.save(graph, tmp_path / "model.onnx")
    shutil.copy(folders[1] / "tokenizer.json", tmp_path)
    with pytest.raises(ModelError, match=r"its inputs are .*pixels"):
        OnnxReranker(tmp_path).score("Who?", ["The mayor."])


def test_the_registry_prefers_a_graph(folders, tmp_path):
    settings = RerankSettings(model=f"local:{folders[1]}", threads=2)
    assert isinstance(open_reranker(settings), OnnxReranker)
    pytest.importorskip("sentence_transformers")
    assert isinstance(open_reranker(RerankSettings(model=f"local:{tmp_path}")), LocalReranker)


def test_a_missing_extra_is_named(monkeypatch, folders):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="`rerank`"):
        open_reranker(RerankSettings(model=f"local:{folders[1]}"))
