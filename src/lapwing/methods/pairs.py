"""The method for pairs that are known to belong together."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from ..auto import GraphFacts, Rules, Settings
from ..data import Data, total
from ..graphs import Complete, Graph, Pairs, SameClass
from ..maps import Coordinates
from ..problem import Problem, Term, laplacian_sum
from ..reducers import Found, LinearReducer, build_terms
from ..solvers import solve
from .about import About
from .representation import covariance


class RCA(LinearReducer, without=("graph", "pca", "center", "normalize")):
    r"""Relevant Component Analysis: directions that vary much among all samples, and little within known pairs.

    .. math::
        \max_V \operatorname{tr}(V^\top T V)
        \quad\text{subject to}\quad V^\top \Bigl(P + \rho \frac{\operatorname{tr} P}{p} I\Bigr) V = I          \tag{1}

    T is the covariance of the samples, and :math:`P = \frac{1}{2m} \sum (x_i - x_j)(x_i - x_j)^\top` is that of the m pairs,
    such as queries with the documents that answered them [1]_. The ridge :math:`\rho` draws P towards the identity, which few
    pairs need. In the new space, the Euclidean distance is the Mahalanobis distance that the pairs teach.

    From a thousand pairs on, and on the topics that the pairs are about, searches get better; with fifty they get worse.

    Parameters
    ----------
    n_components : int or None, default=2
        How many directions to keep. None keeps all.
    pairs : array-like of shape (n_pairs, 2), graph or None, default=None
        The row indices of the pairs. A :class:`~lapwing.graphs.Pairs` names rows by their id, or weighs the pairs; any other
        graph links rows by weights. None takes all pairs of samples that have the same label in y.
    sides : array-like of shape (n_samples,) or None, default=None
        Which side each sample is on, where there are two kinds, such as ``"query"`` and ``"document"``. T is then the mean of
        the covariances of the sides, each about its own mean, so that the many samples of one side do not outweigh the other.
        Without ``pairs``, y is of no help to sides.
    ridge : float, default=1.0
        :math:`\rho` in (1): how far P is drawn towards the identity. 1 is a shrinkage of one half, :math:`\rho / (1 + \rho)`.
        Choose it by cross-validation over pairs.
    scaling : {"auto", "unit", "constraint", "objective"}, default="constraint"
        As in :class:`LPP`.
    standardize : {True, False}, default=False
        Whether columns are divided by their standard deviations.
    preset, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The negative variances of the samples along the directions, in ascending order, where that of a pair is 1.
    ...
        As in :class:`LPP`, without ``trace_ratio_``, ``n_samples_seen_`` and ``moments_``.

    References
    ----------
    .. [1] A. Bar-Hillel, T. Hertz, N. Shental and D. Weinshall, "Learning a Mahalanobis metric from equivalence constraints",
       Journal of Machine Learning Research 6, 2005. https://jmlr.org/papers/v6/bar-hillel05a.html

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import RCA
    >>> documents = np.random.RandomState(0).randn(200, 10)
    >>> queries = documents[:50] + np.random.RandomState(1).randn(50, 10) * np.linspace(0.1, 3, 10)
    >>> X = np.vstack([queries, documents])
    >>> pairs = np.column_stack([np.arange(50), np.arange(50, 100)])
    >>> RCA(4, pairs=pairs, sides=np.arange(250) >= 50).fit_transform(X).shape
    (250, 4)
    """

    pairs: Graph | ArrayLike | None = None
    sides: ArrayLike | None = None
    ridge: float = 1.0
    scaling: str = "constraint"
    standardize: bool | str = False

    about = About("classes", "−T: variance among all samples", "P: variance within pairs")
    _rules: ClassVar[Rules] = Rules(paper={"ridge": 0.0})
    _takes_weights: ClassVar[bool] = False  # pairs count rows one by one
    _takes_blocks: ClassVar[bool] = False
    _takes_sums: ClassVar[bool] = False

    @property
    def penalty(self) -> Graph:
        """The graph of P."""
        if self.pairs is None:
            return SameClass()
        return self.pairs if isinstance(self.pairs, Graph) else Pairs(self.pairs)

    def default_graph(self, n_neighbors: int) -> Graph:
        return -Complete()

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        P = laplacian_sum(build_terms("pairs", graphs.penalty, data))
        return Problem(self._variance(data), P * (1 / total(data, P.diagonal())))  # (1)

    def _eigenpairs(self, F: Coordinates, data: Data, problem: Problem, chosen: Settings) -> Found:
        """Unlike elsewhere, directions of which no pair says anything take part, and the ridge is all that they have of P."""
        if data.is_large:
            raise ValueError(
                f"X is too large to be decomposed whole (sparse, {data.X.shape}); put a TruncatedSVD before {type(self).__name__}"
            )
        T, P = F.form(laplacian_sum(problem.minimise)), F.form(problem.subject_to)
        P = P + np.trace(P) / data.d * float(self.ridge) * np.eye(len(P))
        return Found(F, (T, P), solve(T, P, chosen.n_components), chosen)

    def _variance(self, data: Data) -> list[Term]:
        """-T, in as many terms as there are sides."""
        if self.sides is None:
            return [term.scaled(-1 / data.size) for term in Complete().terms(data)]
        names, sides = np.unique(column_or_1d(self.sides), return_inverse=True)
        if sides.size != data.n:
            raise ValueError(f"sides has {sides.size} entries, and X has {data.n} rows: give one per row")
        return [covariance(sides == side).scaled(-1 / names.size) for side in range(names.size)]
