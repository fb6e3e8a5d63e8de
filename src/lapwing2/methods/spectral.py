"""Methods that give each sample of a graph coordinates of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..auto import GraphFacts
from ..data import Data
from ..graphs import KNN, Graph
from ..operators import diagonal
from ..problem import Problem, degree_sum
from ..reducers import FreeReducer, build_terms
from .about import About
from .locality import NEIGHBORS


class LaplacianEigenmaps(FreeReducer):
    r"""Laplacian eigenmaps: coordinates that vary least along the edges of a graph.

    .. math:: \min_Y \operatorname{tr}(Y^\top L Y) \quad\text{subject to}\quad Y^\top B Y = I,\ Y^\top B 1 = 0     \tag{1}

    L is the Laplacian of the graph, and B is either D, its degrees [1]_ (the relaxed normalised cut), or I (the ratio cut).
    Only the constant is left out, so that on a graph in several pieces the first coordinates tell the pieces apart.

    Parameters
    ----------
    n_components : int, default=2
        How many coordinates each sample gets.
    graph
        As in :class:`LPP`. None is ``KNN(5)``, and an integer k is ``KNN(k)``. ``"supervised"`` is ``SameClass()``, and
        ``"semi"`` adds ``SameClass()`` to the graph of None.
    constraint : {"degree", "identity"}, default="degree"
        What B of (1) is: the degrees of the graph, which gives samples with many links a larger say, or the identity.
    extension : {"nystrom", "barycentric", "affine"}, default="nystrom"
        How :meth:`transform` places a new sample. ``"nystrom"`` links it to the fitted samples by the graph, and places it
        where its own row of the eigenproblem holds. ``"barycentric"`` takes the weights that best reconstruct it from its
        nearest fitted samples. ``"affine"`` takes the affine map from the tangent coordinates of these samples to their
        coordinates in the embedding.
    normalize : {"auto", None, "degree"}, default="auto"
        How much each graph counts where ``graph=`` adds up several. ``"degree"`` scales each one that attracts, except
        :class:`~lapwing.graphs.Pairs`, so that its degrees add up to the number of samples. ``"auto"`` does so where ``graph=``
        adds two or more graphs that attract. None takes the weights as they are.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the fitted samples. Their sign is chosen so that, in each column, the entry of largest absolute
        value is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalue of each coordinate, in ascending order.
    n_connected_components_ : int
        How many pieces the graph that attracts falls into.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The fitted samples, which :meth:`transform` searches for neighbours.
    graph_ : Graph
        The graph that was used, with the values that it took from the data, such as the heat width, written out.
    solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

    See Also
    --------
    LPP : The linear map of the same problem.
    KernelLPP : The kernel map.

    References
    ----------
    .. [1] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation", Neural
       Computation 15, 2003. https://doi.org/10.1162/089976603321780317

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LaplacianEigenmaps
    >>> LaplacianEigenmaps(10, graph=7).fit_transform(load_digits().data).shape
    (1797, 10)
    """

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    n_neighbors: ClassVar[int] = 5
    _extensions: ClassVar[tuple[str, ...]] = ("nystrom", "barycentric", "affine")
    _choices: ClassVar[dict[str, tuple]] = {"normalize": ("auto", None, "degree"), "constraint": ("degree", "identity")}
    _crowded: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        constraint: str = "degree",
        extension: str = "nystrom",
        normalize: str | None = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.constraint = constraint
        self.extension = extension
        self.normalize = normalize

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = build_terms("graph", graphs.graph, data, graphs.equal_say)
        D = degree_sum(terms)
        return Problem(terms, D if self.constraint == "degree" else diagonal(D.diagonal() > 0))  # (1)

    def _extended(self, X: np.ndarray) -> np.ndarray:
        """Solve for the coordinates y of a new row of weights w and degree d, given those of the fitted rows, Y.

        For an eigenvalue l the equation is d y - w'Y = l d y. Under B = I its right side is l y.

        Similarities have no d on the left: -w'Y = l d y.
        """
        if self.extension != "nystrom":
            return super()._extended(X)
        W = self._links(X)
        if self.graph_.is_laplacian:
            return self._by_links(X, W)
        priced = [c * leaf for c, leaf in self.graph_.signed() if c > 0 and leaf.is_laplacian]
        return self._by_links(X, W, self._links(X, sum(priced[1:], start=priced[0])) if priced else None)

    def _by_links(self, X: np.ndarray, W: sparse.csr_array, laplacian: sparse.csr_array | None = None) -> np.ndarray:
        """Place new rows by all their links W, and by the part of these links that belongs to Laplacians."""
        degrees = np.asarray(W.sum(axis=1)).ravel()
        own = degrees if self.graph_.is_laplacian else np.zeros(degrees.size)
        own = own if laplacian is None else np.asarray(laplacian.sum(axis=1)).ravel()
        means = (W @ self.embedding_.astype(np.float64)) / np.where(degrees > 0, degrees, 1.0)[:, None]
        share = np.divide(own, degrees, out=np.ones_like(own), where=degrees > 0)[:, None]
        if self.constraint == "degree":
            share = share - self.eigenvalues_
        else:  # where the equation has a pole, the mean of the linked samples is taken
            share = share - self.eigenvalues_ / np.where(degrees > 0, degrees, np.inf)[:, None]
        return means / np.where(share > 1e-6, share, 1.0)
