"""Small arithmetic on vectors that embedders share."""

from __future__ import annotations

import numpy as np

from knotwork.inference.base import FloatMatrix


def normalise_rows(rows: FloatMatrix) -> FloatMatrix:
    """Return the rows scaled to length 1, as float32; a row of zeros stays one."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    scaled: FloatMatrix = np.divide(
        rows, lengths, out=np.zeros(rows.shape, dtype=np.float32), where=lengths > 0
    )
    return scaled
