"""Principal components that are smooth over a graph, alike among neighbours, or in contrast to a background."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import check_not_negative
from ..auto import GraphFacts, Rules
from ..data import Data
from ..graphs import KNN, Complete, Graph
from ..operators import Structured, diagonal, identity
from ..problem import ORTHOGONAL, Problem, Term, degree_sum, laplacian_sum
from ..reducers import LinearReducer
from ..solvers import inverse
from .about import About
from .discriminant import Supervised


class _Variance(LinearReducer):
    """Base of methods that maximise a variance. Directions of little variance do no harm, so none are left out."""

    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=1.0, small_energy=1.0)
    _takes_tensors: ClassVar[bool] = False
    _takes_weights: ClassVar[bool] = False  # the method reads rows one by one
    _takes_blocks: ClassVar[bool] = False
    _samples_rows: ClassVar[bool] = False

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary")

    def _whole_terms(self, data: Data, graphs: GraphFacts) -> list[Term]:
        """The terms of the graph, which must be built on all rows and must not repel."""
        graph = graphs.graph
        if graphs.is_sampled or graphs.repels or not (graph.is_laplacian and graph.is_semidefinite):
            raise ValueError(
                f"graph={graph!r} repels, has no Laplacian, or searches for a sample of the rows, and "
                f"{type(self).__name__} needs the whole of a graph that attracts; leave the part that repels, Similarity, or "
                "queries, out"
            )
        return self._terms(data, graphs)


class GraphPCA(_Variance):
    r"""Principal components of data that are smoothed over a graph, such as spots of a tissue that resemble their neighbours.

    .. math::
        \min_{Z, V} \|X - Z V^\top\|^2 + \lambda \operatorname{tr}(Z^\top L Z)
        \quad\text{subject to}\quad V^\top V = I                                                     \tag{1}

    for centred X and the Laplacian L of a graph [1]_. Given V, the best coordinates are :math:`Z = (I + \lambda L)^{-1} X V`:

    .. math::
        \max_V \operatorname{tr}(V^\top X^\top (I + \lambda L)^{-1} X V) \quad\text{subject to}\quad V^\top V = I      \tag{2}

    The inverse is never formed: its products come from the sparse factors of :math:`I + \lambda L`.

    Parameters
    ----------
    n_components
        As in :class:`OLPP`. A float between 0 and 1 keeps as many directions as it takes to hold this share of the sum of all
        eigenvalues of (2). ``"auto"`` is for ``graph="supervised"``.
    graph : None, int, graph or matrix, default=None
        Which samples should be alike. None is ``KNN(5, weights="binary")`` on X, and an integer k is the same with k
        neighbours. Where samples have places, such as spots in a tissue, give a graph of the places: a matrix W of weights,
        or a graph that is built on other columns.
    alpha : float, default=1.0
        How much alike the coordinates of linked samples become, :math:`\lambda` of (1). 0 is PCA.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions.
    center, normalize, standardize
        As in :class:`OLPP`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the matrix of (2) with a negative sign, in ascending order.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`OLPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`OLPP`.

    See Also
    --------
    GLPCA : Coordinates of their own for each sample, between PCA and Laplacian eigenmaps.

    References
    ----------
    .. [1] J. Yang, L. Wang, L. Liu and X. Zheng, "GraphPCA: a fast and interpretable dimension reduction algorithm for spatial
       transcriptomics data", Genome Biology 25, 2024. https://doi.org/10.1186/s13059-024-03429-x

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import GraphPCA
    >>> X = load_digits().data
    >>> model = GraphPCA(10, graph=7).fit(X)
    >>> model.transform(X).shape, model.smoothed(X).shape
    ((1797, 10), (1797, 10))
    """

    about = About("representation", "−(I + αL)⁻¹: PCA of data smoothed over a graph", "orthogonal")

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        alpha: float = 1.0,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        super().__init__(
            n_components,
            graph=graph,
            pca=pca,
            center=center,
            normalize=normalize,
            standardize=standardize,
            verbose=verbose,
        )
        self.alpha = alpha

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = self._whole_terms(data, graphs)
        smoothing = identity(data.n) + laplacian_sum(terms) * check_not_negative("alpha", self.alpha)
        R = Structured(data.n, rest=inverse(smoothing.tosparse()))
        return Problem([Term(-1.0, R, identity(data.n))], ORTHOGONAL, graph_terms=terms)  # (2)

    def smoothed(self, X: Any, y: Any = None) -> np.ndarray:
        """The coordinates Z of (1): those of :meth:`transform`, smoothed over the graph of these samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Those of ``fit``, or others, which get a graph of their own.
        y : array-like of shape (n_samples,), default=None
            Labels, where the graph uses them.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        Z = self.transform(X)
        (term,) = self.problem(X, y).minimise
        return (term.laplacian @ Z).astype(Z.dtype)


class MULTISPATI(_Variance):
    r"""Spatial principal components: directions of much variance along which neighbours are alike.

    .. math::
        \max_V \frac1n \operatorname{tr}\left(V^\top X^\top \tfrac12 (W + W^\top) X V\right)
        \quad\text{subject to}\quad V^\top V = I                                                     \tag{1}

    for centred X and the weights W of a graph, whose rows are scaled to add up to 1 [1]_. Along each direction, the variance
    times the spatial autocorrelation (Moran's I) is maximised: the mean product of a sample and its neighbours. The last
    directions, of the largest eigenvalues, are those along which neighbours differ most.

    Parameters
    ----------
    n_components
        As in :class:`OLPP`. A float between 0 and 1 keeps as many directions as it takes to hold this share of the sum of all
        positive eigenvalues of (1). ``"auto"`` is for ``graph="supervised"``.
    graph : None, int, graph or matrix, default=None
        Which samples are neighbours. None is ``KNN(5, weights="binary")`` on X, and an integer k is the same with k neighbours.
        Where samples have places, give a graph of the places: a matrix W of weights, or a graph that is built on other columns.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions.
    center, normalize, standardize
        As in :class:`OLPP`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of the matrix of (1) with a negative sign, in ascending order.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`OLPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`OLPP`.

    References
    ----------
    .. [1] S. Dray, S. Saïd and F. Débias, "Spatial ordination of vegetation data using a generalization of Wartenberg's
       multivariate spatial correlation", Journal of Vegetation Science 19, 2008. https://doi.org/10.3170/2007-8-18312

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import MULTISPATI
    >>> MULTISPATI(10, graph=7).fit_transform(load_digits().data).shape
    (1797, 10)
    """

    about = About(
        "representation", "−(W + Wᵀ)/2n, rows of W adding up to 1: variance that neighbours share", "orthogonal"
    )

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = self._whole_terms(data, graphs)
        degrees = degree_sum(terms)
        d = degrees.diagonal()
        W = (degrees - laplacian_sum(terms)).tosparse()
        W = sparse.diags_array(np.divide(1.0, d, out=np.zeros(data.n), where=d > 0)) @ W
        A = Structured(data.n, sparse=sparse.csr_array(-(W + W.T) / (2 * data.n)))
        return Problem([Term(1.0, A, degrees)], ORTHOGONAL, graph_terms=terms)  # (1)


class ContrastivePCA(Supervised, _Variance):
    r"""Contrastive principal components: what varies in the samples of interest, and not in a background.

    .. math:: \max_V \operatorname{tr}(V^\top (C - \alpha C_b) V) \quad\text{subject to}\quad V^\top V = I           \tag{1}

    with the covariances C of the samples of interest and :math:`C_b` of the background, each about its own mean [1]_. The
    background, such as healthy patients, shows the variation that is not of interest, such as age.

    Parameters
    ----------
    n_components
        As in :class:`OLPP`. A float between 0 and 1 keeps as many directions as it takes to hold this share of the sum of all
        positive eigenvalues of :math:`C - \alpha C_b`. ``"auto"`` is one fewer than there are labels.
    alpha : float, default=1.0
        How much the background counts. 0 is PCA of the samples of interest; the larger alpha is, the less the directions vary
        in the background.
    background : label, default=None
        The label in y of the background samples; all other known labels are of interest. None is the first label in sorted
        order, such as 0 of 0 and 1, or False.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions.
    center, standardize
        As in :class:`OLPP`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of :math:`\alpha C_b - C`, in ascending order. A negative one belongs to a direction along which the
        samples of interest vary more than :math:`\alpha` times as much as the background does.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`OLPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`OLPP`.

    References
    ----------
    .. [1] A. Abid, M. J. Zhang, V. K. Bagaria and J. Zou, "Exploring patterns enriched in a dataset with contrastive principal
       component analysis", Nature Communications 9, 2018. https://doi.org/10.1038/s41467-018-04608-8

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import ContrastivePCA
    >>> X, y = load_digits(return_X_y=True)
    >>> ContrastivePCA(2, alpha=2.0).fit(X, y > 0).transform(X).shape  # zeros are the background
    (1797, 2)
    """

    about = About("representation", "α C_b − C: variance that is not in a background", "orthogonal")

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        alpha: float = 1.0,
        background: Hashable | None = None,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.background = background
        self.pca = pca
        self.center = center
        self.standardize = standardize
        self.verbose = verbose

    def default_graph(self, n_neighbors: int) -> Graph:
        return Complete(among="labelled")

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        alpha, classes = check_not_negative("alpha", self.alpha), data.classes
        code = 0 if self.background is None else self._code(data)
        members = [(classes >= 0) & (classes != code), classes == code]
        interest, background = (_covariance(part.astype(np.float64)) for part in members)
        return Problem([interest.scaled(-1.0), background.scaled(alpha)], ORTHOGONAL)  # (1)

    def _code(self, data: Data) -> int:
        """The number of the class of ``background``."""
        y, classes, background = np.asarray(data.y).ravel(), data.classes, self.background
        names = [y[np.argmax(classes == code)] for code in range(classes.max() + 1)]
        is_label = np.ndim(background) == 0 and not sparse.issparse(background)  # type: ignore[arg-type]
        for code, name in enumerate(names):
            if is_label and bool(name == background):
                return code
        raise ValueError(f"background={background!r} is no label in y, which has {', '.join(map(str, names[:9]))}")


def _covariance(members: np.ndarray) -> Term:
    """The covariance of some rows about their mean: the scatter of their complete graph, divided by their number."""
    n = members.sum()
    scatter = Structured(members.size, factors=((members[:, None], np.array([-1 / n**2])),), diag=members / n)
    return Term(1.0, scatter, diagonal(members / n))
