"""Recognition of faces by random subspaces."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import check_count

__all__ = ["RandomSubspaceLDA"]


class RandomSubspaceLDA(ClassifierMixin, BaseEstimator):
    """Random-sampling subspace LDA: many discriminant analyses, each on other components, and a vote.

    The first components of a reducer hold what faces have in common and serve all; each linear discriminant analysis has, beside
    them, components drawn at random from the rest, so that none has too many for its samples [1]_. In each of the discriminant
    spaces the nearest gallery sample votes for its class. The gallery may hold other people than the training set:
    see :meth:`enroll`.

    Parameters
    ----------
    reducer : None or transformer, default=None
        What gives the components, in order of importance: a lapwing or scikit-learn estimator with ``transform``. None is PCA
        with 400 components [2]_, or as many as there are.
    n_base : "auto" or int, default="auto"
        The first components, which all analyses use. ``"auto"`` is 50, or a third of the components where that is less.
    n_sampled : "auto" or int, default="auto"
        Components drawn from the rest for each analysis. ``"auto"`` is 100, or half of the rest where that is less.
    n_estimators : int, default=20
        Number of discriminant analyses.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Of the gallery.
    reducer_ : estimator
        Fitted.
    n_base_, n_sampled_ : int
        The numbers of components that were used.
    subspaces_ : list of ndarray of shape (n_base + n_sampled,)
        The components of each analysis, ascending. One in which no class varies is never among them.
    estimators_ : list of LinearDiscriminantAnalysis
        Of scikit-learn, which leaves out directions in which no class varies and so copes with fewer samples than components.
    gallery_ : list of ndarray
        The gallery in each discriminant space.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] X. Wang and X. Tang, "Random sampling for subspace face recognition", International Journal of Computer Vision 70,
       2006.
    .. [2] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, section 5.1 and figure 4 (d).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing_papers.recognition import RandomSubspaceLDA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RandomSubspaceLDA(random_state=0).fit(X[:900], y[:900])
    >>> round(model.score(X[900:], y[900:]), 1)
    0.9
    >>> known = y < 7
    >>> model.fit(X[known], y[known]).enroll(X[~known][:100], y[~known][:100]).classes_
    array([7, 8, 9])
    """

    def __init__(
        self,
        reducer: Any = None,
        *,
        n_base: Any = "auto",
        n_sampled: Any = "auto",
        n_estimators: int = 20,
        random_state: Any = None,
    ):
        self.reducer = reducer
        self.n_base = n_base
        self.n_sampled = n_sampled
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RandomSubspaceLDA:
        """Learn the discriminant spaces; the training set is the gallery until :meth:`enroll` gives another.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        self.__dict__.pop("gallery_", None)  # bad input leaves it unfitted
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        classes, codes = _classes(y)
        if len(classes) < 2:
            raise ValueError(f"y has only one class, {classes[0]!r}; two or more are needed to tell them apart")
        if not np.ptp(X, axis=0).any():
            raise ValueError("X is constant: all samples are equal, so there is nothing to tell classes apart by")
        reducer = self.reducer
        if reducer is None:
            reducer = PCA(min(400, len(X) - 1, X.shape[1]), svd_solver="full")
        self.reducer_ = clone(reducer).fit(X, codes)
        Z = self._reduced(X)
        self.subspaces_ = self._drawn(_usable(Z, codes))
        self.estimators_ = [LinearDiscriminantAnalysis().fit(Z[:, columns], codes) for columns in self.subspaces_]
        self._enroll(Z, classes, codes)
        return self

    def enroll(self, X: Any, y: Any) -> RandomSubspaceLDA:
        """Replace the gallery: what is recognised from now on. The discriminant spaces stay.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Any labels, in training or not.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=False)
        self._enroll(self._reduced(X), *_classes(y))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes.

        Of several, the one whose voters are nearest (by the sum of their distances, which are in units of the spread within
        classes), then the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        votes, distances = self._votes(X)
        leads = votes == votes.max(axis=1, keepdims=True)
        return self.classes_[np.where(leads, distances, np.inf).argmin(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of the votes for each class. Where shares are equal, :meth:`predict` looks at distances too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        return self._votes(X)[0] / len(self.estimators_)

    def _votes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """How many voted for each class, and the sum of their distances."""
        check_is_fitted(self)
        Z = self._reduced(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))
        votes, distances = np.zeros((2, len(Z), len(self.classes_)))
        rows = np.arange(len(Z))
        for columns, lda, gallery in zip(self.subspaces_, self.estimators_, self.gallery_, strict=True):
            nearest, distance = pairwise_distances_argmin_min(lda.transform(Z[:, columns]), gallery)
            votes[rows, self._codes[nearest]] += 1
            distances[rows, self._codes[nearest]] += distance
        return votes, distances

    def _enroll(self, Z: np.ndarray, classes: np.ndarray, codes: np.ndarray) -> None:
        self.gallery_ = [
            lda.transform(Z[:, columns]) for columns, lda in zip(self.subspaces_, self.estimators_, strict=True)
        ]
        self.classes_, self._codes = classes, codes

    def _reduced(self, X: np.ndarray) -> np.ndarray:
        return check_array(self.reducer_.transform(X), dtype=[np.float64, np.float32])

    def _drawn(self, components: np.ndarray) -> list[np.ndarray]:
        """The components of each analysis."""
        self.n_base_, self.n_sampled_ = self._resolved_sizes(len(components))
        base, rest = np.split(components, [self.n_base_])
        random = check_random_state(self.random_state)
        return [
            np.sort(np.append(base, random.choice(rest, self.n_sampled_, replace=False)))
            for _ in range(self.n_estimators)
        ]

    def _resolved_sizes(self, n_components: int) -> tuple[int, int]:
        base, sampled = self.n_base, self.n_sampled
        if base == "auto":
            base = max(0, min(50, ceil(n_components / 3), n_components - (0 if sampled == "auto" else sampled)))
        if sampled == "auto":
            sampled = max(0, min(100, ceil((n_components - base) / 2)))
        if not 0 < base + sampled <= n_components:
            raise ValueError(
                f"n_base={self.n_base!r} and n_sampled={self.n_sampled!r} need {max(base + sampled, 1)} components, but the "
                f"reducer gives {n_components} that vary inside classes; use smaller numbers or a reducer with more"
            )
        return base, sampled

    def _check_parameters(self) -> None:
        for name in ("n_base", "n_sampled"):
            value = getattr(self, name)
            if isinstance(value, str):
                if value != "auto":
                    raise ValueError(f'{name}={value!r} must be "auto" or a whole number, 0 or more')
            else:
                check_count(name, value, 0)
        check_count("n_estimators", self.n_estimators)
        if self.reducer is not None and (
            isinstance(self.reducer, type) or not (hasattr(self.reducer, "fit") and hasattr(self.reducer, "transform"))
        ):
            raise ValueError(f"reducer={self.reducer!r} must have fit and transform, or be None for PCA")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "gallery_")


def _classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels, and the number of each row's."""
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def _usable(Z: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The components that vary inside classes by more than rounding; in others an analysis would find noise."""
    means = np.array([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    within, between = (Z - means[codes]).std(axis=0), means.std(axis=0)
    rounding = np.sqrt(len(Z)) * np.finfo(Z.dtype).eps * Z.std(axis=0, dtype=np.float64).max()
    usable = np.flatnonzero(within > rounding)
    if usable.size == 0:
        raise ValueError("no class varies: a class of two or more different samples is needed to learn from")
    if between[usable].max() <= rounding:
        raise ValueError("all classes have the same mean, so discriminant analysis cannot tell them apart")
    return usable
