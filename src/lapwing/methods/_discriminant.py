"""Methods that need labels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ..graphs import KNN, ClosestPairs, Complete, Graph, OtherClass, SameClass
from ..maps import Map
from ..problem import ORTHOGONAL, Problem, degree_sum
from ..reducers import Decided, Graphs, LinearReducer, Rules, Solved
from ..rows import Rows
from ._locality import LPP
from .about import About


class _Supervised:
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags


def _margin() -> Graph:
    """S_w - S_b: with S_b = S_t - S_w it is twice the class graph minus the complete one."""
    return SameClass() * 2 - Complete(among="labelled")


class MMC(_Supervised, LinearReducer):
    r"""Maximum Margin Criterion.

    .. math:: \max_V \operatorname{tr}(V^\top (S_b - S_w) V) \quad\text{subject to}\quad V^\top V = I     \tag{1}

    with the between- and within-class scatter of the labelled samples [1]_. No matrix is inverted, so few samples do no
    harm.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        ``"auto"`` is the number of classes minus one.
    pca, center, standardize
        As in :class:`OLPP`, except that ``pca="auto"`` keeps 99 % of the variance, and all of it where classes have fewer
        than ten samples on average.

    Attributes
    ----------
    components_, mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_, n_connected_components_, graph_, solver_, certificate_, sampling_
        As in :class:`OLPP`; the eigenvalues are those of :math:`S_w - S_b`.

    References
    ----------
    .. [1] H. Li, T. Jiang and K. Zhang, "Efficient and robust feature extraction by maximum margin criterion", IEEE Trans.
       Neural Networks 17, 2006. https://doi.org/10.1109/TNN.2005.860852

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import MMC
    >>> MMC(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "S_w − S_b", "orthogonal", ("dense", "sparse"))
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energies=(0.99, 1.0))  # the margin does not overfit as neighbourhoods do

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        pca: Any = "auto",
        center: Any = "auto",
        standardize: str | bool = "auto",
    ):
        self.n_components = n_components
        self.pca = pca
        self.center = center
        self.standardize = standardize

    def default_graph(self, n_neighbors: int) -> Graph:
        return _margin()

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return Problem(self._terms(data, graphs), ORTHOGONAL)  # (1)


