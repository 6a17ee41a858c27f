r"""Scattering: local averages of the absolute values of wavelet coefficients, for each rotation and scale.

The wavelets are fixed, so there are no random numbers and no trained parameters. We use the letters of Bruna and Mallat
(Invariant Scattering Convolution Networks, 2013). With the rotations r = 0..L-1, the scales j = 0..J-1 and lambda = (j,
r),

.. math:: S_0 x = x \star \phi_J, \qquad S_1[\lambda_1] x = |x \star \psi_{\lambda_1}| \star \phi_J, \qquad
          S_2[\lambda_1, \lambda_2] x = ||x \star \psi_{\lambda_1}| \star \psi_{\lambda_2}| \star \phi_J
          \quad (j_1 < j_2)

With J = 2 and L = 8, there are 1 + 16 + 64 = 81 channels. The channels are smooth, so we keep one value for each block
of 2^J x 2^J pixels. This gives 7 x 7 values for an image of 28 x 28 pixels, and 8 x 8 values for an image of 32 x 32
pixels.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from nfa.features.kind import Arrays, Kind, Tools, standardised

J, L = 2, 8  # numbers of scales and of rotations
SIGMA = 0.8  # width of the envelope of the finest wavelet, in pixels
XI = 3 * math.pi / 4  # frequency of the finest wavelet, in radians per pixel
SLANT = 4 / L  # ratio of the width along the waves to the width across them
CHANNELS = 1 + L * J + L * L * J * (J - 1) // 2
GROUP = 8  # number of images of one colour that are processed together


@dataclass(frozen=True)
class Scattering(Kind):
    """The channels S_0, S_1 and S_2 of each colour, standardised in each image.

    The 1, 16 and 64 channels of the three orders form three groups. In each group of each image and colour, the values
    have mean 0 and standard deviation 1.
    """

    kind: ClassVar[str] = "scattering"
    form: ClassVar[str] = "scattering"
    version: ClassVar[int] = 1
    costly: ClassVar[bool] = True

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """(81 c, H / 4, W / 4) for images (c, H, W), rounded down. Raises ValueError for inputs that are not images."""
        if len(shape) != 3:
            raise ValueError(f"features scattering need images, but an example has {shape[0]} values without a shape")
        c, *sides = shape
        if min(sides) < 8:
            raise ValueError(f"the features 'scattering' need images of at least 8x8 pixels, got {sides[0]}x{sides[1]}")
        return (CHANNELS * c, *(_padded(side) // 2**J - 2 for side in sides))

    def transform(self, x: np.ndarray, arrays: Arrays, tools: Tools) -> np.ndarray:
        """The features of images (n, c, H, W), processed in groups of one size.

        The last group is filled with zeros.
        """
        n, c, *sides = x.shape
        wavelets = bank(*sides, x.dtype.str)
        out = np.empty((n * c, CHANNELS, *self.out_shape(x.shape[1:])[1:]), x.dtype)
        colours, group = x.reshape(n * c, *sides), np.zeros((GROUP, *sides), x.dtype)
        for i in range(0, n * c, GROUP):
            some = len(colours[i : i + GROUP])
            group[:some], group[some:] = colours[i : i + GROUP], 0
            out[i : i + some] = wavelets.scatter(group)[:some]
        return out.reshape(n, *self.out_shape(x.shape[1:]))


class Bank:
    """The filters for images of one size, and the function that computes the coefficients of images.

    Parameters
    ----------
    H, W : int, rows and columns of an image
    dtype : dtype of the filters: float32 or float64

    Attributes
    ----------
    psi : psi[j] (L, rows, 2 columns) for j = 0..J-1, the Fourier transforms of the wavelets on the padded image. The
        values are real. Each value is stored twice, because it multiplies the real and the imaginary part of an image's
        Fourier transform
    phi : matrices phi[res] for res = 0, 1. If U has every 2^res-th pixel of an image, flattened, U phi[res] is the
        convolution with phi_J at every 2^J-th pixel
    """

    def __init__(self, H: int, W: int, dtype: type) -> None:
        from scipy.fft import fft2  # imported here, because listing the kinds of features does not need scipy.fft

        rows, columns = sides = _padded(H), _padded(W)
        self.reflected = _reflected(H)[:, None], _reflected(W)
        self.psi: list[np.ndarray] = [
            np.repeat(np.array([fft2(morlet(rows, columns, j, r)).real for r in range(L)]), 2, axis=2).astype(dtype)
            for j in range(J)
        ]
        self.phi: list[np.ndarray] = [np.kron(*(low_pass(n, res) for n in sides)).T.astype(dtype) for res in range(J)]
        self.out = tuple(n // 2**J - 2 for n in sides)

    def coefficients(self, x: np.ndarray) -> list[np.ndarray]:
        """S_0, S_1 and S_2 of images (k, H, W), each (k, channels, pixels), in the order of (j_1, r_1), (j_2, r_2)."""
        from scipy.fft import fft2

        U0 = x[:, self.reflected[0], self.reflected[1]]  # (k, rows, columns)
        x_hat = fft2(U0)[:, None]
        U1 = [_modulus(_real(x_hat) * self.psi[0]), _modulus(_every_second(x_hat, self.psi[1]))]  # (k, L, ...) each
        U2 = _modulus(_every_second(fft2(U1[0])[:, :, None], self.psi[1]))  # (k, L, L, rows / 2, columns / 2)
        S1 = [self._averaged(U, L, j) for j, U in enumerate(U1)]
        return [self._averaged(U0, 1, 0), np.concatenate(S1, axis=1), self._averaged(U2, L * L, 1)]

    def scatter(self, x: np.ndarray) -> np.ndarray:
        """The features of images (k, H, W), (k, 81, H / 4, W / 4)."""
        S = self.coefficients(x)
        most = np.max([np.abs(order).max(axis=(1, 2)) for order in S], axis=0)  # (k,)
        groups = [standardised(order.reshape(len(x), -1), most) for order in S]
        return np.concatenate(groups, axis=1).reshape(len(x), CHANNELS, *self.out)

    def _averaged(self, U: np.ndarray, channels: int, res: int) -> np.ndarray:
        return U.reshape(len(U), channels, -1) @ self.phi[res]  # one product for each image


@cache
def bank(H: int, W: int, dtype: str) -> Bank:
    """The `Bank` for images of this size. A process makes each bank only once."""
    return Bank(H, W, np.dtype(dtype).type)


def _padded(side: int) -> int:
    """Rows or columns of a padded image: a multiple of 2^J, with a total margin of more than 2^J on the two sides."""
    return (side // 2**J + 2) * 2**J


def morlet(H: int, W: int, j: int, r: int) -> np.ndarray:
    r"""The Morlet wavelet of scale j and rotation r on a periodic grid, (H, W) complex; its sum is 0.

    .. math:: \psi(u) = \alpha (e^{i \xi \cdot u} - \beta) e^{-u^T \Sigma^{-1} u / 2}
    """
    theta = (L // 2 - 1 - r) * math.pi / L
    along = np.array([math.cos(theta), math.sin(theta)])  # the direction of the oscillation
    across = np.array([-along[1], along[0]])
    sigma = SIGMA * 2**j
    # We compute the wavelet on five copies of the grid in each direction. The sum of its values on the copies is the
    # periodic wavelet.
    u = np.stack(np.meshgrid(np.arange(-2 * H, 3 * H), np.arange(-2 * W, 3 * W), indexing="ij"), axis=-1)
    envelope = np.exp(-((u @ along) ** 2 + (SLANT * (u @ across)) ** 2) / (2 * sigma**2))
    wave = envelope * np.exp(1j * XI / 2**j * (u @ along))
    envelope, wave = (one.reshape(5, H, 5, W).sum(axis=(0, 2)) for one in (envelope, wave))
    beta = wave.sum() / envelope.sum()
    return (wave - beta * envelope) * SLANT / (2 * math.pi * sigma**2)


def low_pass(n: int, res: int) -> np.ndarray:
    r"""A matrix that averages along one side with a Gaussian g, at every 2^J-th pixel but the first and the last.

    In two dimensions, phi_J is the product of two Gaussians, :math:`\phi_J(u) = g(u_1) g(u_2)`.

    Parameters
    ----------
    n : int, pixels of the padded side
    res : int >= 0. The input contains every 2^res-th pixel, and g contains only the frequencies that such an input can
        have

    Returns
    -------
    A : (n / 2^J - 2, n / 2^res) array
    """
    sigma = SIGMA * 2 ** (J - 1)
    g = np.exp(-(np.arange(-2 * n, 3 * n) ** 2) / (2 * sigma**2)).reshape(5, n).sum(axis=0)
    g_hat = np.fft.fft(g / (math.sqrt(2 * math.pi) * sigma)).real
    given = n // 2**res
    g = np.fft.ifft(g_hat[np.r_[: given // 2, -(given // 2) : 0]]).real  # (given,)
    kept = np.arange(1, n // 2**J - 1) * 2 ** (J - res)
    return g[kept[:, None] - np.arange(given)]


def _reflected(side: int) -> np.ndarray:
    """The index of the original pixel at each place of a padded side. The padding mirrors the pixels at each end."""
    margin = _padded(side) - side
    return np.pad(np.arange(side), (margin // 2, margin - margin // 2), mode="reflect")


def _real(z: np.ndarray) -> np.ndarray:
    """The complex values as real arrays, in which the real and the imaginary part of each value are adjacent."""
    return z.view(z.real.dtype)


def _every_second(z_hat: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """The Fourier transform of every second pixel of z * psi in each direction.

    Each value is the mean of four frequencies.
    """
    pairs, half = _real(z_hat), psi.shape[1] // 2
    rows = pairs[..., :half, :] * psi[:, :half]
    rows += pairs[..., half:, :] * psi[:, half:]
    half = psi.shape[2] // 2
    return (rows[..., :half] + rows[..., half:]) * psi.dtype.type(0.25)


def _modulus(pairs: np.ndarray) -> np.ndarray:
    """|z| from the Fourier transform of z, whose real and imaginary parts are adjacent.

    Each sum and product is rounded separately, in the same way at every position in the array.
    """
    from scipy.fft import ifft2

    squares = _real(ifft2(pairs.view(np.result_type(pairs.dtype, np.complex64)), overwrite_x=True))
    squares *= squares
    moduli = squares[..., ::2] + squares[..., 1::2]
    return np.sqrt(moduli, out=moduli)
