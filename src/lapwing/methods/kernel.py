"""Methods of the kernel map."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin

from ..auto import GraphFacts, Rules
from ..data import Data
from ..graphs import KNN, Graph, LocalClass, Reconstruction, SameClass
from ..operators import identity
from ..problem import Problem
from ..reducers import KernelReducer
from .about import About
from .discriminant import LFDA, Supervised, local_fisher
from .locality import NEIGHBORS, RECONSTRUCTION

PRINTED = KernelReducer._rules._replace(paper={"center": False})  # the thesis does not centre K


class KernelLPP(KernelReducer):
    r"""Kernel Locality Preserving Projections: a map that is not linear and keeps linked samples close.

    A kernel says how similar two samples are, and stands for features, perhaps infinitely many, among which this is
    :class:`LPP`. A component is a sum of similarities to the fitted samples, of coefficients :math:`\alpha`:

    .. math:: K L K \alpha = \lambda K D K \alpha                                                        \tag{1}

    K is the centred kernel matrix, of the similarities of all pairs of samples. L is the Laplacian of a graph, D its degrees,
    and the smallest eigenvalues :math:`\lambda` are the answer (equation 3.17 of [1]_, where K is not centred, as with
    ``preset="paper"``: a kernel of full rank then gives the constant first). With all directions of K, the embedding of the
    fitted samples is that of Laplacian eigenmaps, whatever the kernel is. So ``pca="auto"`` keeps the leading ones, unless
    there is a ridge.

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``KNN(5)`` on X, or, with ``kernel="precomputed"``, by the distances of the kernel.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        What the directions are subject to. ``"matrix"`` is (1). ``"orthogonal"`` takes orthonormal directions of features,

        .. math:: \min_\alpha \operatorname{tr}(\alpha^\top K L K \alpha) \text{ subject to } \alpha^\top K \alpha = I \tag{2}

        which is kernel :class:`OLPP`; with ``graph=Reconstruction(5)``, ``-CodingLength(5)`` or ``-Complete()`` it is kernel
        :class:`ONPP`, :class:`LPCA` or PCA. ``"trace-ratio"`` minimises the quotient of both traces under (2), as in
        :class:`LPP`. Both take no ridge, and their ``scaling`` is ``"unit"``.
    kernel : str or callable, default="rbf"
        How similar two samples are: any kernel of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or ``"precomputed"``,
        where X is the kernel matrix.
    gamma : "auto", "scale", float or None, default="auto"
        The width of the kernels that have one: the larger gamma is, the faster the similarity falls with the distance.
        ``"scale"`` is 1 / (n_features * X.var()), ``"auto"`` is a share of that, and None is scikit-learn's default.

        The share is a half where no labels attract, and a quarter where labels and neighbours do. Of labels alone it follows
        from how many directions the variance is spread over.
    degree : float, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=1
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        The parameters of a kernel that is a callable.
    landmarks : int, default=None
        Approximate the kernel by this many samples, drawn at random (the Nyström method), in time and memory that grow linearly
        with the number of samples. None keeps all, up to 10,000 samples.
    random_state : int, RandomState instance or None, default=None
        Makes the draw of the landmarks repeatable.
    scaling
        As in :class:`LPP`. ``"auto"`` is ``"constraint"`` or ``"unit"``, by the same rule as in LPP, and never ``"objective"``.
    ridge
        As in :class:`LPP`. The mean is over samples. ``"auto"`` is 0.03 where labels alone attract, 0.3 where both labels and
        neighbours do, and 0 where no labels do.
    pca
        As in :class:`LPP`. They are those of the kernel's features. ``"auto"`` keeps 1.25 per component where no labels
        attract, all where labels alone attract, and 90 % of the variance where both labels and neighbours do.
    ... : As in :class:`LPP`

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_components, n_samples)
        The coefficients of the learnt functions, ``K(X, X_fit_) @ dual_coef_.T - intercept_``. In each row, the entry of largest
        absolute value is positive.
    intercept_ : ndarray of shape (n_components,)
        What is subtracted from each learnt function.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The fitted samples; None with ``kernel="precomputed"``.
    gamma_ : float or None
        The value of ``gamma`` that was used, as a number.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by, those of ``X_fit_`` included; None where X was taken as it is.
    nystroem_ : Nystroem
        The map from samples to the features of the landmarks. Set only with ``landmarks``, as are the next two.
    components_ : ndarray of shape (n_components, n_landmarks)
        The directions among the features of the landmarks.
    mean_ : ndarray of shape (n_landmarks,)
        What is subtracted from the features of the landmarks.
    trace_ratio_
        As in :class:`LPP`. The eigenvalues are then those of :math:`K (L - \rho D) K`, and add up to 0.
    ... : As in :class:`LPP`, without ``explained_ratio_``, ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, section 3.1.
    """

    penalty: Graph | int | ArrayLike | None = None
    constraint: str = "matrix"

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    _rules: ClassVar[Rules] = PRINTED
    # Equations (1) and (2) are the problem of every estimator that has none of its own: Reducer._problem.


class KernelNPE(KernelReducer):
    r"""Kernel Neighborhood Preserving Embedding: a map that is not linear and keeps each sample where its neighbours place it.

    .. math:: K (I - W)^\top (I - W) K \alpha = \lambda K^2 \alpha                                       \tag{1}

    for the centred kernel matrix K and the weights W that reconstruct each sample from its neighbours (eq. 3.32 of [1]_): a
    kernel form of locally linear embedding. With a linear kernel it is :class:`NPE`. Its orthogonal form, kernel
    :class:`ONPP`, is ``KernelLPP(graph=Reconstruction(5), constraint="orthogonal")``.

    Parameters
    ----------
    graph
        As in :class:`KernelLPP`. None is ``Reconstruction(5)``, and an integer k is ``Reconstruction(k)``. The Laplacian of any
        other graph takes the place of :math:`(I - W)^\top (I - W)` in (1).
    ... : As in :class:`KernelLPP`

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, section 3.2.
    """

    about = About("neighbours", RECONSTRUCTION, "I")
    default_graph: ClassVar[Any] = Reconstruction
    _rules: ClassVar[Rules] = PRINTED

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(self._terms(data, graphs), identity(data.n))  # (1)


class KernelLDA(Supervised, KernelReducer, without=("graph", "normalize")):
    r"""Kernel discriminant analysis: linear discriminant analysis among the features that a kernel stands for.

    .. math:: K L K \alpha = \lambda K^2 \alpha, \qquad L = I - W, \quad W_{ij} = 1/n_c \text{ within class } c      \tag{1}

    for the centred kernel matrix K [1]_ [2]_. It minimises the scatter within classes over the total scatter. A kernel of full
    rank, such as ``"rbf"``, separates any classes of the fitted samples; the ridge makes the separation hold on new ones. With
    ``features=`` rows may come in batches (``partial_fit``), also of new classes, and the model is that of one fit to all.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        As in :class:`LPP`. ``"auto"`` is all that classes tell apart.
    features : transformer or None, default=None
        Approximate the kernel by features of each row by itself, as :class:`~sklearn.kernel_approximation.RBFSampler` and
        :class:`~sklearn.kernel_approximation.Nystroem` do; ``kernel``, ``gamma`` and ``landmarks`` then do not act. A copy, and
        the units of the columns, are fitted to X or to the first batch, unless a ``sklearn.frozen.FrozenEstimator`` holds it.
    gamma
        As in :class:`KernelLPP`. The share follows from how many directions the variance is spread over.
    scaling
        As in :class:`KernelLPP`. ``"auto"`` is ``"unit"``.
    ridge
        As in :class:`KernelLPP`. ``"auto"`` is 0.03.
    pca
        As in :class:`KernelLPP`. ``"auto"`` keeps all.
    ... : As in :class:`KernelLPP`

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The share of the variance along each direction that is within classes, in ascending order.
    features_ : transformer
        The fitted copy of ``features``. Set only with it, as are ``n_samples_seen_`` and ``moments_``.
    n_samples_seen_, moments_ : As in :class:`LPP`

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller, "Fisher discriminant analysis with kernels", IEEE
       NNSP, 1999. https://doi.org/10.1109/NNSP.1999.788121
    .. [2] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel approach", Neural Computation 12, 2000.
       https://doi.org/10.1162/089976600300014980

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import KernelLDA
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelLDA(features=RBFSampler(gamma=0.001, n_components=300, random_state=0)).partial_fit(X[y < 5], y[y < 5])
    >>> model.partial_fit(X[y >= 5], y[y >= 5]).transform(X).shape
    (1797, 9)
    """

    n_components: int | str | None = "auto"
    features: TransformerMixin | None = None

    about = About("classes", "S_w", "S_w + S_b")
    # Sums over the rows of each class are enough where features of each row are known by themselves.
    _takes_sums = property(lambda self: self.features is not None)

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass()

    # Equation (1) is the problem of every estimator that has none of its own: Reducer._problem.


class KernelLFDA(Supervised, KernelReducer):
    r"""Kernel Local Fisher Discriminant Analysis: :class:`LFDA` among the features that a kernel stands for.

    .. math:: K L^{lw} K \alpha = \lambda K L^{lm} K \alpha                                              \tag{1}

    for the centred kernel matrix K, with the Laplacians of the weights of LFDA (section 3.4 of [1]_). With a linear kernel it
    is LFDA.

    Parameters
    ----------
    n_components : As in :class:`LFDA`
    graph
        As in :class:`LFDA`. It is built on X, or by the distances of the kernel with ``kernel="precomputed"``.
    gamma, scaling, ridge, pca : As in :class:`KernelLDA`
    center : As in :class:`OLPP`
    ... : As in :class:`KernelLPP`

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", JMLR 8,
       2007. https://jmlr.org/papers/v8/sugiyama07b.html
    """

    about = About("classes", LFDA.about.minimises, LFDA.about.constraint)
    default_graph: ClassVar[Any] = LocalClass
    n_neighbors: ClassVar[int] = 7

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return local_fisher(data, graphs)  # (1)
