r"""The optical processing unit (OPU): light scattered by a fixed random medium computes a random projection.

`OPU` simulates it; `LightOnOPU` drives LightOn's. Both offer ``project`` (ternary e), ``linear`` and ``intensity``
(binary x), ``n_in`` and ``n_out``, and take the place of a feedback matrix: ``dfa(..., project=optical)``.

1. Mirrors are lit or dark: x in {0, 1}^n_in lights n_in of them, the anchor a is n_anchor further ones.
2. The field at the camera's pixel j is (R x)_j, with R complex Gaussian and fixed: the medium.
3. The camera sees intensities, I_x = |R x|^2, with shot noise, dark noise, saturation and rounding
   (`nfa.feedback.camera`).
4. An intensity is not linear in x, but `nfa.feedback.camera.recover` finds a projection B x from I_{x+a}, I_x and I_a.
5. An e in {-1, 0, 1}^n_in is projected in two such measurements, B e_+ - B e_-.

Units: intensities are in units of the mean intensity that one lit mirror causes, outputs in units in which the entries
of B are N(0, scale^2). Whatever noise there is comes from the ``rng`` of the call; the medium never changes.
"""

import math
import warnings

import numpy as np

from nfa import require
from nfa.clip import ternarize
from nfa.feedback.camera import Camera, check_std, needed, recover


class NoDevice(OSError):
    """Raised where the software or the hardware of an OPU is missing; the message is one sentence."""


