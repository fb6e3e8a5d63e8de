"""Fitted models as files, and in the formats of other programs."""

from ..onnx import to_onnx
from ._export import to_torch
from ._file import ModelFileError, can_save, load, read_header, save

__all__ = ["ModelFileError", "can_save", "load", "read_header", "save", "to_onnx", "to_torch"]
