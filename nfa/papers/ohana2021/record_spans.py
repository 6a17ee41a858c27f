"""The spans of the records that a unit fires for: on one of them lives a row of the update, and nowhere else."""

import numpy as np

SPAN_TOLERANCE = 1e-10  # a record of length 1 that leaves a span by less counts as inside
RANK_TOLERANCE = 1e-12  # singular values, of records of length 1, that count as 0 beside the largest


class RecordSpans:
    """The spans of the records that a unit fires for; that of all of them is worked out once."""

    def __init__(self, h: np.ndarray) -> None:
        self.h, self.rows = h, unit_rows(h)
        self.whole = _basis(self.rows)
        self._last = self.whole, self.h @ self.whole

    def of(self, fires: np.ndarray) -> np.ndarray:
        """Orthonormal basis (n_{l-1}, k) of the span of h[fires]."""
        return self.whole if fires.all() else _basis(self.rows[fires])

    def along(self, V: np.ndarray) -> np.ndarray:
        """h in coordinates of V; those of the last V are kept, as most units have one and the same."""
        if V is not self._last[0]:
            self._last = V, self.h @ V
        return self._last[1]

    def noise_basis(self, dphi_j: np.ndarray) -> np.ndarray:
        """Orthonormal basis (m, k) of what the release shows of the noise g_1j..g_mj: the columns of Phi_j H."""
        fires = dphi_j != 0
        V = self.of(fires)
        if V.shape[1] == fires.sum():  # the records are independent: all of their noise shows
            return np.diag(fires.astype(float))[:, fires]
        return np.linalg.qr(dphi_j[:, None] * self.along(V))[0]


def unit_rows(h: np.ndarray) -> np.ndarray:
    """The rows of h at length 1; rows of zeros stay."""
    h = h / np.where(h.any(axis=1), np.abs(h).max(axis=1), 1)[:, None]
    return h / np.where(h.any(axis=1), np.linalg.norm(h, axis=1), 1)[:, None]


def _basis(rows: np.ndarray) -> np.ndarray:
    """Orthonormal basis (n, k) of the span of rows of length 1 or 0."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return Vt[s > RANK_TOLERANCE * s.max(initial=0)].T


def leave(rows: np.ndarray, V: np.ndarray) -> bool:
    """Whether a row leaves the span of the orthonormal columns of V."""
    return bool(np.linalg.norm(rows - (rows @ V) @ V.T, axis=1).max(initial=0) > SPAN_TOLERANCE)
