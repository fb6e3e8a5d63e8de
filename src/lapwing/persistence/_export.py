"""Linear models as layers of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._extras import require
from ..methods import LPI
from ..reducers import LinearReducer


def to_torch(estimator: BaseEstimator) -> Any:
    """Turn a linear map into a layer of PyTorch, a ``torch.nn.Linear`` in the precision of ``components_``.

    The mean becomes a bias, ``-components_ @ mean_``. So in single precision, as of ``layer.float()``, features that are far
    from 0 lose digits.

    Parameters
    ----------
    estimator : linear method of lapwing, fitted
        Any linear method except LPI, which scales rows.

    Returns
    -------
    torch.nn.Linear

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X = load_iris().data
    >>> layer = lapwing.to_torch(lapwing.LPP(2).fit(X))
    >>> layer(torch.from_numpy(X)).shape
    torch.Size([150, 2])
    """
    torch = require("torch", "torch")
    name = type(estimator).__name__
    if not isinstance(estimator, LinearReducer):
        raise TypeError(
            f"{name} is no linear method of lapwing, so to_torch has no matrix to write; LPP, OLPP, NPE and their kin have"
        )
    if isinstance(estimator, LPI):
        raise TypeError("LPI scales rows to unit length before it projects, which no linear layer does; use to_onnx")
    if type(estimator).transform is not LinearReducer.transform:
        raise TypeError(f"{name} has a transform of its own, which to_torch does not know")
    check_is_fitted(estimator)
    V = estimator.components_
    bias = -(V.astype(np.float64) @ estimator.mean_)
    k, d = V.shape
    layer = torch.nn.utils.skip_init(torch.nn.Linear, d, k, dtype=torch.from_numpy(V).dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(V))
        layer.bias.copy_(torch.from_numpy(bias))
    return layer
