"""Methods that keep the shape of neighbourhoods."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ..auto import GraphFacts, Rules
from ..data import Data
from ..graphs import Graph, Reconstruction
from ..operators import identity
from ..problem import ORTHOGONAL, Problem
from ..reducers import LinearReducer, build_terms
from .about import About

RECONSTRUCTION = "(I − W)ᵀ(I − W), W reconstructing each sample from its neighbours"


class NPE(LinearReducer):
    r"""Neighborhood Preserving Embedding: a linear map that keeps each sample where its neighbours place it.

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top (I - W)^\top (I - W) X V)
        \quad\text{subject to}\quad V^\top X^\top X V = I                              \tag{1}

    where row i of W holds the weights that best reconstruct sample i from its neighbours [1]_. It is the linear form of locally
    linear embedding (LLE).

    Parameters
    ----------
    n_components
        As in :class:`LPP`. ``"auto"`` keeps one fewer than there are classes. It is for graphs of classes alone, such as
        ``graph="supervised"``, and raises an error with others. A float between 0 and 1 keeps as many directions as it takes to
        reach this share of what all directions together reach, where a direction of eigenvalue :math:`\lambda` below 1
        contributes :math:`1 - \lambda`.
    graph
        As in :class:`LPP`. None is ``Reconstruction(5)``, and an integer k is ``Reconstruction(k)``. ``"supervised"`` is
        ``SameClass()``, and ``"semi"`` adds ``SameClass()`` to the graph of None. The Laplacian of any other graph takes the
        place of :math:`(I - W)^\top (I - W)` in (1).
    pca, center, scaling, ridge, normalize, standardize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_, mean_, scale_
        As in :class:`LPP`.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of (1), in ascending order.
    explained_ratio_, rank_, n_pca_
        As in :class:`LPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.
    n_samples_seen_, moments_
        As in :class:`LPP`.

    References
    ----------
    .. [1] X. He, D. Cai, S. Yan and H.-J. Zhang, "Neighborhood preserving embedding", ICCV 2005.
       https://doi.org/10.1109/ICCV.2005.167; linear LLE in chapter 3 of X. He's thesis.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import NPE
    >>> NPE(10, graph=7).fit_transform(load_digits().data).shape
    (1797, 10)
    """

    about = About("neighbours", RECONSTRUCTION, "I", ("dense", "sparse"))
    default_graph: ClassVar[Any] = Reconstruction

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        scaling: str = "auto",
        ridge: float | str = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        self.n_components = n_components
        self.graph = graph
        self.pca = pca
        self.center = center
        self.scaling = scaling
        self.ridge = ridge
        self.normalize = normalize
        self.standardize = standardize
        self.verbose = verbose

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(build_terms("graph", graphs.graph, data, graphs.equal_say), identity(data.n))  # (1)


class ONPP(LinearReducer):
    r"""Orthogonal Neighborhood Preserving Projections: :class:`NPE` with orthogonal directions.

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top (I - W)^\top (I - W) X V)
        \quad\text{subject to}\quad V^\top V = I                                      \tag{1}

    where row i of W holds the weights that best reconstruct sample i from its neighbours [1]_. With neighbours of the same
    class and repulsion it is ONPP-R [2]_: ``ONPP(graph=Reconstruction(15, among="same_class") - 0.2 * Repulsion(15),
    normalize="trace")``.

    Parameters
    ----------
    n_components
        As in :class:`OLPP`.
    graph
        As in :class:`NPE`.
    pca, center, normalize, standardize
        As in :class:`OLPP`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_, mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_
        As in :class:`OLPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`OLPP`.
    n_samples_seen_, moments_
        As in :class:`OLPP`.

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Orthogonal neighborhood preserving projections: a projection-based dimensionality
       reduction technique", IEEE Trans. Pattern Analysis and Machine Intelligence 29, 2007.
       https://doi.org/10.1109/TPAMI.2007.1131
    .. [2] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans", Pattern
       Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import ONPP
    >>> ONPP(10).fit_transform(load_digits().data).shape
    (1797, 10)
    """

    about = About("neighbours", RECONSTRUCTION, "orthogonal", ("unlabelled",))
    default_graph: ClassVar[Any] = Reconstruction
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=0.0)  # fewer directions do better; with the fewest it is PCA

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(build_terms("graph", graphs.graph, data, graphs.equal_say), ORTHOGONAL)  # (1)