class LPDP(_Supervised, LinearReducer):
    r"""Locality Preserving Discriminant Projections: LPP with the margin of :class:`MMC`.

    .. math::
        \min_V \operatorname{tr}(V^\top (X^\top L X - \alpha (S_b - S_w)) V)
        \quad\text{subject to}\quad V^\top X^\top D X V = I                             \tag{1}

    L and D are of the neighbour graph of all samples, the scatter matrices (sums, not averages) of the labelled ones [1]_.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        None is ``KNN(5, weights="binary")``; an integer sets the number of neighbours.
    alpha : float, default=1.0
        Weight of the margin.
    pca, center, scaling, ridge, normalize, standardize
        As in :class:`LPP`; ``normalize="trace"`` scales :math:`X^\top L X`, the within-class and the total scatter, one by
        one.

    Attributes
    ----------
    components_, mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_, n_connected_components_, graph_, solver_, certificate_, sampling_
        As in :class:`LPP`.

    References
    ----------
    .. [1] J. Gui, C. Wang and L. Zhu, "Locality preserving discriminant projections", International Conference on
       Intelligent Computing, Lecture Notes in Computer Science, Springer, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPDP
    >>> LPDP(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "L − α (S_b − S_w)", "D", ("dense", "sparse"))

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Any = None,
        alpha: float = 1.0,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "auto",
        ridge: Any = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
    ):
        super().__init__(
            n_components, graph=graph, pca=pca, center=center, normalize=normalize, standardize=standardize
        )
        self.alpha = alpha
        self.scaling = scaling
        self.ridge = ridge

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary")

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not np.isfinite(float(self.alpha)):
            raise ValueError(f"alpha={self.alpha!r} must be a finite number")
        local = self._terms(data, graphs)
        margin = (_margin() * float(self.alpha)).terms(data)
        return Problem(local + margin, degree_sum(local))  # (1)


class MFA(_Supervised, LPP):
    r"""Marginal Fisher Analysis.

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top L X V)
        \quad\text{subject to}\quad V^\top X^\top L^p X V = I                           \tag{1}

    It is :class:`LPP` with a penalty: L links each sample to its nearest of the same class, :math:`L^p` each class to its closest
    samples of other classes [1]_.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        None is ``KNN(5, weights="binary", among="same_class")``; an integer sets the number of neighbours.
    penalty : None, int, graph or matrix, default=None
        The graph of :math:`L^p`. None is ``ClosestPairs(20)``; an integer sets the number of pairs a class.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        ``"matrix"`` is (1), and ``"trace-ratio"`` the least :math:`\operatorname{tr}(V^\top X^\top L X V) /
        \operatorname{tr}(V^\top X^\top L^p X V)` over orthogonal directions, as in :class:`LPP`; ``"orthogonal"`` alone has no
        place for the penalty, and raises.
    pca, center, scaling, ridge, normalize, standardize
        As in :class:`LPP`, except that ``pca="auto"`` keeps twice as many directions as components, and 98 % of the variance
        where classes have fewer than ten samples on average.

    Attributes
    ----------
    components_, mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_, n_connected_components_, graph_, solver_, certificate_, sampling_
        As in :class:`LPP`. The rank is at most the number of linked pairs of ``penalty``.

    References
    ----------
    .. [1] S. Yan, D. Xu, B. Zhang, H.-J. Zhang, Q. Yang and S. Lin, "Graph embedding and extensions: a general framework
       for dimensionality reduction", IEEE Trans. Pattern Analysis and Machine Intelligence 29, 2007.
       https://doi.org/10.1109/TPAMI.2007.250598

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import MFA
    >>> MFA(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "L of the nearest of the same class", "L of the closest pairs across classes")
    _rules: ClassVar[Rules] = Rules(energies=(0.0, 0.98), directions=2.0)
    _penalty: ClassVar[tuple[Any, int]] = (ClosestPairs, 20)
    _needs_penalty: ClassVar[bool] = True
    _takes_sparse_blocks: ClassVar[bool] = False

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary", among="same_class")


class DNE(_Supervised, LinearReducer):
    r"""Discriminant Neighborhood Embedding.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top (L^s - L^d) X V) \quad\text{subject to}\quad V^\top V = I \tag{1}

    Of the links between nearest neighbours, those inside a class attract and those across classes repel [1]_.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        None keeps the directions of negative eigenvalue, as its authors prescribe: those along which repulsion wins. It
        raises where there are none.
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        None is ``(K & SameClass()) - (K & OtherClass())`` with ``K = KNN(5, weights="binary")``; an integer sets the number
        of neighbours.
    pca, center, normalize, standardize
        As in :class:`OLPP`.

    Attributes
    ----------
    components_, mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_, n_connected_components_, graph_, solver_, certificate_, sampling_
        As in :class:`OLPP`.

    References
    ----------
    .. [1] W. Zhang, X. Xue, H. Lu and Y.-F. Guo, "Discriminant neighborhood embedding for classification", Pattern
       Recognition 39, 2006. https://doi.org/10.1016/j.patcog.2006.05.011

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import DNE
    >>> DNE(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "L of near samples of the same class − L of near ones of other classes", "orthogonal")
    _orthogonal: ClassVar[bool] = True

    def default_graph(self, n_neighbors: int) -> Graph:
        near = KNN(n_neighbors, weights="binary")
        return (near & SameClass()) - (near & OtherClass())

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return Problem(self._terms(data, graphs), ORTHOGONAL)  # (1)

    def _solved(self, F: Map, data: Rows, problem: Problem, decided: Decided) -> Solved:
        solved = super()._solved(F, data, problem, decided)
        if self.n_components is not None or decided.k is not None:
            return solved
        solution = solved.solution
        negative = solution.values < -1e-10 * np.abs(solution.values).max()
        if not negative.any():
            raise ValueError(
                "n_components=None keeps the directions of negative eigenvalue, and there are none here; give a number"
            )
        kept = solution._replace(values=solution.values[negative], vectors=solution.vectors[:, negative])
        return solved._replace(solution=kept)
