"""Locality preserving projections of images that stay images."""

from __future__ import annotations

from typing import Any, ClassVar

from ..graphs import KNN
from ..reducers import MultilinearReducer
from .about import About
from .locality import NEIGHBORS


class TSA(MultilinearReducer):
    r"""Tensor Subspace Analysis: :class:`LPP` for images, which stay images.

    It makes images smaller, so that images which a graph links, such as neighbours, stay close. The rows and the columns of an
    image are reduced separately. So few numbers are learnt, which suits small samples, and each problem is only as large as a
    side of the image. An image :math:`X_i` of n1 x n2 pixels becomes :math:`U^\top X_i V`, of l1 x l2 numbers [1]_:

    .. math::
        \min_{U, V} \frac{\sum_{ij} W_{ij} \|U^\top X_i V - U^\top X_j V\|^2}{2 \sum_i D_{ii} \|U^\top X_i V\|^2}  \tag{1}

    U and V are what is learnt, one matrix per side. :math:`W_{ij}` is the weight of the link of the images i and j, and
    :math:`D_{ii}`, the degree of the image i, is the sum of its weights. U is the identity at first, then V, U, V, U and so on
    are found in turn. While U is held, the columns v of V solve

    .. math::
        \Big(\sum_{ij} L_{ij} X_i^\top U U^\top X_j\Big) v
        = \lambda \Big(\sum_i D_{ii} X_i^\top U U^\top X_i\Big) v                                      \tag{2}

    for the smallest eigenvalues :math:`\lambda`, with the Laplacian L = D - W. While V is held, the columns of U solve the same
    with :math:`X_i V V^\top X_j^\top` and :math:`X_i V V^\top X_i^\top` (equations 7.9 and 7.10 of [1]_).

    Samples may have more than two sides, or modes. They then have one matrix per mode, found in the same way, the last mode
    first. For n2 = 1 it is LPP about the plain mean.

    Parameters
    ----------
    n_components : "auto", int, None or tuple of these, default="auto"
        How many directions to keep in each mode, those of the smallest eigenvalues first: one value for all modes, or one per
        mode, as in ``TSA((10, 8))``. None keeps all that there are (``rank_``), and ``"auto"`` keeps two, or all where there
        are fewer. A number above the rank raises an error. The directions of a mode depend on how many the other modes keep.
    graph
        As in :class:`LPP`. The graph is built on the images as rows of pixels. None is ``KNN(5)``, and an integer k is
        ``KNN(k)``. ``"supervised"`` is ``SameClass()``, and ``"semi"`` adds ``SameClass()`` to the graph of None. Equation
        7.3 of X. He's thesis, for classes, is ``SameClass("heat")``.
    penalty : None, int, graph or matrix, default=None
        Which images are kept apart: the Laplacian of this graph takes the place of D in (1) and (2). An integer k is
        ``Repulsion(k)``. None keeps D.
    max_iter : int, default=3
        How many times each matrix is found, at most. 3 is what the authors of the method take; there is no proof that more
        rounds converge.
    tol : float, default=1e-6
        Stop when, in a round, no :math:`U U^\top` or :math:`V V^\top` changes by more than this share of its norm.
    image_shape : tuple of int, default=None
        The shape of an image where X holds the images as the rows of a 2-D array, as pipelines want it; one side may be -1. The
        output is then 2-D as well. None takes X of shape (n_samples, n1, n2, ...).
    flatten : bool, default=False
        Whether :meth:`transform` gives rows of l1 * l2 numbers, for pipelines, in place of l1 x l2 arrays. With
        ``image_shape`` it always does.
    scaling : {"unit", "constraint"}, default="unit"
        How long the directions are: unit vectors, or such that the matrix on the right of (2) becomes the identity. Unlike that
        of LPP it changes the answer, since U and V weigh each other's directions.
    normalize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_ : list of ndarray of shape (l_m, n_m)
        The matrices :math:`U^\top, V^\top, \dots`, one per mode. Their sign is chosen so that, in each row, the entry of
        largest absolute value (the first of several) is positive.
    mean_ : ndarray of shape (n1, n2, ...)
        The mean image, which :meth:`transform` subtracts.
    eigenvalues_ : list of ndarray of shape (l_m,)
        The eigenvalues of the last problem of each mode, in ascending order.
    rank_ : tuple of int
        How many directions the data and the constraint leave in each mode.
    n_components_ : tuple of int
        How many directions were kept in each mode.
    n_iter_ : int
        How many times each matrix was found.
    certificate_ : list of Certificate
        How well the last problem of each mode is solved (:class:`lapwing.Certificate`).
    n_connected_components_ : int
        How many pieces the graph that attracts falls into.
    graph_, settings_
        As in :class:`LPP`.
    n_features_in_ : int
        The number of pixels of an image.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the pixels. Set only with ``image_shape``, where X had names.

    See Also
    --------
    LPP : The same for vectors.

    References
    ----------
    .. [1] X. He, D. Cai and P. Niyogi, "Tensor Subspace Analysis", Advances in Neural Information Processing Systems 18,
       2005; X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, chapter 7.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import TSA
    >>> from lapwing.graphs import SameClass
    >>> digits = load_digits()
    >>> tsa = TSA((4, 3), graph=SameClass("heat")).fit(digits.images, digits.target)
    >>> tsa.transform(digits.images).shape
    (1797, 4, 3)
    >>> TSA(4, image_shape=(8, 8)).fit_transform(digits.data).shape
    (1797, 16)
    """

    about = About("neighbours", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN

    # Equation (2) has the matrices of every estimator that has none of its own: Reducer._problem.
