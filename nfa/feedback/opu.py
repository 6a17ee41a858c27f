r"""The optical processing unit (OPU): light scattered by a fixed random medium computes a random projection.

`OPU` simulates an OPU, and `nfa.feedback.lighton.LightOnOPU` controls LightOn's OPU. Both classes have the method
``project`` for a ternary e, and the methods ``linear`` and ``intensity`` for a binary x. Both have the attributes
``n_in`` and ``n_out``. Their instances take the place of feedback matrices, for example in ``dfa(...,
project=optical)``.

1. A mirror is lit or dark. x in {0, 1}^n_in lights some of n_in mirrors. The anchor a lights n_anchor further mirrors.
2. The field at the camera's pixel j is (R x)_j. The medium R is complex Gaussian and fixed.
3. The camera measures intensities, I_x = |R x|^2, with shot noise, dark noise, saturation and rounding
   (`nfa.feedback.camera`).
4. An intensity is not linear in x, but `nfa.feedback.camera.recover` computes B x from I_{x+a}, I_x and I_a.
5. For e in {-1, 0, 1}^n_in, two such projections give B e = B e_+ - B e_-.

Units: intensities are in units of the mean intensity from one lit mirror. Outputs are in units in which the entries of
B are N(0, scale^2). All noise comes from the ``rng`` of the call. The medium never changes.
"""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from nfa.feedback.camera import Camera, recover
from nfa.feedback.lighton import LightOnOPU
from nfa.feedback.mirrors import binary_images, check_opu, distinct_rows, noisy, ternarize, two_images
from nfa.feedback.never_stored import UnstoredMedium, tile


