"""What readers with different colour vision see: contrast, and differences between colours."""

import numpy as np

VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
"""Matrices on linear RGB: Machado, Oliveira and Fernandes (2009), severity 1."""

_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    """Return linear RGB of a colour such as "#c8452f"."""
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast of two colours, from 1 to 21 (WCAG 2)."""
    dark, bright = sorted(float(_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def colour_difference(one, other, vision):
    """Return the CIE 1976 difference of two colours, as a vision of `VISIONS` sees them; about 2 is just visible."""
    return float(np.linalg.norm(_lab(one, vision) - _lab(other, vision)))


def _lab(colour, vision):
    seen = np.clip(np.asarray(vision) @ linear(colour), 0, 1)
    ratios = _XYZ @ seen / _XYZ.sum(1)
    x, y, z = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
