"""Write small files in the format of the weights of multilingual-e5-small."""

import struct

import numpy as np

from knotwork._extensions.local_models import e5

DIMENSION, INNER, LAYERS, POSITIONS = 32, 64, 1, 16
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁bridge", "b", "e", "h", "r", "t", "▁桥"]


def write_packed(path, *, seed=1, pieces=PIECES, without=()):
    """Write a random model of one layer; ``without`` names the tensors to leave out."""
    random = np.random.default_rng(seed)
    texts = [piece.encode() for piece in pieces]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = -np.arange(len(pieces), dtype="<f4")
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7i", DIMENSION, LAYERS, 4, INNER, POSITIONS, 1, len(pieces))
    head += struct.pack("<fi", 1e-12, 32)
    head += struct.pack("<5i", len(pieces), 0, 2, 1, 3)
    text = b"".join(texts)
    head += struct.pack("<Q", len(text)) + offsets.tobytes() + scores.tobytes() + text
    head += struct.pack("<iI", 1, 1) + struct.pack("<IBI", ord("Ａ"), 1, ord("A"))
    tensors = {
        name: content
        for name, content in _random_tensors(random, len(pieces)).items()
        if name not in without
    }
    index = struct.pack("<i", len(tensors))
    size = len(head) + len(index) + sum(2 + len(name) + 21 for name in tensors)
    for name, (kind, content) in tensors.items():
        index += struct.pack("<H", len(name)) + name.encode()
        index += struct.pack("<BIQQ", kind, 0, size, len(content))
        size += len(content)
    path.write_bytes(head + index + b"".join(content for _, content in tensors.values()))
    return path


def _random_tensors(random, words):
    def floats(*shape):
        return 0, random.standard_normal(shape).astype("<f4").tobytes()

    def blocks(rows, columns):
        found = random.integers(0, 256, (rows * columns // 32, 18), dtype=np.uint8)
        found[:, :2] = np.float16([0.01]).view(np.uint8)
        return 1, found.tobytes()

    tensors = {
        "emb.word": blocks(words, DIMENSION),
        "emb.pos": floats(POSITIONS, DIMENSION),
        "emb.type": floats(2, DIMENSION),
    }
    for name in ("emb.ln", *(f"l{layer}.{n}" for layer in range(LAYERS) for n in e5.NORMS)):
        tensors |= {f"{name}.{part}": floats(DIMENSION) for part in "wb"}
    for layer in range(LAYERS):
        sizes = dict.fromkeys(("q", "k", "v", "ao"), (DIMENSION, DIMENSION))
        sizes |= {"fi": (INNER, DIMENSION), "fo": (DIMENSION, INNER)}
        for part, (rows, columns) in sizes.items():
            tensors[f"l{layer}.{part}.w"] = blocks(rows, columns)
            tensors[f"l{layer}.{part}.b"] = floats(rows)
    return tensors
