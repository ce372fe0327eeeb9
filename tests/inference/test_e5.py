"""multilingual-e5-small on onnxruntime: fidelity, reproducibility, its cache and its file."""

import dataclasses
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.inference.multilingual_texts import ODD_TEXTS, SENTENCES, TEXTS
from tests.inference.packed_models import write_packed
from tests.inference.sentencepiece_models import build_sentencepiece

from knotwork._config import EmbeddingSettings
from knotwork._extensions.local_models import e5
from knotwork._extensions.local_models.encoder import Tokens, TransformerEncoder, read_tensors
from knotwork._extensions.local_models.local_embedders import LocalEmbedder, open_local
from knotwork._extensions.testing.model_contracts import EmbedderContract
from knotwork._inference.embedder import PassageText
from knotwork.errors import ModelError
from knotwork.records import Span

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def weights():
    path = e5.find_weights()
    if path is None:
        pytest.skip("no package with the weights of multilingual-e5-small")
    return path


@pytest.fixture(scope="module")
def e5_small(weights):
    return open_local(e5.MODEL, EmbeddingSettings())


@pytest.fixture
def small_file(tmp_path):
    """A random model of one layer, too small for the graph, in the format of the real one."""
    return write_packed(tmp_path / "small.bin")


def with_prompt(texts):
    return [f"query: {text}" for text in texts]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestE5(EmbedderContract):
    @pytest.fixture
    def embedder(self, e5_small):
        return e5_small


# Fidelity


@pytest.fixture(
    scope="module", params=[10, pytest.param(1, marks=pytest.mark.nightly)], ids=["few", "all"]
)
def reference(request, weights):
    """Texts, with their vectors from the BERT of transformers, tokenised by sentencepiece."""
    texts = TEXTS[:: request.param]
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("sentencepiece")
    packed = e5.PackedModel.read(weights)
    model = load_bert(packed)
    tokenizer = build_sentencepiece(packed)
    sequences = [[packed.begin, *tokenizer.encode(text), packed.end] for text in with_prompt(texts)]
    order = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
    rows = np.zeros((len(sequences), packed.dimension), dtype=np.float32)
    for start in range(0, len(order), 20):
        batch = order[start : start + 20]
        width = len(sequences[batch[-1]])
        ids = torch.ones((len(batch), width), dtype=torch.long)  # 1 pads
        mask = torch.zeros((len(batch), width))
        for row, index in enumerate(batch):
            ids[row, : len(sequences[index])] = torch.tensor(sequences[index])
            mask[row, : len(sequences[index])] = 1
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state
        rows[batch] = ((states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)).numpy()
    return texts, unit(rows)


