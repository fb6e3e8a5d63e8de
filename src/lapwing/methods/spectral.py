"""Methods that give each sample of a graph coordinates of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._validation import check_count, check_not_negative
from ..auto import GraphFacts
from ..data import Data
from ..graphs import KNN
from ..maps import Free
from ..operators import identity, laplacian
from ..problem import Problem, Term, degree_sum, laplacian_sum
from ..reducers import FreeReducer
from ..solvers import Solution, fix_signs
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
    constraint : {"degree", "identity"}, default="degree"
        What B of (1) is: the degrees of the graph, which gives samples with many links a larger say, or the identity.
    extension : {"nystrom", "barycentric", "affine"}, default="nystrom"
        How :meth:`transform` places a new sample. ``"barycentric"`` takes the weights that best reconstruct it from its nearest
        fitted samples, and ``"affine"`` the affine map from the tangent coordinates of these to their embedding.

        ``"nystrom"`` links it to the fitted samples by the graph, and places it where its own row of the eigenproblem holds.
    normalize : {"auto", None, "degree"}, default="auto"
        How much each graph counts where ``graph=`` adds up several, as in :class:`LPP`.
    ... : As in :class:`LPP`

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the fitted samples. In each column, the entry of largest absolute value is positive.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The fitted samples, which :meth:`transform` searches for neighbours.
    graph_ : Graph
        The graph that was used, with the values that it took from the data, such as the heat width, written out.
    eigenvalues_, n_connected_components_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

    References
    ----------
    .. [1] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation", Neural
       Computation 15, 2003. https://doi.org/10.1162/089976603321780317
    """

    constraint: str = "degree"
    extension: str = "nystrom"

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    n_neighbors: ClassVar[int] = 5
    _extensions: ClassVar[tuple[str, ...]] = ("nystrom", "barycentric", "affine")
    _choices: ClassVar[dict[str, tuple]] = {"normalize": ("auto", None, "degree"), "constraint": ("degree", "identity")}
    _crowded: ClassVar[bool] = False
    _takes_tensors: ClassVar[bool] = True

    # Equation (1) is the problem of every estimator that has none of its own: Reducer._problem.

    def _extended(self, X: np.ndarray) -> np.ndarray:
        """Solve for the coordinates y of a new row of weights w and degree d, given those of the fitted rows, Y.

        For an eigenvalue l it is d y - w'Y = l d y, with l y on the right under B = I, and no d on the left for similarities.
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
        per = 1.0 if self.constraint == "degree" else np.where(degrees > 0, degrees, np.inf)[:, None]
        share = share - self.eigenvalues_ / per
        return means / np.where(share > 1e-6, share, 1.0)  # near its pole, the mean of the linked samples


class DiffusionMaps(LaplacianEigenmaps, without=("constraint",)):
    r"""Diffusion maps: coordinates whose distances are those of a random walk, whatever the density of the samples.

    .. math:: K_{ij} = \frac{W_{ij}}{(q_i q_j)^\alpha}, \quad q_i = \sum_j W_{ij}, \qquad
        P = D^{-1} K, \quad P \psi = \lambda \psi \tag{1}

    with W the weights of a graph, and 1 for i = j, and D the row sums of K [1]_. Sample i is placed at
    :math:`(\lambda_1^t \psi_1(i), \lambda_2^t \psi_2(i), \dots)`, so that distances say how much walks of t steps differ in
    where they end. What is solved is

    .. math:: \min_Y \operatorname{tr}(Y^\top (D - K) Y) / s \quad\text{subject to}\quad
              Y^\top D Y / s = I,\ Y^\top D 1 = 0, \qquad s = \textstyle\sum_i D_{ii}                        \tag{2}

    whose eigenvalues are :math:`1 - \lambda`.

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``KNN(15)``, and an integer k is ``KNN(k)``.
    alpha : float, default=1.0
        As in :class:`DensityCorrected`.
    n_steps : int, default=1
        How many steps the random walk takes, t. The more steps, the less differences on a small scale count.
    ... : As in :class:`LaplacianEigenmaps`

    Attributes
    ----------
    density_ : ndarray of shape (n_samples,)
        The density q of (1) at each fitted sample.

    References
    ----------
    .. [1] R. R. Coifman and S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21, 2006.
       https://doi.org/10.1016/j.acha.2006.04.006
    """

    alpha: float = 1.0
    n_steps: int = 1

    about = About("neighbours", "L of a neighbour graph, the density divided out", "its D, links to oneself included")
    n_neighbors: ClassVar[int] = 15
    constraint = "degree"

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        alpha = check_not_negative("alpha", self.alpha)
        check_count("n_steps", self.n_steps, 0)
        W = self._steps(data, graphs)
        density = np.asarray(W.sum(axis=1)).ravel()
        thinned = sparse.diags_array(density**-alpha)
        L, D = laplacian(sparse.csr_array(thinned @ W @ thinned))
        degrees = D.diagonal()
        if not np.isfinite(degrees).all() or (degrees[density > 0] == 0).any():
            raise ValueError(f"alpha={self.alpha!r} is too large: densities to this power leave the range of numbers")
        share = 1 / degrees.sum()
        return Problem([Term(1.0, L * share, D * share)], D * share)  # (2)

    def _steps(self, data: Data, graphs: GraphFacts) -> sparse.csr_array:
        """The weights of the steps of a random walk, which may also stay where it is."""
        terms = self._terms(data, graphs)
        if not graphs.graph.is_laplacian or any(term.coefficient < 0 for term in terms):
            raise ValueError(f"graph={graphs.graph!r} repels, or has no weights for a random walk; leave that part out")
        D = degree_sum(terms)
        return (D - laplacian_sum(terms) + identity(D.n)).tosparse()

    def _store(self, data: Data, F: Free, problem: Problem, graphs: GraphFacts, found: Solution) -> None:
        super()._store(data, F, problem, graphs, found)
        placed = (1 - found.values) ** self.n_steps * found.vectors  # (1)
        self.embedding_ = fix_signs(placed.T).T.astype(data.X.dtype)
        self.density_ = np.asarray(self._steps(data, graphs).sum(axis=1)).ravel()

    def _by_links(self, X: np.ndarray, W: sparse.csr_array, laplacian: sparse.csr_array | None = None) -> np.ndarray:
        """Divide the density out of the links. The density at the new row is the same for all its links, so that it cancels."""
        return super()._by_links(X, sparse.csr_array(W @ sparse.diags_array(self.density_ ** -float(self.alpha))))
