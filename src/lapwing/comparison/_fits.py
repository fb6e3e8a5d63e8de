"""Fits of several methods to the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from ..graphs import Sample
from ..operators import Array
from ..reducers import KernelReducer, LinearReducer
from ..reducers._base import Reducer
from ..selection import reducer_of


class SharedFits:
    """Fits methods to the same rows, which are validated; the linear ones share a Sample, and so its neighbour searches."""

    def __init__(self, X: Array, y: np.ndarray | None):
        self.X, self.y = X, y
        self._samples: dict[Any, Sample] = {}

    def fit(self, model: Any) -> Any:
        X, y = self.X, self.y
        if is_linear(model):
            validate_data(model, X, skip_check_array=True)  # stores how many features there are
            return model._fit_sample(self.sample(model))
        if y is not None and takes_unknown_for_a_class(model):
            X, y = X[y >= 0], y[y >= 0]
        return model.fit(X, y)

    def sample(self, model: LinearReducer) -> Sample:
        """What a linear method is fitted to."""
        make, k = type(model)._sample, model._check_parameters()
        if make not in self._samples:
            self._samples[make] = make(model, self.X, self.y, k)
        self._samples[make].n_components = k
        return self._samples[make]


def why_it_failed(error: Exception) -> str:
    """The message; of errors that are not meant for the caller the kind too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def is_linear(model: Any) -> bool:
    """Whether it is a linear method of lapwing on the rows of X themselves, with the one ``fit`` these have."""
    linear = isinstance(model, LinearReducer) and not isinstance(model, KernelReducer)
    return linear and type(model).fit is LinearReducer.fit


def takes_unknown_for_a_class(model: Any) -> bool:
    """Whether it reads labels, but not -1 as an unknown one, as lapwing's methods do."""
    reducer = reducer_of(model)
    return not isinstance(reducer, Reducer) and get_tags(reducer).target_tags.required