def load_bert(packed):
    """Return transformers' model with the weights of the file."""
    import torch
    from transformers import BertConfig, BertModel

    size = packed.dimension
    names = {
        "emb.word": "embeddings.word_embeddings",
        "emb.pos": "embeddings.position_embeddings",
        "emb.type": "embeddings.token_type_embeddings",
    }
    state = {
        f"{name}.weight": torch.from_numpy(packed.floats(short).reshape(-1, size).copy())
        for short, name in names.items()
    }
    parts = {
        "q": "attention.self.query",
        "k": "attention.self.key",
        "v": "attention.self.value",
        "ao": "attention.output.dense",
        "aln": "attention.output.LayerNorm",
        "fi": "intermediate.dense",
        "fo": "output.dense",
        "oln": "output.LayerNorm",
    }
    modules = {"emb.ln": "embeddings.LayerNorm"} | {
        f"l{layer}.{short}": f"encoder.layer.{layer}.{name}"
        for layer in range(packed.layers)
        for short, name in parts.items()
    }
    for short, name in modules.items():
        bias = torch.from_numpy(packed.floats(f"{short}.b").copy())
        weight = torch.from_numpy(packed.floats(f"{short}.w").copy())
        is_norm = short.endswith("ln")
        state[f"{name}.weight"] = weight if is_norm else weight.reshape(len(bias), -1)
        state[f"{name}.bias"] = bias
    config = BertConfig(
        vocab_size=len(state["embeddings.word_embeddings.weight"]),
        hidden_size=size,
        num_hidden_layers=packed.layers,
        num_attention_heads=12,
        intermediate_size=4 * size,
        max_position_embeddings=len(state["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(state["embeddings.token_type_embeddings.weight"]),
    )
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict(state, assign=True, strict=False)
    model.embeddings.position_ids = torch.arange(config.max_position_embeddings)[None]
    model.embeddings.token_type_ids = torch.zeros_like(model.embeddings.position_ids)
    assert not any(parameter.is_meta for parameter in model.parameters())
    return model.eval()


def test_vectors_are_close_to_the_reference(e5_small, reference):
    texts, rows = reference
    cosines = (e5_small.embed(texts) * rows).sum(axis=1)
    assert len(cosines) == len(texts) >= 30
    assert float(cosines.min()) >= 0.995


def test_in_single_precision_they_match_the_reference(weights, reference):
    texts, rows = reference
    packed = e5.PackedModel.read(weights)
    arrays = dict(e5.read_norms(packed))
    for name, matrix, bias in e5.read_matrices(packed):
        arrays[f"{name}.w"], arrays[f"{name}.b"] = np.ascontiguousarray(matrix), bias
    parts = dataclasses.replace(e5.load_parts(weights), graphs=(e5.FLOAT_GRAPH,), weights=arrays)
    embedder = LocalEmbedder("local:float", lambda: TransformerEncoder(parts))
    cosines = (embedder.embed(texts) * rows).sum(axis=1)
    assert float(cosines.min()) >= 0.9999


def test_a_question_finds_its_translation(e5_small):
    rows = {language: e5_small.embed(texts) for language, texts in SENTENCES.items()}
    for language, own in rows.items():
        found = (own @ rows["en"].T).argmax(axis=1)
        assert (found == np.arange(5)).sum() >= 4, language


# Reproducibility


def test_a_vector_does_not_depend_on_its_batch(e5_small):
    texts = [*TEXTS[::9], *ODD_TEXTS[:5]]
    together = e5_small.embed(texts)
    shuffled = random.Random(2).sample(range(len(texts)), len(texts))
    assert np.array_equal(e5_small.embed([texts[i] for i in shuffled]), together[shuffled])
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(e5_small.embed([text])[0], row)


def test_passages_do_not_depend_on_their_batch(e5_small):
    passages = []
    for language in ("en", "zh", "ar"):
        first, second = SENTENCES[language][:2]
        spans = (Span(0, len(first)), Span(len(first) + 1, len(first) + 1 + len(second)))
        passages.append(PassageText(f"{first} {second}", "Harbour", spans))
    together = e5_small.embed_passages(passages)
    for passage, vectors in zip(passages, together, strict=True):
        (alone,) = e5_small.embed_passages([passage])
        assert np.array_equal(alone.chunk, vectors.chunk)
        assert np.array_equal(alone.sentences, vectors.sentences)


def test_two_loads_give_the_same_vectors(weights, e5_small, tmp_path):
    again = LocalEmbedder(
        "local:again",
        lambda: TransformerEncoder(e5.load_parts(weights, cache=tmp_path / "cache")),
    )
    texts = [texts[0] for texts in SENTENCES.values()]
    assert np.array_equal(again.embed(texts), e5_small.embed(texts))
    assert (tmp_path / "cache").is_file()


class CountingEncoder:
    """Counts what is encoded, and how many tokens at once."""

    max_tokens, dimension, gives_tokens, reads_together = 512, 8, True, False
    question_prompt = passage_prompt = ""

    def __init__(self):
        self.passes = 0
        self.most_tokens = 0

    def tokenise(self, texts):
        return [Tokens((0,), range(len(t)), range(len(t)), (2,)) for t in texts]

    def encode_tokens(self, sequences):
        self.passes += len(sequences)
        self.most_tokens = max(self.most_tokens, sum(map(len, sequences)))
        return [np.ones((len(sequence), 8), dtype=np.float32) for sequence in sequences]


def test_a_long_text_is_read_in_windows():
    encoder = CountingEncoder()
    text = "The harbour is open. " * 100_000
    row = LocalEmbedder("local:counting", lambda: encoder).embed([text])[0]
    assert np.isclose(np.linalg.norm(row), 1, atol=1e-5)
    assert len(text) / 510 <= encoder.passes < len(text) / 500
    assert encoder.most_tokens <= 2_048


# Cache and file


def same_arrays(one, other):
    return one.keys() == other.keys() and all(
        array.dtype == other[name].dtype and np.array_equal(array, other[name])
        for name, array in one.items()
    )


def test_the_cache_is_written_once(small_file, tmp_path):
    cache = tmp_path / "folder" / "cache"
    first = e5.load_parts(small_file, cache=cache).weights
    written = cache.stat()
    assert same_arrays(e5.load_parts(small_file, cache=cache).weights, first)
    assert cache.stat().st_mtime_ns == written.st_mtime_ns
    assert [path.name for path in cache.parent.iterdir()] == ["cache"]


def test_a_cache_that_is_not_whole_is_rebuilt(small_file, tmp_path):
    cache = tmp_path / "cache"
    first = e5.load_parts(small_file, cache=cache).weights
    whole = cache.read_bytes()
    step = len(whole) // 50
    damaged = [whole[:size] for size in (0, 1, 8, 100, len(whole) // 2, len(whole) - 1)]
    header = 8 + int.from_bytes(whole[:8], "little")
    damaged += [
        whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
        for place in [*range(0, header, 11), *range(header, len(whole), step)]
    ]
    damaged += [b"not a cache", b"\2" + b"\0" * 7 + b"[]", b'{"a":1}' * 100]
    metadata = b'{"__metadata__":[]}'
    damaged.append(len(metadata).to_bytes(8, "little") + metadata)
    for content in damaged:
        cache.unlink(missing_ok=True)
        cache.write_bytes(content)
        assert same_arrays(e5.load_parts(small_file, cache=cache).weights, first), content[:200]
    for number in (2, 3):
        other = write_packed(tmp_path / "other.bin", seed=number)
        e5.load_parts(other, cache=cache)  # a foreign cache, sound in itself
        assert same_arrays(e5.load_parts(small_file, cache=cache).weights, first)


def test_a_cache_that_cannot_be_written_is_bypassed(small_file, tmp_path, monkeypatch):
    first = e5.load_parts(small_file, cache=tmp_path / "cache").weights
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for cache in (tmp_path / "file" / "cache", tmp_path / "folder"):
        assert same_arrays(e5.load_parts(small_file, cache=cache).weights, first)
    monkeypatch.setattr("os.fsync", raise_no_space)
    assert same_arrays(e5.load_parts(small_file, cache=tmp_path / "new").weights, first)
    assert not (tmp_path / "new").exists()


def raise_no_space(_):
    raise OSError(28, "No space left on device")


LOADER = """
import sys, zlib
from pathlib import Path
from knotwork._extensions.local_models import e5

model, cache = map(Path, sys.argv[1:])
sums = set()
for _ in range(40):
    cache.unlink(missing_ok=True)
    arrays = e5.load_parts(model, cache=cache).weights
    sums.add(zlib.crc32(b"".join(array.tobytes() for array in arrays.values())))
print(sums)
"""


def test_two_processes_may_write_the_cache_at_once(small_file, tmp_path, start_process):
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", LOADER, str(small_file), str(cache)]
    started = [start_process(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert len(set(printed)) == 1
    assert printed[0].count(",") == 0
    assert "source" in read_tensors(cache).metadata
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "small.bin"]


def test_a_damaged_file_of_weights_is_named(small_file, tmp_path):
    whole = small_file.read_bytes()
    damaged = tmp_path / "damaged.bin"
    for content in (b"", b"E5S1", whole[:40], whole[:400], whole[:-1], b"GGUF" + whole[4:]):
        damaged.unlink(missing_ok=True)
        damaged.write_bytes(content)
        with pytest.raises(ModelError, match=r"damaged\.bin"):
            e5.load_parts(damaged, cache=tmp_path / "cache")
    for tensor in ("emb.pos", "l0.q.w", "l0.fo.b", "emb.ln.w"):
        write_packed(damaged, without=(tensor,))
        with pytest.raises(ModelError, match=rf"damaged\.bin.*{tensor}"):
            e5.load_parts(damaged, cache=tmp_path / "cache")
    with pytest.raises(ModelError, match=r"none\.bin"):
        e5.load_parts(tmp_path / "none.bin", cache=tmp_path / "cache")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1_500), st.integers(1, 255))
def test_a_changed_byte_raises_nothing_but_a_model_error(small_file, place, change):
    content = bytearray(small_file.read_bytes())
    content[place] ^= change
    path = small_file.with_name("changed.bin")
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    try:
        with np.errstate(over="ignore"):
            parts = e5.load_parts(path, cache=small_file.with_name("cache"))
        parts.tokenizer.encode("the bridge")
    except ModelError as error:
        assert "changed.bin" in str(error)  # noqa: PT017  not every change is noticed


# Graphs


def test_the_graphs_are_those_that_the_script_builds():
    pytest.importorskip("onnx")
    script = ROOT / "scripts" / "build_encoder_graphs.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True, timeout=120)


def test_the_library_leaves_no_telemetry(weights, tmp_path):
    code = (
        "from knotwork._config import EmbeddingSettings\n"
        "from knotwork._extensions.local_models.local_embedders import open_local\n"
        f"open_local({e5.MODEL!r}, EmbeddingSettings()).embed(['a text'])"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=environment)
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    assert written == {"knotwork"}
