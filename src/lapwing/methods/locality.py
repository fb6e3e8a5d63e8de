"""Methods that keep neighbours together, or the shape of neighbourhoods: linear ones, those of kernels, and scores."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._validation import check_count
from ..auto import GraphFacts, Rules
from ..data import Data, total, validated
from ..graphs import KNN, CodingLength, Graph, Local, Propagated, Reconstruction, TangentAlignment, local_subspaces
from ..maps import Coordinates
from ..operators import diagonal, identity
from ..problem import ORTHOGONAL, Problem, laplacian_sum
from ..reducers import WORDS, FeatureSelector, Found, FreeReducer, KernelReducer, LinearReducer, MultilinearReducer

NEIGHBORS = "L of a neighbour graph"
WORDS["propagate"] = lambda: Propagated(KernelLPP("auto", graph="supervised"))
EXAMPLE = """\
Examples
--------
>>> from sklearn.datasets import load_iris
>>> from lapwing import {name}
>>> {name}(2).fit_transform(*load_iris(return_X_y=True)).shape
(150, 2)
"""


class About(NamedTuple):
    """What the class of a method says about itself. Its map, and whether it needs labels, are known without it.

    Texts are Markdown, in the letters of the papers: L is the Laplacian of a graph, D its degrees, W weights that reconstruct
    samples, S_w and S_b the scatters within and between classes.
    """

    family: str
    minimises: str  # the matrix A
    constraint: str  # the matrix B, or "orthogonal"
    # The kinds of data on which ``compare`` tries it by default: "dense", "sparse", "counts" (sparse, none negative), and
    # "unlabelled" (and dense).
    compared_on: tuple[str, ...] = ()

    def __set_name__(self, method: type, name: str) -> None:
        """Let a method carry the module that users import it from, so that moving its file breaks no model, and an example."""
        if method.__doc__ and ">>>" not in method.__doc__:
            method.__doc__ = f"{cleandoc(method.__doc__)}\n\n{EXAMPLE.format(name=method.__name__)}"
        if method.__module__.startswith(f"{__package__}."):
            method.__module__ = __package__.partition(".")[0]


class LPP(LinearReducer):
    r"""Locality Preserving Projections: a linear map that keeps linked samples, such as neighbours, close.

    A graph says which samples are linked. The map takes a sample to its coordinates along a few directions, the columns of V,
    along which linked samples are close [1]_:

    .. math:: \min_V \operatorname{tr}(V^\top X^\top L X V) \quad\text{subject to}\quad V^\top X^\top D X V = I           \tag{1}

    The rows of X are the samples. W holds the weights of the links, the diagonal matrix D their row sums (the degrees), and
    L = D - W is the Laplacian of the graph.

    Labels act through the graph. ``graph="supervised"`` is linear discriminant analysis with a ridge, and without one where
    ``ridge=0, pca=None``. After a projection on principal components, on faces, the method is known as Laplacianfaces [2]_.
    What ``"auto"`` stands for is measured on the page "Defaults".

    Parameters
    ----------
    n_components : int, "auto" or None, default=2
        How many directions to keep, those of the smallest eigenvalues first: None keeps all that there are (``rank_``), and
        ``"auto"`` one fewer than there are classes in y.
    graph : None, int, "supervised", "semi", "propagate", graph or matrix, default=None
        Which samples attract each other and, with a negative sign, repel each other. A matrix W of weights is
        ``Precomputed(W)``, and other graphs are in :mod:`lapwing.graphs`. ``"supervised"`` is ``SameClass()``, ``"semi"`` is
        ``KNN(5) + SameClass()``, where labels may be unknown (-1), and ``"propagate"`` spreads few labels to all rows first
        (``Propagated``).

        None is ``KNN(5)``, and an integer k is ``KNN(k)``. With more than 100,000 rows (2,000,000 of a tensor on a GPU), they
        and ``"semi"`` search for the neighbours of a sample of 20,000 rows.
    penalty : None, int, graph or matrix, default=None
        Which samples are kept apart: the Laplacian of this graph takes the place of D in (1). An integer k is ``Repulsion(k)``.
        None keeps D.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        What the directions are subject to. ``"matrix"`` is (1). ``"orthogonal"`` is :math:`V^\top V = I`, the problem of
        :class:`OLPP`. ``"trace-ratio"`` takes orthogonal directions and the least quotient of both traces [3]_,

        .. math:: \min_V \frac{\operatorname{tr}(V^\top X^\top L X V)}{\operatorname{tr}(V^\top X^\top D X V)}
            \quad\text{subject to}\quad V^\top V = I                                            \tag{2}

        or that over the Laplacian of ``penalty``. With either of them there is no ridge, and ``scaling`` is ``"unit"``.
    scaling : {"auto", "unit", "constraint", "objective"}, default="auto"
        How long the directions are, which matters to distances: ``"unit"`` makes them unit vectors, ``"constraint"`` makes the
        constraint above hold, and ``"objective"`` makes the objective, with the ridge beside it, 1 along each direction.

        ``"auto"`` chooses by how the variance is spread over directions.
    ridge : "auto" or float, default="auto"
        How strongly directions of little variance are kept from winning by chance: this number, times the mean eigenvalue of
        the constraint's matrix, is added to its diagonal, and times the mean eigenvalue of the graph to the objective's.

        ``"auto"`` is above 0 where labels attract and nothing repels, and on rows of words, which are nearly all 0.
    pca : "auto", None, int, float or "lanczos", default="auto"
        How many principal directions of X the method may use, once the graph is built. A float in (0, 1] is the share of the
        variance to keep, an integer is the number of directions, None keeps all, and ``"lanczos"`` the larger half of what 12
        Lanczos steps per component find.

        ``"auto"`` keeps all where there is a ridge, or where labels alone attract and classes are small; otherwise it keeps 90
        % of the variance (of rows of words 100 directions), and at least 1.25 directions per component.
    center : "auto", "mean", "degree" or False, default="auto"
        What is subtracted from the samples: ``"mean"`` is their mean, and False subtracts nothing.

        ``"degree"`` is the mean weighted by the degrees D of the graph, which keeps the constant embedding out of the answer.
        ``"auto"`` is ``"degree"`` where the constraint has degrees, and ``"mean"`` elsewhere.
    normalize : {"auto", None, "degree", "trace"}, default="auto"
        How much each graph counts where ``graph=`` adds up several. ``"degree"`` gives all that attract, except
        :class:`~lapwing.graphs.Pairs`, an equal say, ``"trace"`` scales the matrix of each graph to trace 1, and None takes the
        weights as they are. ``"auto"`` is ``"degree"`` where two or more attract, and None otherwise.
    standardize : {"auto", True, False}, default="auto"
        Whether columns are divided by their standard deviations. ``"auto"`` does so, with a warning, where they seem to be in
        different units, and without one where labels alone attract and most columns are mostly filled.
    preset : {"measured", "paper"}, default="measured"
        What every ``"auto"`` stands for: ``"measured"`` is what does best on held-out data, and ``"paper"`` the printed equation,
        with all directions, no ridge, columns as they are, lengths by the constraint, graphs added up as written, and nothing
        subtracted where the mean of X matters. ``settings_`` says what was decided.
    verbose : bool or None, default=None
        Whether a line says how far the work has come, where rows are read from disk or a cluster: None shows it on a terminal
        and in a notebook after two seconds, True always, and False never.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, one per row. In each row, the entry of largest absolute value (the first of several) is positive.
    mean_ : ndarray of shape (n_features,)
        What :meth:`transform` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by; None where X was taken as it is. ``components_`` are for X as given, and
        ``components_ * scale_`` are the directions among the divided columns.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalue of each direction, in ascending order: of what is maximised, with a negative sign.
    trace_ratio_ : float
        The least ratio, :math:`\rho`, that the directions attain. Set only with ``constraint="trace-ratio"``.

        The eigenvalues are then those of :math:`X^\top (L - \rho D) X`, and add up to 0.
    explained_ratio_ : ndarray of shape (n_components,)
        The share of the variance of X (of the divided columns, where there is a ``scale_``) that each direction adds to what
        those before it hold.
    rank_ : int or None
        How many directions the data and the constraint leave, where a column ten million times smaller than another counts as
        constant. None where finding it would need a dense matrix of n x n.
    n_pca_ : int or None
        How many principal directions were kept; None where the projection was not needed.
    n_connected_components_ : int or None
        How many pieces the graph that attracts falls into; None where only a sample of its links was built.
    graph_ : Graph
        The graph that was used.
    settings_ : dict
        What was decided in this fit where a parameter leaves it to the data, as ``"auto"`` does, by the name of the parameter.
    solver_ : str
        The name of the solver that was used.
    certificate_ : Certificate
        How well the solution solves its problem, checked after the fit (:class:`lapwing.Certificate`).
    n_samples_seen_ : float
        How many samples :meth:`partial_fit` has seen, each counted by its weight. Set only by ``partial_fit``.
    moments_ : dict
        The sums over rows that :meth:`partial_fit` keeps in their place. Set only by ``partial_fit``.
    n_features_in_ : int
        The number of features that :meth:`fit` has seen.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features. Set only where X had names that are all strings, as a data frame has.

    References
    ----------
    .. [1] X. He and P. Niyogi, "Locality Preserving Projections", NIPS 16, 2003; X. He's thesis of the same title, University
       of Chicago, 2005, chapter 2.
    .. [2] X. He, S. Yan, Y. Hu, P. Niyogi and H.-J. Zhang, "Face recognition using Laplacianfaces", IEEE TPAMI 27, 2005.
       https://doi.org/10.1109/TPAMI.2005.55
    .. [3] T. T. Ngo, M. Bellalij and Y. Saad, "The trace ratio optimization problem", SIAM Review 54, 2012.
       https://doi.org/10.1137/120864799

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, Repulsion, SameClass
    >>> X, y = load_digits(return_X_y=True)
    >>> LPP("auto", graph="supervised").fit_transform(X, y).shape
    (1797, 9)
    >>> LPP(10, graph=KNN(7) + SameClass() - 0.2 * Repulsion(15)).fit(X, y).components_.shape
    (10, 64)
    """

    penalty: Graph | int | ArrayLike | None = None
    constraint: str = "matrix"
    scaling: str = "auto"
    ridge: float | str = "auto"

    about = About("neighbours", NEIGHBORS, "D", ("dense", "sparse"))
    _rules: ClassVar[Rules] = Rules(paper={"center": False})
    default_graph: ClassVar[Any] = KNN
    # Equations (1) and (2) are the problem of every estimator that has none of its own: Reducer._problem.


class OLPP(LinearReducer):
    r"""Orthogonal Locality Preserving Projections: :class:`LPP` with orthogonal directions.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top L X V) \quad\text{subject to}\quad V^\top V = I       \tag{1}

    within the row space of the centred data, with L the Laplacian of a graph [1]_; it is not the method of the same name that
    orthogonalises Laplacianfaces one by one. ``OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")`` is OLPP-R [2]_.

    Parameters
    ----------
    pca
        As in :class:`LPP`. ``"auto"`` keeps 1.25 directions per component, so that the first directions change with their
        number, and all where labels alone attract and classes are small. It matters much here, because directions of little
        variance have small eigenvalues whatever the graph is.
    center : "auto", "mean" or False, default="auto"
        As in :class:`LPP`. ``"auto"`` is ``"mean"``.
    ... : As in :class:`LPP`

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, orthonormal rows. Where there is a ``scale_``, the rows of ``components_ * scale_`` are.

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Orthogonal neighborhood preserving projections: a projection-based dimensionality
       reduction technique", IEEE TPAMI 29, 2007. https://doi.org/10.1109/TPAMI.2007.1131
    .. [2] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans", Pattern
       Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005
    """

    about = About("neighbours", NEIGHBORS, "orthogonal", ("dense",))
    default_graph: ClassVar[Any] = KNN
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=0.0)  # fewer directions do better; with the fewest it is PCA
    # Equation (1) is the problem of every estimator with orthogonal directions: Reducer._problem.


RECONSTRUCTION = "(I − W)ᵀ(I − W), W reconstructing each sample from its neighbours"


class NPE(LinearReducer):
    r"""Neighborhood Preserving Embedding: a linear map that keeps each sample where its neighbours place it.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top (I - W)^\top (I - W) X V)
        \quad\text{subject to}\quad V^\top X^\top X V = I \tag{1}

    where row i of W holds the weights that best reconstruct sample i from its neighbours [1]_. It is the linear form of locally
    linear embedding (LLE).

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``Reconstruction(5)``, and an integer k is ``Reconstruction(k)``. The Laplacian of any other
        graph takes the place of :math:`(I - W)^\top (I - W)` in (1).
    ... : As in :class:`LPP`

    References
    ----------
    .. [1] X. He, D. Cai, S. Yan and H.-J. Zhang, "Neighborhood preserving embedding", ICCV 2005.
       https://doi.org/10.1109/ICCV.2005.167; linear LLE in chapter 3 of X. He's thesis.
    """

    scaling: str = "auto"
    ridge: float | str = "auto"

    about = About("neighbours", RECONSTRUCTION, "I", ("dense", "sparse"))
    _rules: ClassVar[Rules] = Rules(paper={"center": False})
    default_graph: ClassVar[Any] = Reconstruction

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(self._terms(data, graphs), identity(data.n))  # (1)


class ONPP(LinearReducer):
    r"""Orthogonal Neighborhood Preserving Projections: :class:`NPE` with orthogonal directions.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top (I - W)^\top (I - W) X V) \quad\text{subject to}\quad V^\top V = I \tag{1}

    for the W of NPE [1]_. ``graph=Reconstruction(15, among="same_class") - 0.2 * Repulsion(15), normalize="trace"`` make it
    ONPP-R [2]_.

    Parameters
    ----------
    graph : As in :class:`NPE`
    ... : As in :class:`OLPP`

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Orthogonal neighborhood preserving projections: a projection-based dimensionality
       reduction technique", IEEE TPAMI 29, 2007. https://doi.org/10.1109/TPAMI.2007.1131
    .. [2] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans", Pattern
       Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005
    """

    about = About("neighbours", RECONSTRUCTION, "orthogonal", ("unlabelled",))
    default_graph: ClassVar[Any] = Reconstruction
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=0.0)  # fewer directions do better; with the fewest it is PCA
    # Equation (1) is the problem of every estimator with orthogonal directions: Reducer._problem.


class TSA(MultilinearReducer):
    r"""Tensor Subspace Analysis: :class:`LPP` for images, which stay images.

    Linked images stay close, while rows and columns are reduced separately, so that few numbers are learnt. An image
    :math:`X_i` of n1 x n2 pixels becomes :math:`U^\top X_i V`, of l1 x l2 numbers [1]_:

    .. math:: \min_{U, V} \frac{\sum_{ij} W_{ij} \|U^\top X_i V - U^\top X_j V\|^2}{2 \sum_i D_{ii} \|U^\top X_i V\|^2}  \tag{1}

    W holds the weights of the links, and D their row sums. U is the identity at first, then V, U, V, U and so on are found in
    turn. While U is held, the columns v of V solve, with the Laplacian L = D - W,

    .. math:: \Big(\sum_{ij} L_{ij} X_i^\top U U^\top X_j\Big) v = \lambda \Big(\sum_i D_{ii} X_i^\top U U^\top X_i\Big) v \tag{2}

    for the smallest :math:`\lambda`. While V is held, the columns of U solve the same with :math:`X_i V V^\top X_j^\top` and
    :math:`X_i V V^\top X_i^\top` (equations 7.9 and 7.10 of [1]_).

    Samples of more than two sides, or modes, have one matrix per mode, the last mode first. For n2 = 1 it is LPP about the mean.

    Parameters
    ----------
    n_components : "auto", int, None or tuple of these, default="auto"
        How many directions to keep in each mode, those of the smallest eigenvalues first: one value, or one per mode, as in
        ``TSA((10, 8))``. None keeps all (``rank_``), and ``"auto"`` two, or all where there are fewer. The directions of a mode
        depend on how many the other modes keep.
    graph
        As in :class:`LPP`. None is ``KNN(5)``, on the images as rows of pixels. Equation 7.3 of the thesis, for classes, is
        ``SameClass("heat")``.
    max_iter : int, default=3
        How many times each matrix is found. 3 is what the authors of the method take.
    image_shape : tuple of int, default=None
        The shape of an image where X holds images as rows, as pipelines want it; one side may be -1. The output is then 2-D as
        well. None takes X of shape (n_samples, n1, n2, ...).
    flatten : bool, default=False
        Whether :meth:`transform` gives rows of l1 * l2 numbers in place of arrays, as it always does with ``image_shape``.
    scaling : {"unit", "constraint"}, default="unit"
        How long the directions are: unit vectors, or such that the matrix on the right of (2) becomes the identity, which
        changes the answer.
    center
        As in :class:`OLPP`. With ``preset="paper"`` nothing is subtracted, as in (2).
    ... : As in :class:`LPP`

    Attributes
    ----------
    components_ : list of ndarray of shape (l_m, n_m)
        The matrices :math:`U^\top, V^\top, \dots`, one per mode. Signs are as in LPP.
    mean_ : ndarray of shape (n1, n2, ...)
        The mean image, which :meth:`transform` subtracts; 0 with ``center=False``.
    eigenvalues_ : list of ndarray of shape (l_m,)
        The eigenvalues of the last problem of each mode, in ascending order.
    rank_, n_components_ : tuple of int
        How many directions the data and the constraint leave in each mode, and how many were kept.
    n_iter_ : int
        How many times each matrix was found.
    certificate_ : list of Certificate
        How well the last problem of each mode is solved (:class:`lapwing.Certificate`).
    n_connected_components_, graph_, settings_, n_features_in_, feature_names_in_ : As in :class:`LPP`

    References
    ----------
    .. [1] X. He, D. Cai and P. Niyogi, "Tensor Subspace Analysis", NIPS 18, 2005; X. He, "Locality Preserving Projections",
       PhD thesis, University of Chicago, 2005, chapter 7.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import TSA
    >>> digits = load_digits()
    >>> TSA((4, 3)).fit_transform(digits.images).shape
    (1797, 4, 3)
    >>> TSA(4, image_shape=(8, 8)).fit_transform(digits.data).shape
    (1797, 16)
    """

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN
    # Equation (2) has the matrices of every estimator that has none of its own: Reducer._problem.


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


class LaplacianScore(FeatureSelector):
    r"""Laplacian Score: selects the features that differ little between neighbours, compared with how much they vary overall.

    .. math:: L_r = \frac{\tilde f_r^\top L \tilde f_r}{\tilde f_r^\top D \tilde f_r}, \qquad
        \tilde f_r = f_r - \frac{f_r^\top D 1}{1^\top D 1} 1 \tag{1}

    for each column :math:`f_r` of X, with L = D - W the Laplacian of a graph of neighbours and D its degrees [1]_.
    :class:`LPP` minimises the same quotient over all directions. Here it is taken for each feature alone, so that two features
    that say the same are both selected. With ``graph=SameClass()`` it is 1 / (1 + the score of :class:`FisherScore`) [2]_.

    Parameters
    ----------
    n_features_to_select : int or None, default=None
        How many features to keep, the best ones, never a constant one; of equal scores the first ones. None keeps half.
    graph
        As in :class:`LPP`. None is ``KNN(5)``; the thesis [2]_ takes ``KNN(5, metric="cosine", weights="cosine")``, for data
        without negative entries. Distances depend on the units of the features, and scores do not: standardise mixed units.
    constraint : {"degree", "identity"}, default="degree"
        What counts as the variance of a feature: ``"degree"`` is (1), and ``"identity"`` has I in the place of D, for the
        samples that have links (eq. 6.9 of [2]_):

        .. math:: L_r = \frac{f_r^\top L f_r}{\|f_r - \mu_r 1\|^2}, \qquad \mu_r = \frac{1}{n} 1^\top f_r \tag{2}.
    normalize : As in :class:`LaplacianEigenmaps`
    preset, verbose : As in :class:`LPP`

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each feature, infinite for a constant one. The smallest are the best.
    support_ : ndarray of shape (n_features,)
        Which features were selected; :meth:`get_support` returns it.
    n_features_to_select_ : int
        How many features were selected.
    n_connected_components_, graph_, settings_, n_features_in_, feature_names_in_, n_samples_seen_, moments_
        As in :class:`LPP`.

    References
    ----------
    .. [1] X. He, D. Cai and P. Niyogi, "Laplacian Score for feature selection", NIPS 18, 2005.
    .. [2] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, chapter 6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LaplacianScore
    >>> from lapwing.graphs import KNN
    >>> X, y = load_iris(return_X_y=True)
    >>> score = LaplacianScore(2, graph=KNN(5, metric="cosine", weights="cosine")).fit(X)
    >>> score.get_support(indices=True)
    array([2, 3])
    >>> score.transform(X).shape
    (150, 2)
    """

    graph: Graph | int | str | ArrayLike | None = None
    constraint: str = "degree"
    normalize: str | None = "auto"

    about = About("features", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN

    # Equations (1) and (2) have the matrices of every estimator that has none of its own: Reducer._problem.

    def _scores(self, data: Data, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        degrees = np.asarray(problem.degrees)
        size, mean = total(data, degrees), data.mean(degrees)
        variance = data.form_diagonal(diagonal(degrees), mean) / size
        varying = ~negligible(variance, variance + mean**2, data.dtype)
        attraction = data.form_diagonal(laplacian_sum(problem.minimise), mean) / size
        return np.divide(attraction, variance, out=np.full(mean.size, np.inf), where=varying), varying  # (1)


def negligible(variance: np.ndarray, squares: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Whether the variance may be nothing but the rounding of data with this mean square."""
    return variance <= (2 * float(np.finfo(dtype).eps)) ** 2 * squares


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
        return Problem([term.scaled(-1.0) for term in self._terms(data, graphs)], ORTHOGONAL)  # (1)

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: GraphFacts, found: Found) -> None:
        A = found.forms[0] if self.normalize != "trace" else found.F.form(laplacian_sum(problem.minimise))
        spread = sum(data.form_diagonal(term.degrees, data.mean()).sum() for term in problem.minimise)
        if -np.trace(A) <= 1e-14 * spread:
            message = "the patches have no scatter: neighbours are equal, or nearly so beside the spread of X"
            raise ValueError(f"{message}; use more neighbours, or take far samples out")
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
    constraint = "identity"

    def default_graph(self, n_neighbors: int) -> Graph:
        origin = 0 if self.preset == "paper" else "mean"
        return TangentAlignment(n_neighbors, n_components=self.n_components, origin=origin)

    # (1), for the samples that have links, is the problem of every estimator of this constraint: Reducer._problem.
