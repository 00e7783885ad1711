"""Colours of classes, which all readers can tell apart."""

from __future__ import annotations

import colorsys

import numpy as np

# Okabe and Ito (2008), "Color Universal Design": told apart with any of the common kinds of colour vision. Black is
# left to text, and yellow comes last, since it is faint on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")


def class_colours(n_classes: int) -> list[str]:
    """One colour for each class; beyond the palette it comes again, darker each time."""
    rounds = -(-n_classes // len(PALETTE))
    shades = [shade(colour, 1 - 0.3 * turn / max(rounds - 1, 1)) for turn in range(rounds) for colour in PALETTE]
    return shades[:n_classes]


def shade(colour: str, strength: float) -> str:
    """A colour made darker: its lightness times ``strength``."""
    hue, light, saturation = colorsys.rgb_to_hls(*rgb(colour))
    return "#" + "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, light * strength, saturation))


def tint(colour: str, strength: float) -> str:
    """A colour mixed with white: 1 is the colour, 0 is white."""
    mixed = 1 + strength * (np.array(rgb(colour)) - 1)
    return "#" + "".join(f"{round(255 * part):02X}" for part in mixed)


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of "#RRGGBB", from 0 to 1."""
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255
