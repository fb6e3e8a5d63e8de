"""Fitted models as files, and in the formats of other programs."""

from ..onnx import to_onnx
from ._export import to_torch
from ._file import load, save, versions

__all__ = ["load", "save", "to_onnx", "to_torch", "versions"]
