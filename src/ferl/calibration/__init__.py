"""Probabilities that match frequencies, with the evidence kept coherent."""

from ferl.calibration.classifier import CalibratedFERL
from ferl.calibration.maps import IsotonicMap, TemperatureMap, fit_map

__all__ = ["CalibratedFERL", "IsotonicMap", "TemperatureMap", "fit_map"]
