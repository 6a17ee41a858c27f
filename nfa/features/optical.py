r"""Optical features: the intensities |B x|^2 of light that a random medium scatters, as measured by a camera.

We use the simulated medium of `nfa.feedback.opu` and the camera of `nfa.feedback.camera`. The device of
`nfa.feedback.opu` displays binary images. For features, the amplitude of each pixel is its value, as on a modulator
with grey levels. The light of each example has the same power, so the mean intensity is 1, which is the unit of the
camera's parameters.
"""

import hashlib
import inspect
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from nfa.features.kind import Arrays, Kind, Tools, refuse_unknown, standardised
from nfa.feedback.camera import Camera
from nfa.feedback.opu import OPU

SATURATION = 8.0  # default if bits are given; a share of exp(-8) of the pixels is brighter


@dataclass(frozen=True)
class OpticalFeatures(Kind):
    r"""Readings of |B x|^2 / |x|^2 from one exposure, standardised in each example to mean 0 and deviation 1.

    Parameters
    ----------
    n : number of pixels of the camera
    photons, dark_std, saturation, bits : as for `nfa.feedback.camera.Camera`, in units of the mean intensity. If bits
        are given, the default saturation is 8

    Notes
    -----
    The noise of an example is a function of the example's values and of a public key, which the run draws once. So an
    example has the same noise at every use. The noise depends on no other example, and equal examples have equal noise.
    """

    kind: ClassVar[str] = "optical"
    form: ClassVar[str] = "optical:2048,photons=100,bits=8"
    multiplies: ClassVar[bool] = True
    n: int
    photons: float | None = None
    dark_std: float | None = None
    saturation: float | None = None
    bits: int | None = None

    @classmethod
    def read(cls, sizes: tuple[int, ...], named: dict[str, Any]) -> "OpticalFeatures":
        """The features with a number of pixels and the parameters of a camera. Raises ValueError as `Camera` does."""
        if len(sizes) != 1:
            raise ValueError(f"the features optical need one number of pixels. Write {cls.form}")
        refuse_unknown(cls, named)
        bits = named.get("bits")
        if bits is not None and bits.is_integer():
            named = {"saturation": SATURATION} | named | {"bits": int(bits)}
        found = cls(sizes[0], **named)
        found.camera()
        return found

    def camera(self) -> Camera:
        """The camera with these parameters."""
        known = inspect.signature(Camera).parameters
        return Camera(**{one.name: getattr(self, one.name) for one in fields(self) if one.name in known})

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """(number of pixels of the camera,)."""
        return (self.n,)

    def draw(
        self, shape: tuple[int, ...], tools: Tools, rng: np.random.Generator, dtype: type
    ) -> dict[str, np.ndarray]:
        """The real and the imaginary part of the medium, drawn as by `OPU`, and the key of the noise."""
        d = math.prod(shape)
        B = OPU(d, self.n, rng=rng, n_anchor=1).R[:, :d]
        key = rng.integers(2**32, size=8, dtype=np.uint32)
        return {"B_real": B.real.astype(dtype), "B_imag": B.imag.astype(dtype), "key": key}

    def transform(self, x: np.ndarray, arrays: Arrays, tools: Tools) -> np.ndarray:
        """The standardised readings, (n, pixels)."""
        rows = x.reshape(len(x), -1)
        real, imaginary = (tools.product(rows, arrays[name].T) for name in ("B_real", "B_imag"))
        intensity = real * real + imaginary * imaginary  # |B x|^2
        camera, out = self.camera(), np.empty_like(intensity)
        for row, light, reading in zip(rows, intensity, out, strict=True):
            power = float(np.sum(row * row, dtype=np.float64))
            if power > 0:
                light = light / light.dtype.type(power)
            if not np.isfinite(light).all():
                reading[:] = np.nan  # a camera cannot read an intensity that is not finite
                continue
            rng = _noise_of(row, arrays["key"]) if camera.draws else None
            reading[:] = camera.read(light, rng=rng)
        return standardised(out, out.max(axis=1, initial=0))


def _noise_of(row: np.ndarray, key: np.ndarray) -> np.random.Generator:
    """The generator of an example's noise. The key of Philox is a keyed hash of the example's values."""
    of_row = hashlib.blake2b(row.tobytes(), key=key.tobytes(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(of_row, np.uint64)))