class OPU:
    r"""A simulated OPU: a fixed complex Gaussian medium, an anchor in addition to the data's mirrors, and a camera.

    Parameters
    ----------
    n_in, n_out : int >= 1, the inputs (mirrors for the data) and the outputs (pixels of the camera)
    rng : numpy.random.Generator that draws the medium: first Re R, then Im R, each (n_out, n_in + n_anchor) normals; or
        the keys of Re R and Im R, if the medium is not stored
    scale : float > 0, std of the entries of B
    n_anchor : int >= 1, number of the anchor's mirrors, which the data do not use. With more mirrors, dim pixels have
        less noise.
    camera : Camera, ideal if not given
    anchor_shot : True if every projection measures I_a again; False if I_a comes from a calibration without noise
    noise_std : float >= 0 or None, std of Gaussian noise added to every output of `linear`. This noise is the paper's
        model and not a property of the camera. The noise of `project`, a difference of two outputs, has std sqrt(2)
        noise_std.
    stored : if False, the medium is computed when needed and never stored as a whole, as in a real OPU. The medium then
        has other entries of the same law, with the precision of float32.
    make : function like `nfa.feedback.never_stored.tile`, for a medium that is not stored
    product : function like `numpy.matmul`; with `nfa.kernels.rows.matmul`, the field of an example depends only on that
        example

    Attributes
    ----------
    R : (n_out, n_in + n_anchor) complex array, entries with E|R_jk|^2 = 1; the anchor's columns are the last
    B : (n_out, n_in) array, the real matrix by which an OPU without noise and rounding multiplies. If the medium is not
        stored, R and B are computed as a whole on demand

    Raises
    ------
    ValueError : for sizes below 1, a scale that is not positive and finite, or a negative noise_std

    Notes
    -----
    Guarantees: the entries of B are independent and N(0, scale^2). Without noise, saturation and rounding,
    ``linear(x)`` is x @ B.T up to rounding errors, and draws nothing. If the dtype of the input is a float, results
    have this dtype. Equal rows of x give equal intensities. These intensities are computed only once, because a batch
    has few distinct ternary errors.

    Examples
    --------
    >>> opu = OPU(3, 500, rng=np.random.default_rng(0))
    >>> e = np.array([[1.0, 0.0, -1.0]])
    >>> bool(np.allclose(opu.project(e), e @ opu.B.T))
    True
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        *,
        rng: np.random.Generator,
        scale: float = 1.0,
        n_anchor: int = 16,
        camera: Camera | None = None,
        anchor_shot: bool = False,
        noise_std: float | None = None,
        stored: bool = True,
        make: Callable = tile,
        product: Callable = np.matmul,
    ) -> None:
        check_opu(n_in=n_in, n_out=n_out, n_anchor=n_anchor, scale=scale, noise_std=noise_std)
        self.n_in, self.n_out, self.n_anchor = n_in, n_out, n_anchor
        self.scale, self.noise_std = float(scale), noise_std
        self.camera, self.anchor_shot = Camera() if camera is None else camera, anchor_shot
        self.make, self.product = make, product
        if not isinstance(stored, bool):
            raise ValueError(f"`stored` must be true or false for the medium of an OPU, got {stored!r}")
        self.medium: np.ndarray | UnstoredMedium
        if stored:
            size = (n_out, n_in + n_anchor)
            self.medium = (rng.standard_normal(size) + 1j * rng.standard_normal(size)) / math.sqrt(2)
        else:
            self.medium = UnstoredMedium(n_in + n_anchor, n_out, rng=rng, make=make, product=product)

    @property
    def R(self) -> np.ndarray:
        return self.medium.stored() if isinstance(self.medium, UnstoredMedium) else self.medium

    @property
    def anchor(self) -> np.ndarray:
        """The field of the anchor alone, R a, (n_out,)."""
        return self._anchor if isinstance(self.medium, UnstoredMedium) else self.medium[:, self.n_in :].sum(axis=1)

    @cached_property
    def _anchor(self) -> np.ndarray:
        assert isinstance(self.medium, UnstoredMedium)
        a = np.pad(np.ones((1, self.n_anchor)), ((0, 0), (self.n_in, 0)))
        return self.medium.field(a)[0]

    @property
    def B(self) -> np.ndarray:
        in_phase = (self.anchor.conj() / np.abs(self.anchor))[:, None] * self.R[:, : self.n_in]
        return math.sqrt(2) * self.scale * in_phase.real

    def field(self, x: np.ndarray) -> np.ndarray:
        """The complex field R x at every pixel, (m, n_in) -> (m, n_out), which no camera can measure."""
        if isinstance(self.medium, UnstoredMedium):
            return self.medium.field(np.pad(x, ((0, 0), (0, self.n_anchor))))
        R = self.medium[:, : self.n_in].astype(np.result_type(x.dtype, np.complex64), copy=False)
        return self.product(x, R.T)

    def intensity(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """One exposure with the mirrors x lit and the anchor dark: the camera's reading of |R x|^2, (m, n_out).

        Raises ValueError if x is not binary, or if noise needs an rng and there is none. The random samples are those
        of `Camera.read`.
        """
        x = binary_images(x, self.n_in)
        return self.camera.read(_square(self.field(x)), rng=rng).astype(x.dtype, copy=False)

    def linear(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B x, computed from exposures with x and the anchor, with x and, for ``anchor_shot``, with the anchor.

        Source: [ohana2021:eq5] [ohana2021:eq10]

        Raises ValueError if x is not binary, or if noise needs an rng and there is none. The random samples of the
        exposures are drawn in this order, for each row of x. The normals of ``noise_std`` are drawn last.
        """
        x, which = distinct_rows(binary_images(x, self.n_in))  # (d, n_in), (m,)
        E_x = self.field(x)  # (d, n_out)
        E_a = self.anchor.astype(E_x.dtype, copy=False)  # (n_out,)
        I_xa, I_x, I_a = _square(E_x + E_a), _square(E_x), _square(E_a)
        if self.camera.draws:  # every exposure has its own noise
            I_xa, I_x, which = I_xa[which], I_x[which], slice(None)  # (m, n_out)
        seen_xa = self.camera.read(I_xa, rng=rng)  # (m, n_out), or (d, n_out) for a camera without noise
        seen_x = self.camera.read(I_x, rng=rng)
        seen_a = self.camera.read(np.tile(I_a, (len(I_x), 1)), rng=rng) if self.anchor_shot else I_a
        p = math.sqrt(2) * self.scale * recover(seen_xa, seen_x, seen_a, strength=I_a)
        return noisy(p.astype(x.dtype, copy=False)[which], self.noise_std, rng)  # (m, n_out)

    def project(self, e: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B e for a ternary e, as B e_+ - B e_- from two linear projections. The projection of e_+ is the first.

        Source: [ohana2021:exp-twoproj]

        Raises ValueError if e is not ternary, or if noise needs an rng and there is none.
        """
        plus, minus = two_images(e)
        if self.camera.draws or self.noise_std:
            return self.linear(plus, rng=rng) - self.linear(minus, rng=rng)
        # (d, n_in); without noise, equal rows have equal results.
        e, which = distinct_rows(binary_images(plus, self.n_in) - minus)
        plus, minus = two_images(e)
        return (self.linear(plus) - self.linear(minus))[which]  # (m, n_out)


def optical(
    e: np.ndarray,
    opu: OPU | LightOnOPU,
    *,
    threshold: float | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Project each error by an OPU. Use it as a rule's ``project`` if the list B has an OPU for each hidden layer.

    Source: [ohana2021:exp-ternary] [ohana2021:exp-twoproj] [ohana2021:noise-negligible]

    Parameters
    ----------
    e : (m, n_in) array, one error per row
    opu : OPU or LightOnOPU
    threshold : float >= 0, with which e is first made ternary (`nfa.feedback.ternarize`); if None, e must be ternary
    rng : numpy.random.Generator, needed if the OPU has noise

    Returns
    -------
    p : (m, n_out) array of e's dtype

    Raises
    ------
    ValueError : if e is not ternary and there is no threshold, or if noise needs an rng and there is none
    """
    return opu.project(e if threshold is None else ternarize(e, threshold), rng=rng)


def _square(field):
    return field.real**2 + field.imag**2
