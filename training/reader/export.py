"""Write the trained reader as the package ships it, one file for onnxruntime.

    python training/reader/export.py --model DIR/reader.pt [--output FILE] [--mean-with GRAPH]

With `--mean-with`, the weights are the mean of those of the model and of a graph, on which its
training began: the mean forgets less (WiSE-FT, Wortsman et al., CVPR 2022, arXiv:2109.01903).

The graph takes the states of one question and of one passage, with the tokens around them, and
gives scores of the question's first token and of each token of the passage.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from model import MARKED, STATE, ReaderModel
from torch import Tensor, nn

from knotwork._extensions.local_models.answer_reader import READER_GRAPH

OPSET = 18
LARGEST_ERROR = 1e-3


class OnePair(nn.Module):
    """The reader on one question and one passage, without padding."""

    def __init__(self, model: ReaderModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, question: Tensor, passage: Tensor) -> Tensor:
        """Take (1, tokens, `STATE`) twice, return (1, 1 + tokens of the passage, heads)."""
        both = (question, passage)
        kinds = [torch.full_like(part[..., 0], number) for number, part in enumerate(both)]
        words = []
        for part in both:
            inner = torch.ones_like(part[:, MARKED:-1, 0])
            words += [
                torch.zeros_like(part[:, :MARKED, 0]),
                inner,
                torch.zeros_like(part[:, :1, 0]),
            ]
        scores = self.model(torch.cat(both, 1), torch.cat(kinds, 1).long(), torch.cat(words, 1))
        return torch.cat([scores[:, :1], scores[:, question.shape[1] :]], 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=READER_GRAPH)
    parser.add_argument("--mean-with", type=Path)
    options = parser.parse_args()
    model = ReaderModel()
    state = torch.load(options.model, map_location="cpu")
    state = state.get("model", state)
    if options.mean_with is not None:
        other = read_graph(options.mean_with).state_dict()
        state = {name: (weights + other[name]) / 2 for name, weights in state.items()}
    model.load_state_dict(state)
    pair = OnePair(model.eval()).eval()
    example = (torch.randn(1, 12, STATE), torch.randn(1, 90, STATE))
    torch.onnx.export(
        pair, example, str(options.output), opset_version=OPSET, dynamo=False,
        input_names=["question", "passage"], output_names=["scores"],
        dynamic_axes={"question": {1: "asked"}, "passage": {1: "read"}, "scores": {1: "scored"}},
    )  # fmt: skip
    check(pair, options.output)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.1f} MB")


def read_graph(path: Path) -> ReaderModel:
    """Return the model that `main` wrote. A graph names biases, and has the matrices in order."""
    found = [
        (part.name, onnx.numpy_helper.to_array(part)) for part in onnx.load(path).graph.initializer
    ]
    named = {name.removeprefix("model."): torch.tensor(values) for name, values in found}
    matrices = iter([torch.tensor(v.T.copy()) for name, v in found if "MatMul" in name])
    model = ReaderModel()
    model.load_state_dict(
        {k: named[k] if k in named else next(matrices) for k in model.state_dict()}
    )
    return model


@torch.no_grad()
def check(pair: OnePair, path: Path) -> None:
    """Compare the file with the model on texts of other lengths."""
    session = onnxruntime.InferenceSession(str(path))
    for asked, read in ((5, 6), (7, 300), (60, 41)):
        question, passage = torch.randn(1, asked, STATE), torch.randn(1, read, STATE)
        inputs = {"question": question.numpy(), "passage": passage.numpy()}
        error = np.abs(session.run(None, inputs)[0] - pair(question, passage).numpy()).max()
        assert error < LARGEST_ERROR, f"scores differ by {error} for {asked} and {read} tokens"


if __name__ == "__main__":
    main()