class OPU:
    r"""A simulated OPU: a fixed complex Gaussian medium, an anchor beside the data's mirrors, and a camera.

    Parameters
    ----------
    n_in, n_out : int >= 1, mirrors for the data and pixels of the camera: what comes in and what goes out
    rng : numpy.random.Generator, draws the medium: Re R, then Im R, each (n_out, n_in + n_anchor) normals
    scale : float > 0, std of the entries of B
    n_anchor : int >= 1, mirrors of the anchor, none of which the data uses. The more, the less noise in the dim pixels.
    camera : Camera, ideal if not given
    anchor_shot : whether every projection measures I_a again, or takes it from a noise-free calibration
    noise_std : float >= 0 or None, std of Gaussian noise added to every output of `linear`: the paper's model, which
        is no property of the camera. `project`, two of these subtracted, has sqrt(2) noise_std.

    Attributes
    ----------
    R : (n_out, n_in + n_anchor) complex array, entries with E|R_jk|^2 = 1; the anchor's columns are the last
    B : (n_out, n_in) array, the real matrix by which an OPU without noise and rounding multiplies

    Raises
    ------
    ValueError : for sizes below 1, a scale that is not positive and finite, or a negative noise_std

    Notes
    -----
    Guarantees: the entries of B are independent and N(0, scale^2). Without noise, saturation and rounding ``linear(x)``
    is x @ B.T up to rounding errors, and draws nothing. Answers have the dtype of the input, if that is a float.

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
    ) -> None:
        _check_sizes(n_in=n_in, n_out=n_out, n_anchor=n_anchor)
        _check_scale(scale)
        check_std("noise_std", noise_std)
        self.n_in, self.n_out, self.n_anchor = n_in, n_out, n_anchor
        self.scale, self.noise_std = float(scale), noise_std
        self.camera, self.anchor_shot = Camera() if camera is None else camera, anchor_shot
        size = (n_out, n_in + n_anchor)
        self.R = (rng.standard_normal(size) + 1j * rng.standard_normal(size)) / math.sqrt(2)

    @property
    def anchor(self) -> np.ndarray:
        """The field of the anchor alone, R a, (n_out,)."""
        return self.R[:, self.n_in :].sum(axis=1)

    @property
    def B(self) -> np.ndarray:
        in_phase = (self.anchor.conj() / np.abs(self.anchor))[:, None] * self.R[:, : self.n_in]
        return math.sqrt(2) * self.scale * in_phase.real

    def field(self, x: np.ndarray) -> np.ndarray:
        """The complex field R x at every pixel, (m, n_in) -> (m, n_out); what no camera sees."""
        R = self.R[:, : self.n_in].astype(np.result_type(x.dtype, np.complex64), copy=False)
        return x @ R.T

    def intensity(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """One exposure with the mirrors x lit and the anchor dark: |R x|^2 as the camera reads it, (m, n_out).

        Raises ValueError if x is not binary, or for a noise without an rng. Draws what `Camera.read` draws.
        """
        x = _binary(x, self.n_in)
        return self.camera.read(_square(self.field(x)), rng=rng).astype(x.dtype, copy=False)

    def linear(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B x, recovered from exposures with x and the anchor, with x, and (``anchor_shot``) with the anchor.

        Source: [ohana2021:eq5] [ohana2021:eq10]

        Raises ValueError if x is not binary, or for a noise without an rng. Draws for the exposures in this order, one
        set a row of x, then the normals of ``noise_std``.
        """
        x = _binary(x, self.n_in)
        E_x = self.field(x)  # (m, n_out)
        E_a = self.anchor.astype(E_x.dtype, copy=False)  # (n_out,)
        I_a = _square(E_a)
        seen_xa = self.camera.read(_square(E_x + E_a), rng=rng)  # (m, n_out)
        seen_x = self.camera.read(_square(E_x), rng=rng)
        seen_a = self.camera.read(np.tile(I_a, (len(x), 1)), rng=rng) if self.anchor_shot else I_a
        p = math.sqrt(2) * self.scale * recover(seen_xa, seen_x, seen_a, strength=I_a)
        return _add_normal(p.astype(x.dtype, copy=False), self.noise_std, rng)

    def project(self, e: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B e for a ternary e, as B e_+ - B e_- from two linear projections, the first with the first draws.

        Source: [ohana2021:exp-twoproj]

        Raises ValueError if e is not ternary, or for a noise without an rng.
        """
        plus, minus = two_images(e)
        return self.linear(plus, rng=rng) - self.linear(minus, rng=rng)


class LightOnOPU:
    """LightOn's OPU through the library lightonml: its simulated device, or by the same calls the hardware.

    Parameters
    ----------
    n_in, n_out : int >= 1
    rng : numpy.random.Generator, draws the seed of the simulated device (lightonml would give every device the same
        matrix); the hardware needs none
    scale : float > 0, std of the entries of B
    noise_std : float >= 0 or None, as in `OPU`: added to what the device returns. The simulated device has no noise,
        and the paper too adds its noise numerically.
    simulated : False takes the OPU attached to this computer

    Attributes
    ----------
    B : (n_out, n_in) float32 array, the simulated device's matrix; None with the hardware, whose matrix nobody knows

    Raises
    ------
    NoDevice : if lightonml is not installed, or no OPU attached
    ValueError : for sizes below 1, a scale that is not positive and finite, a negative noise_std, or without an rng
        for the simulated device

    Notes
    -----
    lightonml computes in float32; answers have the dtype of the input, if that is a float. The linear mode of the
    simulated device is Re(R x) without any intensity. With the hardware the scale is what lightonml documents for its
    "variance" rescaling; it has not been compared with a device.
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        *,
        rng: np.random.Generator | None = None,
        scale: float = 1.0,
        noise_std: float | None = None,
        simulated: bool = True,
    ) -> None:
        _check_sizes(n_in=n_in, n_out=n_out)
        _check_scale(scale)
        check_std("noise_std", noise_std)
        self.n_in, self.n_out, self.noise_std = n_in, n_out, noise_std
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)
                import lightonml
        except ImportError as missing:
            raise NoDevice(
                f"lightonml cannot be imported ({missing}): install it with "
                "`pip install 'setuptools<81' attrs requests numexpr` and `pip install --no-deps lightonml==1.4.3`"
            ) from missing
        try:
            self.driver = lightonml.OPU(n_components=n_out, max_n_features=n_in, simulated=simulated)
        except (ImportError, RuntimeError) as missing:
            why = str(missing).partition("\n")[0]
            raise NoDevice(f"lightonml finds no OPU at this computer ({why}); simulated=True needs none") from missing
        self.B: np.ndarray | None = None
        # lightonml divides by sqrt(n_in), and its simulated matrix has entries of std 1 / sqrt(n_in) besides.
        self._unit = float(scale) * math.sqrt(n_in)
        self._intensity_unit = 1.0
        if simulated:
            seed = int(needed(rng, "the seed of a simulated device").integers(2**32))
            self.driver.device.build_random_matrix(n_in, n_out, seed=seed)
            self.B = self.driver.device.random_matrix.real.T * np.float32(self._unit)
            self._unit *= math.sqrt(n_in)
            self._intensity_unit = n_in / 2
        self.driver.fit1d(n_features=n_in)

    def intensity(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """|R x|^2 for a binary x, (m, n_out): without noise and in units of intensity from the simulated device, in
        counts of its camera from the hardware. Draws nothing. Raises ValueError if x is not binary."""
        return self._ask(self.driver.transform, _binary(x, self.n_in), self._intensity_unit)

    def linear(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B x for a binary x, (m, n_out), plus the normals of ``noise_std``.

        Source: [ohana2021:eq5] [ohana2021:eq10]

        Raises ValueError as `OPU.linear`.
        """
        p = self._ask(self.driver.linear_transform, _binary(x, self.n_in), self._unit)
        return _add_normal(p, self.noise_std, rng)

    def project(self, e: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B e for a ternary e, as B e_+ - B e_- from two linear projections. Raises ValueError as `OPU.project`.

        Source: [ohana2021:exp-twoproj]
        """
        plus, minus = two_images(e)
        return self.linear(plus, rng=rng) - self.linear(minus, rng=rng)

    def _ask(self, transform, x, unit):
        answer = transform(x.astype(np.uint8)) if len(x) else np.empty(0)  # lightonml refuses an empty batch
        return np.asarray(answer, dtype=x.dtype).reshape(len(x), self.n_out) * unit


def two_images(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The binary e_+ and e_- with e = e_+ - e_-, in e's dtype; e in {-1, 0, 1}, else ValueError.

    Source: [ohana2021:exp-twoproj]

    Examples
    --------
    >>> plus, minus = two_images(np.array([[1.0, 0.0, -1.0]]))
    >>> plus.tolist(), minus.tolist()
    ([[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
    """
    e = np.asarray(e)
    wrong = e[~((e == 0) | (e == 1) | (e == -1))]
    if wrong.size:
        raise ValueError(f"an error for an OPU must be ternary, -1, 0 or 1 (see clip.ternarize), got {wrong[0]}")
    return (e > 0).astype(e.dtype), (e < 0).astype(e.dtype)


def optical(
    e: np.ndarray,
    opu: OPU | LightOnOPU,
    *,
    threshold: float | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Project each error by an OPU: what a rule takes for ``project``, with one OPU a hidden layer in the list B.

    Source: [ohana2021:exp-ternary] [ohana2021:exp-twoproj]

    Parameters
    ----------
    e : (m, n_in) array, an error a row
    opu : OPU or LightOnOPU
    threshold : float >= 0, makes e ternary first (`nfa.clip.ternarize`); without it e must be ternary already
    rng : numpy.random.Generator, needed where the OPU has noise

    Returns
    -------
    p : (m, n_out) array of e's dtype

    Raises
    ------
    ValueError : if e is not ternary and there is no threshold, or for a noise without an rng
    """
    return opu.project(e if threshold is None else ternarize(e, threshold), rng=rng)


def _square(field):
    return field.real**2 + field.imag**2


def _binary(x, n_in):
    """x as an array of floats, (m, n_in), if it can be shown on n_in mirrors."""
    x = np.asarray(x)
    if x.ndim != 2 or x.shape[1] != n_in:
        raise ValueError(f"the input of an OPU with {n_in} mirrors must have the shape (m, {n_in}), got {x.shape}")
    wrong = x[~((x == 0) | (x == 1))]
    if wrong.size:
        raise ValueError(f"the input of an OPU must be binary, 0 or 1, got {wrong[0]}")
    return x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float64)


def _add_normal(p, std, rng):
    if not std:
        return p
    g = needed(rng, f"noise_std={std}").standard_normal(p.shape).astype(p.dtype)
    return p + p.dtype.type(std) * g


def _check_sizes(**sizes):
    require.whole(1, **{f"{name} of an OPU": size for name, size in sizes.items()})


def _check_scale(scale):
    require.positive(**{"the scale of an OPU": scale})
