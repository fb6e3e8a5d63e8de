"""Validation of searches: folds of queries, and a score of how well held-out queries find the documents that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.metrics import ndcg_score
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold
from sklearn.preprocessing import normalize

from .._validation import check_count, row_blocks
from ..graphs import Pairs


class QuerySplit(BaseCrossValidator):
    """Folds of the queries; documents take part in every training set, and are what every fold searches.

    The rows are those of one data frame with queries and documents, whose index names them. With ``groups``, such as the topic
    of each row, the queries of a group are scored together, so that none of them is learnt from.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2), or Pairs
        The names of queries, each with the name of a document that belongs to it. A row that is in the first column is a query,
        and every other row is a document.
    cv : int or splitter, default=5
        How many folds, not shuffled, or a splitter that divides the queries.

    Examples
    --------
    >>> import pandas as pd
    >>> from lapwing.selection import QuerySplit
    >>> X = pd.DataFrame({"x": [0.0, 1, 2, 3]}, index=["question 1", "question 2", "page 1", "page 2"])
    >>> pairs = [("question 1", "page 2"), ("question 2", "page 1")]
    >>> for train, test in QuerySplit(pairs, 2).split(X):
    ...     print(train, test)
    [1 2 3] [0 2 3]
    [0 2 3] [1 2 3]
    """

    def __init__(self, pairs: ArrayLike | Pairs, cv: int | BaseCrossValidator = 5):
        self.pairs = pairs
        self.cv = cv

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to train with and rows to score, fold by fold."""
        asks = _names_of(X, self.pairs)[1]
        queries, documents = np.flatnonzero(asks), np.flatnonzero(~asks)
        splitter: Any = self.cv
        if not hasattr(splitter, "split"):
            splitter = (KFold if groups is None else GroupKFold)(check_count("cv", self.cv, 2))
        own = None if groups is None else np.asarray(groups)[queries]
        for train, test in splitter.split(np.zeros((queries.size, 1)), None, own):
            yield np.sort(np.r_[queries[train], documents]), np.sort(np.r_[queries[test], documents])

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        splitter: Any = self.cv
        return splitter.get_n_splits(X, y, groups) if hasattr(splitter, "split") else check_count("cv", splitter, 2)


def search_scorer(pairs: ArrayLike | Pairs, *, k: int = 10) -> Callable[..., float]:
    """A scorer of how well queries find their documents, for ``scoring=`` of scikit-learn: nDCG at k, 1 at best.

    Each query among the rows to score searches the documents among them, nearest by angle first. A document counts 1, or the
    weight of its pair (:func:`sklearn.metrics.ndcg_score`). Queries whose documents are not among the rows are left out.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2), or Pairs
        The names of queries, each with the name of a document that belongs to it. The rows to score come as a data frame, whose
        index names them.
    k : int, default=10
        How many documents are looked at.

    Examples
    --------
    Pages are to be found by questions, which differ from them in half of the columns. Each fold of the questions is searched for
    among all pages, by directions that pairs of the other questions taught.

    >>> import numpy as np, pandas as pd
    >>> from sklearn.model_selection import GridSearchCV
    >>> from lapwing import RCA
    >>> from lapwing.graphs import Pairs
    >>> from lapwing.selection import QuerySplit, search_scorer
    >>> rng = np.random.RandomState(0)
    >>> pages = rng.randn(200, 8)
    >>> questions = pages + rng.randn(200, 8) * [0.1, 0.1, 0.1, 0.1, 3, 3, 3, 3]
    >>> names = np.array([f"{kind} {i}" for kind in ("question", "page") for i in range(200)])
    >>> X = pd.DataFrame(np.vstack([questions, pages]), index=names)
    >>> pairs = Pairs(names.reshape(2, 200).T, by_id=True)
    >>> judged = {"cv": QuerySplit(pairs), "scoring": search_scorer(pairs)}
    >>> search = GridSearchCV(RCA(4, pairs=pairs), {"ridge": [0.01, 1.0]}, **judged).fit(X)
    >>> search.best_params_, bool(search.best_score_ > 0.9)
    ({'ridge': 0.01}, True)
    """
    return partial(
        _score_search, pairs, check_count("k", k)
    )  # other processes can be sent it, and not a local function


def _score_search(pairs: Any, k: int, estimator: Any, X: Any, y: Any = None) -> float:
    names, asks = _names_of(X, pairs)
    Z = normalize(np.asarray(estimator.transform(X), dtype=np.float64))
    query, document = ({name: i for i, name in enumerate(names[part])} for part in (asks, ~asks))
    weights = getattr(pairs, "weights", None)
    listed = getattr(pairs, "must_link", pairs)
    weighed = zip(listed, np.ones(len(listed)) if weights is None else weights, strict=True)
    belongs = [(query[a], document[b], weight) for (a, b), weight in weighed if a in query and b in document]
    if not belongs:
        raise ValueError("no query among the rows to score has a document among them; split with QuerySplit(pairs)")
    rows, columns, values = map(np.array, zip(*belongs, strict=True))
    relevance = sparse.csr_array((values, (rows, columns)), shape=(len(query), len(document)))  # weights add up
    asked, total = np.unique(rows), 0.0
    for part in (asked[some] for some in row_blocks(asked.size, len(document))):
        total += len(part) * ndcg_score(relevance[part].toarray(), Z[asks][part] @ Z[~asks].T, k=k)
    return total / asked.size


def _names_of(X: Any, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The names of the rows, and which of them are queries."""
    if not hasattr(X, "iloc"):
        raise ValueError(
            f"pairs know queries and documents by their names, and X of type {type(X).__name__} has none; pass X as a pandas "
            "data frame whose index holds them"
        )
    names = np.asarray(X.index, dtype=object)
    first = {pair[0] for pair in getattr(pairs, "must_link", pairs)}
    asks = np.array([name in first for name in names], dtype=bool)
    if asks.all() or not asks.any():
        raise ValueError(
            f"X has {asks.sum()} queries of pairs and {(~asks).sum()} documents; both must be among its rows"
        )
    return names, asks
