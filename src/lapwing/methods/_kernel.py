"""Methods of the kernel map."""

from __future__ import annotations

from typing import Any, ClassVar

from ..graphs import KNN, Graph, LocalClass, Reconstruction, SameClass
from ..operators import identity
from ..problem import Problem
from ..reducers import Graphs, KernelReducer
from ..rows import Rows
from ._discriminant import LFDA, Supervised, local_fisher
from ._locality import NEIGHBORS, locality
from ._neighborhood import RECONSTRUCTION
from .about import About


class KernelLPP(KernelReducer):
    r"""Kernel Locality Preserving Projections.

    .. math:: K L K \alpha = \lambda K D K \alpha                                                        \tag{1}

    for the centred kernel matrix K: :class:`LPP` among the features that a kernel stands for (thesis eq. 3.17 of [1]_). With
    a linear kernel it is LPP. At full rank the embedding of the fitted samples does not depend on the kernel at all (it is
    that of Laplacian eigenmaps), so ``pca="auto"`` keeps the leading directions of K only, unless a ridge takes their place.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        As in :class:`LPP`; built on X, not on the kernel's features. With ``kernel="precomputed"`` neighbours are by the kernel's
        distances.
    penalty : None, int, graph or matrix, default=None
        As in :class:`LPP`.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        ``"matrix"`` is (1). ``"orthogonal"`` takes orthonormal directions among the kernel's features,

        .. math::
            \min_\alpha \operatorname{tr}(\alpha^\top K L K \alpha)
            \quad\text{subject to}\quad \alpha^\top K \alpha = I                                           \tag{2}

        which is kernel :class:`OLPP` and, with ``graph=Reconstruction(5)`` or ``graph=-CodingLength(5)``, kernel :class:`ONPP`
        and kernel :class:`LPCA`; with ``graph=-Complete()`` it is kernel PCA. ``"trace-ratio"`` is the quotient of both traces
        under (2), as in :class:`LPP`. Neither takes a ridge, and ``scaling`` is ``"unit"``.
    kernel : str or callable, default="rbf"
        ``"precomputed"`` or any kernel of :func:`sklearn.metrics.pairwise.pairwise_kernels`.
    gamma : "auto", "scale", float or None, default="auto"
        Of the kernels that have it. ``"scale"`` is 1 / (n_features * X.var()), ``"auto"`` is a share of that: half where
        no labels attract, and a quarter where labels and neighbours do. Where labels alone attract, it is the number of
        directions that the variance is spread over, divided by 50; at most all, and at least 1 / √p for p columns that vary
        (docs/defaults.md). None is scikit-learn's default.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Parameters of a callable kernel.
    landmarks : int, default=None
        Approximate the kernel by this many samples, drawn at random (Nyström, scikit-learn's
        :class:`~sklearn.kernel_approximation.Nystroem`): time and memory then grow linearly with n. None keeps all, up to 10,000.
    random_state : int, RandomState instance or None, default=None
        Of the draw of landmarks.
    pca, center, scaling, ridge, normalize, standardize
        As in :class:`LPP`, about the directions of the centred kernel matrix. ``pca="auto"`` keeps 1.25 directions per component
        where no labels attract. Where labels alone attract it keeps all, and ``ridge="auto"`` is 0.03, in units of the trace of
        the constraint over the number of samples. Where labels and neighbours attract it keeps 90 % of the variance, and the
        ridge is 0.3. ``scaling="auto"`` is never ``"objective"``.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_components, n_samples)
        The functions: ``K(X, X_fit_) @ dual_coef_.T - intercept_``. Of each row the entry of largest absolute value is positive.
    intercept_ : ndarray of shape (n_components,)
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The fitted samples; None with ``kernel="precomputed"``.
    gamma_ : float or None
        ``gamma`` as a number.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by, ``X_fit_`` included; None where X was taken as it is.
    nystroem_, components_, mean_
        With ``landmarks``: the map to their features, and the projection there.
    eigenvalues_, trace_ratio_, rank_, n_pca_, n_connected_components_, graph_, solver_, certificate_, sampling_
        As in :class:`LPP`.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, section 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import KernelLPP
    >>> KernelLPP(10, graph=7).fit_transform(load_digits().data).shape
    (1797, 10)
    """

    about = About("neighbours", NEIGHBORS, "D")

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Any = None,
        penalty: Any = None,
        constraint: str = "matrix",
        kernel: Any = "rbf",
        gamma: Any = "auto",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        landmarks: int | None = None,
        random_state: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "auto",
        ridge: Any = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
    ):
        super().__init__(
            n_components,
            graph=graph,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            landmarks=landmarks,
            random_state=random_state,
            pca=pca,
            center=center,
            scaling=scaling,
            ridge=ridge,
            normalize=normalize,
            standardize=standardize,
        )
        self.penalty = penalty
        self.constraint = constraint

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return locality(data, graphs, self.constraint)  # (1), (2)


