"""Fitted models as files, and in the formats of other programs."""

from ._export import to_onnx, to_torch
from ._file import load, save, versions

__all__ = ["load", "save", "to_onnx", "to_torch", "versions"]
