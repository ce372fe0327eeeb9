"""Build the graphs of the encoders that run on onnxruntime: a few kilobytes each, without weights.

    python3 scripts/build_encoder_graphs.py [--check]

Needs the package `onnx`, which the product does not. `--check` compares with the files in the
source tree and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from knotwork._extensions.local_models import e5, minilm

FOLDER = Path(__file__).parents[1] / "src/knotwork/_extensions/local_models/graphs"
MICROSOFT = "com.microsoft"
IR_VERSION, OPSET = 9, 18


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a BERT-like encoder.

    ``int8`` multiplies in 8 bits, with scales of the activations from each sequence, but for the
    products named in ``exact``. A graph may hold a part of the layers: those from ``first`` on,
    which read what the layers before them give, up to ``layers``.
    """

    layers: int
    int8: bool
    first: int = 0
    hidden: int = 384
    inner: int = 1536
    heads: int = 12
    epsilon: float = 1e-12
    exact: frozenset[str] = frozenset()


GRAPHS = {
    minilm.GRAPH: Shape(layers=minilm.LAYERS, int8=False),
    e5.LOWER_GRAPH: Shape(layers=e5.LOWER_LAYERS, int8=True, exact=e5.EXACT_PRODUCTS),
    e5.UPPER_GRAPH: Shape(
        layers=e5.LAYERS, int8=True, first=e5.LOWER_LAYERS, exact=e5.EXACT_PRODUCTS
    ),
    e5.FLOAT_GRAPH: Shape(layers=e5.LAYERS, int8=False),
}


class Builder:
    """Gathers the nodes of one graph, and the names of the weights it is given later."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[TensorProto] = []

    def build(self) -> bytes:
        """Return the model: "embeddings" [1, length, hidden] in, "tokens" of that shape out."""
        shape = self._shape
        state = "embeddings" if shape.first else self._normalise("emb.ln", "embeddings")
        for layer in range(shape.first, shape.layers):
            state = self._layer(f"l{layer}", state)
        self._node("Identity", [state], "tokens")
        value = [1, "length", shape.hidden]
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, value)],
            [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, value)],
            initializer=self._weights,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        model.producer_name = "knotwork"
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _layer(self, prefix: str, state: str) -> str:
        shape = self._shape
        joint = self._multiply(f"{prefix}.qkv", state, shape.hidden, 3 * shape.hidden)
        heads = [f"{prefix}.{part}" for part in "qkv"]
        self._nodes.append(helper.make_node("Split", [joint], heads, axis=2, num_outputs=3))
        attended = self._node(
            "MultiHeadAttention", heads, f"{prefix}.attended", MICROSOFT, num_heads=shape.heads
        )
        out = self._multiply(f"{prefix}.ao", attended, shape.hidden, shape.hidden)
        middle = self._normalise(f"{prefix}.aln", self._node("Add", [out, state], f"{out}.sum"))
        wide = self._multiply(f"{prefix}.fi", middle, shape.hidden, shape.inner)
        active = self._node("Gelu", [wide], f"{prefix}.active", MICROSOFT)
        out = self._multiply(f"{prefix}.fo", active, shape.inner, shape.hidden)
        return self._normalise(f"{prefix}.oln", self._node("Add", [out, middle], f"{out}.sum"))

    def _multiply(self, name: str, state: str, inputs: int, outputs: int) -> str:
        bias = self._weight(f"{name}.b", [outputs])
        if not self._shape.int8 or name in self._shape.exact:
            weight = self._weight(f"{name}.w", [inputs, outputs])
            product = self._node("MatMul", [state, weight], f"{name}.product")
            return self._node("Add", [product, bias], f"{name}.out")
        integers = [
            self._weight(f"{name}.w", [inputs, outputs], TensorProto.INT8),
            self._weight(f"{name}.s", [outputs]),
            self._weight(f"{name}.z", [outputs], TensorProto.INT8),
        ]
        return self._node(
            "DynamicQuantizeMatMul", [state, *integers, bias], f"{name}.out", MICROSOFT
        )

    def _normalise(self, name: str, state: str) -> str:
        size = [self._shape.hidden]
        inputs = [state, self._weight(f"{name}.w", size), self._weight(f"{name}.b", size)]
        return self._node(
            "LayerNormalization", inputs, f"{name}.out", epsilon=self._shape.epsilon, axis=-1
        )

    def _weight(self, name: str, shape: list[int], kind: int = TensorProto.FLOAT) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights")
        self._weights.append(tensor)
        return name

    def _node(
        self, kind: str, inputs: list[str], output: str, domain: str = "", **options: float
    ) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **options))
        return output


def main() -> int:
    """Write the graphs, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    different = []
    for name, shape in GRAPHS.items():
        content, path = Builder(shape).build(), FOLDER / name
        if check and (not path.is_file() or path.read_bytes() != content):
            different.append(name)
        elif not check:
            path.write_bytes(content)
    if different:
        print(f"Not what this script builds: {', '.join(different)}", file=sys.stderr)  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
