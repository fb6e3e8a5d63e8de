"""Linear models in other programs: the same product in PyTorch, FAISS, sentence-transformers and PostgreSQL."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._documented import documented
from ._extras import require
from .methods import LPI
from .reducers import LinearReducer

__all__ = ["matrix_and_bias", "to_faiss", "to_pgvector", "to_sentence_transformers", "to_torch"]


@documented
def matrix_and_bias(estimator: BaseEstimator) -> tuple[np.ndarray, np.ndarray]:
    """A and b of a fitted linear method, whose ``transform`` is ``X @ A.T + b``, in float64.

    Parameters
    ----------
    estimator : linear method of lapwing, fitted
        Any linear method except LPI, which scales rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LPP
    >>> from lapwing.vectors import matrix_and_bias
    >>> X = np.random.RandomState(0).rand(30, 4)
    >>> A, b = matrix_and_bias(model := LPP(2).fit(X))
    >>> bool(np.allclose(X @ A.T + b, model.transform(X)))
    True
    """
    own = isinstance(estimator, LinearReducer) and type(estimator).transform is LinearReducer.transform
    if not own or isinstance(estimator, LPI):
        raise TypeError(
            f"{type(estimator).__name__} is no linear method of lapwing that takes rows as they are, as LPP and OLPP are, so "
            "there is no matrix; lapwing.to_onnx writes more methods"
        )
    check_is_fitted(estimator)
    V = estimator.components_.astype(np.float64)
    return V, -(V @ estimator.mean_)


@documented
def to_torch(estimator: BaseEstimator) -> Any:
    """The map as a ``torch.nn.Linear``, a layer of PyTorch in the precision of ``components_``.

    In single precision, columns that are far from 0 beside how much they vary lose digits.

    Parameters
    ----------
    estimator : As in :func:`matrix_and_bias`

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X = load_iris().data
    >>> layer = lapwing.to_torch(lapwing.LPP(2).fit(X))
    >>> layer(torch.from_numpy(X)).shape
    torch.Size([150, 2])
    """
    torch = require("torch", "torch")
    A, b = (torch.from_numpy(values) for values in matrix_and_bias(estimator))
    kind = getattr(torch, str(estimator.components_.dtype))
    layer = torch.nn.utils.skip_init(torch.nn.Linear, *A.T.shape, dtype=kind)
    layer.load_state_dict({"weight": A, "bias": b})
    return layer


@documented
def to_faiss(estimator: BaseEstimator) -> Any:
    """The map as a ``faiss.LinearTransform``, which stands before any index in a ``faiss.IndexPreTransform``.

    FAISS computes in float32: columns that are far from 0 beside how much they vary lose digits.

    Parameters
    ----------
    estimator : As in :func:`matrix_and_bias`

    Examples
    --------
    >>> import faiss
    >>> import numpy as np
    >>> from lapwing import LPP
    >>> from lapwing.vectors import to_faiss
    >>> X = np.random.RandomState(0).rand(200, 8).astype(np.float32)
    >>> index = faiss.IndexPreTransform(to_faiss(LPP(3).fit(X)), faiss.IndexFlatL2(3))
    >>> index.add(X)
    >>> index.search(X[7:9], 1)[1].ravel().tolist()
    [7, 8]
    """
    faiss = require("faiss", "vectors")
    A, b = matrix_and_bias(estimator)
    layer = faiss.LinearTransform(A.shape[1], A.shape[0], True)
    faiss.copy_array_to_vector(A.astype(np.float32).ravel(), layer.A)
    faiss.copy_array_to_vector(b.astype(np.float32), layer.b)
    layer.set_is_orthonormal()
    layer.is_trained = True
    return layer


@documented
def to_sentence_transformers(estimator: BaseEstimator) -> Any:
    """The map as a ``Dense`` module, the last one of a ``SentenceTransformer(modules=[...])``.

    Parameters
    ----------
    estimator : As in :func:`matrix_and_bias`

    Examples
    --------
    >>> import numpy as np
    >>> import sentence_transformers
    >>> from lapwing import LPP
    >>> from lapwing.vectors import to_sentence_transformers
    >>> embeddings = np.random.RandomState(0).rand(200, 8)  # those of model.encode(texts)
    >>> layer = to_sentence_transformers(LPP(3).fit(embeddings))
    >>> layer.in_features, layer.out_features  # the last module: SentenceTransformer(modules=[*model, layer])
    (8, 3)
    """
    models, torch = require("sentence_transformers.models", "vectors"), require("torch", "torch")
    A, b = (torch.from_numpy(values).float() for values in matrix_and_bias(estimator))
    return models.Dense(*A.T.shape, activation_function=torch.nn.Identity(), init_weight=A, init_bias=b)


@documented
def to_pgvector(estimator: BaseEstimator, column: str = "embedding") -> str:
    """The map as an expression of SQL, for a column of type ``vector`` of PostgreSQL's extension pgvector.

    ``UPDATE items SET short = <expression>``, or a generated column of that expression, keeps the coordinates beside the
    embedding, and a query is projected by the same expression.

    Parameters
    ----------
    estimator : As in :func:`matrix_and_bias`
    column : str, default="embedding"
        The name of the column, or any other expression of type ``vector``. It is written as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LPP
    >>> from lapwing.vectors import to_pgvector
    >>> model = LPP(1).fit(np.random.RandomState(0).rand(30, 2))
    >>> to_pgvector(model, "place")[:22]
    'ARRAY[inner_product(pl'
    """
    A, b = matrix_and_bias(estimator)
    each = (
        f"inner_product({column}, '[{','.join(f'{x:.9g}' for x in row)}]') + {bias:.9g}"
        for row, bias in zip(A.tolist(), b.tolist(), strict=True)
    )
    return f"ARRAY[{', '.join(each)}]::vector({len(b)})"
