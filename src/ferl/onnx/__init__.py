"""Fitted classifiers as ONNX models, which run wherever there is an ONNX runtime, without Python.

Needs the package onnx: ``pip install "ferl[onnx]"``.
"""

from ferl.onnx.export import onnx_inputs, to_onnx
from ferl.onnx.pipelines import register_converters

__all__ = ["onnx_inputs", "register_converters", "to_onnx"]