class KernelNPE(KernelReducer):
    r"""Kernel Neighborhood Preserving Embedding: kernel LLE.

    .. math:: K (I - W)^\top (I - W) K \alpha = \lambda K^2 \alpha                                       \tag{1}

    for the centred kernel matrix K and the weights W that reconstruct each sample from its neighbours (thesis eq. 3.32 of
    [1]_). With a linear kernel it is :class:`NPE`. Its orthogonal form, kernel :class:`ONPP`, is
    ``KernelLPP(graph=Reconstruction(5), constraint="orthogonal")``.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        As in :class:`NPE`; built on X. With ``kernel="precomputed"`` neighbours and weights are by the kernel.
    kernel, gamma, degree, coef0, kernel_params, landmarks, random_state
        As in :class:`KernelLPP`.
    pca, center, scaling, ridge, normalize, standardize
        As in :class:`KernelLPP`.

    Attributes
    ----------
    dual_coef_, intercept_, X_fit_, gamma_, scale_, nystroem_, components_, mean_, eigenvalues_, rank_, n_pca_
        As in :class:`KernelLPP`.
    n_connected_components_, graph_, solver_, certificate_, sampling_
        As in :class:`KernelLPP`.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import KernelNPE
    >>> KernelNPE(10, graph=7).fit_transform(load_digits().data).shape
    (1797, 10)
    """

    about = About("neighbours", RECONSTRUCTION, "I")

    def default_graph(self, n_neighbors: int) -> Graph:
        return Reconstruction(n_neighbors)

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return Problem(self._terms(data, graphs), identity(data.n))  # (1)


class KernelLDA(Supervised, KernelReducer):
    r"""Kernel discriminant analysis: linear discriminant analysis among the features that a kernel stands for.

    .. math:: K L K \alpha = \lambda K^2 \alpha, \qquad L = I - W, \quad W_{ij} = 1/n_c \text{ within class } c      \tag{1}

    for the centred kernel matrix K [1]_ [2]_: the scatter within classes over the total scatter. With a linear kernel and no
    ridge it is linear discriminant analysis. A kernel of full rank, such as ``"rbf"``, separates any classes of the fitted
    samples perfectly, so it is the ridge that makes it hold on new ones.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        ``"auto"`` is the number of classes minus one, which is all that classes tell apart.
    kernel, gamma, degree, coef0, kernel_params, landmarks, random_state
        As in :class:`KernelLPP`.
    pca, center, scaling, ridge, standardize
        As in :class:`KernelLPP`.

    Attributes
    ----------
    dual_coef_, intercept_, X_fit_, gamma_, scale_, nystroem_, components_, mean_, eigenvalues_, rank_, n_pca_
        As in :class:`KernelLPP`; an eigenvalue is the share of the variance along its direction that is within classes.
    n_connected_components_, graph_, solver_, sampling_
        As in :class:`KernelLPP`.

    See Also
    --------
    KernelLPP : Takes any graph; this is the class graph, ``graph="supervised"``.

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller, "Fisher discriminant analysis with kernels", IEEE
       Workshop on Neural Networks for Signal Processing, 1999. https://doi.org/10.1109/NNSP.1999.788121
    .. [2] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel approach", Neural Computation 12, 2000.
       https://doi.org/10.1162/089976600300014980

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import KernelLDA
    >>> KernelLDA(landmarks=200, random_state=0).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "S_w", "S_w + S_b")

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        landmarks: int | None = None,
        random_state: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "auto",
        ridge: Any = "auto",
        standardize: str | bool = "auto",
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.random_state = random_state
        self.pca = pca
        self.center = center
        self.scaling = scaling
        self.ridge = ridge
        self.standardize = standardize

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass()

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return locality(data, graphs)  # (1)


class KernelLFDA(Supervised, KernelReducer):
    r"""Kernel Local Fisher Discriminant Analysis: :class:`LFDA` among the features that a kernel stands for.

    .. math:: K L^{lw} K \alpha = \lambda K L^{lm} K \alpha                                              \tag{1}

    for the centred kernel matrix K, with the Laplacians of the weights of LFDA (section 3.4 of [1]_). With a linear kernel it is
    LFDA.

    Parameters
    ----------
    n_components : int or None, default=2
    graph : None, int, "supervised", graph or matrix, default=None
        As in :class:`LFDA`; built on X. With ``kernel="precomputed"`` distances are those of the kernel.
    kernel, gamma, degree, coef0, kernel_params, landmarks, random_state
        As in :class:`KernelLPP`.
    pca, center, scaling, ridge, normalize, standardize
        As in :class:`KernelLPP`.

    Attributes
    ----------
    dual_coef_, intercept_, X_fit_, gamma_, scale_, nystroem_, components_, mean_, eigenvalues_, rank_, n_pca_
        As in :class:`KernelLPP`.
    n_connected_components_, graph_, solver_, sampling_
        As in :class:`KernelLPP`.

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", Journal of
       Machine Learning Research 8, 2007. https://jmlr.org/papers/v8/sugiyama07b.html

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import KernelLFDA
    >>> KernelLFDA(12, landmarks=200, random_state=0).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 12)
    """

    about = About("classes", LFDA.about.minimises, LFDA.about.constraint)
    n_neighbors: ClassVar[int] = 7

    def default_graph(self, n_neighbors: int) -> Graph:
        return LocalClass(n_neighbors)

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return local_fisher(data, graphs)  # (1)
