"""Fitted classifiers as ONNX models, which run wherever there is an ONNX runtime, without Python.

Needs the package onnx: ``pip install "ferl[onnx]"``.
"""

from ferl.onnx.inputs import onnx_inputs
from ferl.onnx.model import to_onnx

__all__ = ["onnx_inputs", "to_onnx"]
