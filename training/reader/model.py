"""The part of the reader that is trained: a small transformer over states of the embedder."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

STATE = 384
"""The width of the embedder's states."""
WIDTH, INNER, ATTENTION_HEADS, LAYERS = 128, 512, 4, 3
HEADS = ("start", "end", "sentence")
DROPOUT = 0.1
IMPOSSIBLE = -1e4
MARKED = 3
"""Tokens before the words of a text: the one that opens a sequence, and the two of its prompt. One
more, that closes it, stands behind them."""
NEARNESS = (0.25, 0.35, 0.45, 0.6, 0.75, 0.9)
NEARNESS_WIDTH = 0.08


class Layer(nn.Module):
    """A layer of a transformer that normalises what goes into attention and products."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.inner_norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(INNER, WIDTH)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        parts = self.qkv(self.attention_norm(states)).unflatten(2, (3, ATTENTION_HEADS, -1))
        queries, keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        attended = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        states = states + self.drop(self.out(attended.transpose(1, 2).flatten(2)))
        inner = functional.gelu(self.up(self.inner_norm(states)))
        return states + self.drop(self.down(inner))


class ReaderModel(nn.Module):
    """States of a question and of a passage in, one number a token and head out.

    The embedder reads the two separately, so that neither depends on the other. Each token carries
    a vector for the text that it is of, and one for its similarity to the other text.
    """

    def __init__(self) -> None:
        super().__init__()
        self.state_norm = nn.LayerNorm(STATE)
        self.narrow = nn.Linear(STATE, WIDTH)
        self.kinds = nn.Parameter(torch.zeros(2, WIDTH))
        self.near = nn.Parameter(0.1 * torch.randn(len(NEARNESS), WIDTH))
        self.drop = nn.Dropout(DROPOUT)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.heads = nn.Linear(WIDTH, len(HEADS))

    def forward(
        self, states: Tensor, kinds: Tensor, words: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Return scores of shape (batch, length, heads).

        ``states`` has those of the question, then of the passage, (batch, length, `STATE`);
        ``kinds`` is 0 for the first and 1 for the second. ``words`` is 0 for the tokens around a
        text, ``mask`` True where a token is.
        """
        near = spread(nearest(states, kinds, words))
        states = self.narrow(self.drop(self.state_norm(states)))
        states = states + self.kinds[kinds] + near @ self.near
        shown = None if mask is None else mask[:, None, None, :]
        for layer in self.layers:
            states = layer(states, shown)
        found: Tensor = self.heads(self.norm(states))
        return found


@torch.no_grad()
def nearest(states: Tensor, kinds: Tensor, words: Tensor) -> Tensor:
    """Return for each word its largest cosine with a word of the other text, 0 for other tokens."""
    unit = functional.normalize(states, dim=-1)
    cosines = unit @ unit.transpose(1, 2)
    others = (kinds[:, :, None] != kinds[:, None, :]) & (words[:, None, :] > 0)
    found: Tensor = (cosines * others).amax(dim=2)
    return found * words


def spread(values: Tensor) -> Tensor:
    """Return how near each value is to each of `NEARNESS`, from 0 to 1."""
    centres = torch.tensor(NEARNESS, device=values.device)
    return torch.exp(-0.5 * ((values[..., None] - centres) / NEARNESS_WIDTH) ** 2)


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of a question and a passage, padded to one length.

    ``readable`` marks the tokens of the passage's own text and the first of the question, which
    stands for "no answer here". ``owners`` has the number of the sentence of each token, 0 for that
    first one, and as many as there are sentences for tokens of none. ``starts``, ``ends`` and
    ``gold`` mark targets; a row of ``starts`` without any is not learned from.
    """

    states: Tensor
    kinds: Tensor
    words: Tensor
    mask: Tensor
    readable: Tensor
    owners: Tensor
    sentences: int
    starts: Tensor
    ends: Tensor
    gold: Tensor


def score_sentences(scores: Tensor, batch: Batch) -> Tensor:
    """Return a score for each sentence, the mean of its tokens' scores; column 0 is "none"."""
    sums = scores.new_zeros(len(scores), batch.sentences + 1)
    sums.scatter_add_(1, batch.owners, scores)
    counts = torch.zeros_like(sums).scatter_add_(1, batch.owners, torch.ones_like(scores))
    means = sums / counts.clamp(min=1)
    return means.masked_fill(counts == 0, IMPOSSIBLE)[:, : batch.sentences]


def loss_of(scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the mean losses of spans and of sentences: -log of the sum over all right ones."""
    hidden = ~batch.readable
    spans = [
        _marginal(scores[..., head].masked_fill(hidden, IMPOSSIBLE), targets)
        for head, targets in ((0, batch.starts), (1, batch.ends))
    ]
    sentences = _marginal(score_sentences(scores[..., 2], batch), batch.gold)
    return (spans[0] + spans[1]) / 2, sentences


def _marginal(scores: Tensor, targets: Tensor) -> Tensor:
    known = targets.any(dim=1)
    if not known.any():
        return scores.sum() * 0
    scores, targets = scores[known], targets[known]
    right = scores.masked_fill(~targets, IMPOSSIBLE).logsumexp(1)
    return (scores.logsumexp(1) - right).mean()
