"""Probabilities that match frequencies, with the evidence kept coherent."""

from ferl.calibration.classifier import CalibratedFERL
from ferl.calibration.evidence import BettingEvidence
from ferl.calibration.maps import IsotonicMap, TemperatureMap, fit_map

__all__ = ["BettingEvidence", "CalibratedFERL", "IsotonicMap", "TemperatureMap", "fit_map"]
