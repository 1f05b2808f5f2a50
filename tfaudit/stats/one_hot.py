"""Labels as machine-learning code passes them around: integers, a column of them, or one-hot rows."""

import numpy as np


def without_one_hot(labels: np.ndarray) -> np.ndarray:
    """Return classes `(N,)` from one-hot rows `(N, C)` or a column `(N, 1)`; other arrays are returned as they are.

    Example:
        >>> without_one_hot(np.array([[0.0, 1.0], [1.0, 0.0]])), without_one_hot(np.array([[2], [0]]))
        (array([1, 0]), array([2, 0]))
    """
    if labels.ndim != 2 or labels.dtype.kind not in "iufb":
        return labels
    if labels.shape[1] == 1:
        return labels[:, 0]
    one_hot = bool(np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all())
    return labels.argmax(axis=1) if one_hot else labels
