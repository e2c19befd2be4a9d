"""The fast Walsh-Hadamard transform.

Sylvester's matrix of order 2K consists of four copies of the matrix of order K, of which the last is negated. So log2 K
passes of sums and differences multiply a vector by the matrix of order K in K log2 K steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def walsh(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the product of Sylvester's Hadamard matrix with each vector.

        out[..., r] = sum over c of (-1)^popcount(r & c) * vectors[..., c]

    Args:
        vectors: (..., K) the vectors; K is a power of two. Integers stay integers, so counts are transformed exactly.
    Raises:
        ValueError: K is not a power of two.
    """
    order = vectors.shape[-1]
    if order < 1 or order & (order - 1):
        raise ValueError(f"the length of a vector to transform must be a power of two, not {order}")
    out = np.array(vectors, order="C")
    half = 1
    while half < order:
        pairs = out.reshape(-1, order // (2 * half), 2, half)
        upper = pairs[:, :, 0] + pairs[:, :, 1]
        pairs[:, :, 1] = pairs[:, :, 0] - pairs[:, :, 1]
        pairs[:, :, 0] = upper
        half *= 2
    return out
