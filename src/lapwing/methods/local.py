"""Methods built on local subspaces."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._validation import check_count
from ..auto import GraphFacts, Rules, Settings
from ..data import Data, validated
from ..graphs import CodingLength, Graph, Local, TangentAlignment, local_subspaces
from ..maps import Coordinates
from ..operators import Structured
from ..problem import ORTHOGONAL, Problem, degree_sum, laplacian_sum
from ..reducers import Found, FreeReducer, LinearReducer, build_terms
from .about import About


class LPCA(LinearReducer):
    r"""Laplacian PCA: principal directions of local, weighted scatter.

    .. math:: \max_V \operatorname{tr}(V^\top X^\top L X V) \quad\text{subject to}\quad V^\top V = I            \tag{1}

    Each sample and its nearest neighbours form a patch. L adds up the scatter of the patches, in which samples that do not fit
    weigh little [1]_, so that stray samples do not turn the directions, as they turn those of PCA.

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``CodingLength(5)``, and an integer K is ``CodingLength(K)``, with ``origin=0`` where
        ``preset="paper"``. The Laplacian of any other graph takes the place of L.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions.
    ... : As in :class:`OLPP`

    Attributes
    ----------
    explained_ratio_ : ndarray of shape (n_components,)
        The share of the scatter, along the directions that ``pca`` keeps, that each direction keeps.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007.
    """

    about = About("patches", "−L of weighted patches: their scatter is maximised", "orthogonal")
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=1.0)

    def default_graph(self, n_neighbors: int) -> Graph:
        return CodingLength(n_neighbors, origin=0 if self.preset == "paper" else "mean")

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = build_terms("graph", graphs.graph, data, graphs.equal_say)
        return Problem([term.scaled(-1.0) for term in terms], ORTHOGONAL)  # (1)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        found = super()._solve(F, data, problem, graphs, chosen)
        A = found.forms[0] if self.normalize != "trace" else found.F.form(laplacian_sum(problem.minimise))
        spread = sum(data.form_diagonal(term.degrees, data.mean()).sum() for term in problem.minimise)
        if -np.trace(A) <= 1e-14 * spread:
            message = "the patches have no scatter: neighbours are equal, or nearly so beside the spread of X"
            raise ValueError(f"{message}; use more neighbours, or take far samples out")
        return found

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: GraphFacts, found: Found) -> None:
        super()._store(data, F, problem, graphs, found)
        self.explained_ratio_ = found.solution.values / np.trace(found.forms[0])

    def local_subspaces(self, X: Any, n_components: int | None = None) -> Local:
        """The local subspace of each row of X, and the coordinates of its patch in it (Theorem 1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Patches are those of ``graph_`` on these rows, whose columns are divided by ``scale_`` where there is one.
        n_components : int, default=None
            Dimension of the subspaces; None is that of the projection.

        Returns
        -------
        rows, weights : ndarrays of shape (n_samples, K + 1)
            The rows of X in each patch, and their weights.
        means, components : ndarrays of shape (n_samples, n_features) and (n_samples, n_components, n_features)
            Weighted means of the patches, and orthonormal rows.
        coordinates : ndarray of shape (n_samples, K + 1, n_components)
        """
        check_is_fitted(self)
        data = validated(self, X, fitting=False)
        if not isinstance(self.graph_, CodingLength):
            raise ValueError(f"graph={self.graph_!r} has no patches; use CodingLength")
        data = data if self.scale_ is None else data.divided(self.scale_)
        d = check_count("n_components", len(self.components_) if n_components is None else n_components)
        return local_subspaces(data, self.graph_.patches(data), d)


class TangentialMaps(FreeReducer):
    r"""Unfolds a surface: coordinates that are close to an affine map of the tangent coordinates on every patch.

    .. math:: \min_Y \operatorname{tr}(Y^\top L Y) \quad\text{subject to}\quad Y^\top Y = I,\ Y^\top 1 = 0       \tag{1}

    with L the alignment of the tangent spaces of the patches (:class:`lapwing.graphs.TangentAlignment`). Weights by coding
    length keep stray samples from turning these spaces [1]_. Local tangent space alignment (LTSA) is
    ``TangentAlignment(12, weights="uniform", include_self=False)``. Coordinates are determined up to an affine map.

    Parameters
    ----------
    n_components : int, default=2
        The dimension of the surface, which is the number of coordinates. It must be less than the number of neighbours.
    graph
        As in :class:`LPP`. None is ``TangentAlignment(12)``, and an integer K is ``TangentAlignment(K)``, with ``origin=0``
        where ``preset="paper"``.
    extension : {"affine", "barycentric"}, default="affine"
        As in :class:`LaplacianEigenmaps`. The nearest samples are as many as those of the graph.
    ... : As in :class:`LaplacianEigenmaps`

    Attributes
    ----------
    n_connected_components_ : int
        How many pieces the surface falls into. The first coordinates, of eigenvalue 0, only tell these apart.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, section 3.
    """

    about = About("patches", "misfit of each patch's tangent coordinates", "I")

    def default_graph(self, n_neighbors: int) -> Graph:
        origin = 0 if self.preset == "paper" else "mean"
        return TangentAlignment(n_neighbors, n_components=self.n_components, origin=origin)

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = build_terms("graph", graphs.graph, data, graphs.equal_say)
        linked = np.asarray(degree_sum(terms).diag) > 0
        # (1), for the samples that have links
        return Problem(terms, Structured(data.n, diag=linked.astype(np.float64)))
