"""Oracle of scattering: kymatio as installed, and kymatio in float64.

kymatio computes its filters in float32, and uses 3.1415 for pi. This module runs kymatio's code with float64 in place
of float32, and corrects the filters' factor. Everything else is kymatio's code.
"""

import numpy as np
import pytest


class _Double:
    """NumPy in which the names of the single precision types give the double precision types."""

    complex64, float32 = np.complex128, np.float64

    def __getattr__(self, name):
        return getattr(np, name)


def as_installed(shape, J, L):
    """kymatio's transform of images with this shape, as installed."""
    why = "kymatio is not installed: pip install -e '.[peers]'"
    frontend = pytest.importorskip("kymatio.scattering2d.frontend.numpy_frontend", reason=why)
    return frontend.ScatteringNumPy2D(J=J, shape=shape, L=L)


def in_double(shape, J, L):
    """kymatio's transform of images with this shape, with filters in float64."""
    transform = as_installed(shape, J, L)
    from kymatio.scattering2d import filter_bank

    rows, columns = transform.phi["levels"][0].shape
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filter_bank, "np", _Double())
        filters = filter_bank.filter_bank(rows, columns, J, L)
    for one in (filters["phi"], *filters["psi"]):
        one["levels"] = [level * 3.1415 / np.pi for level in one["levels"]]
    transform.phi, transform.psi = filters["phi"], filters["psi"]
    return transform
