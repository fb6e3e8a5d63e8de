"""Known pairs of queries and documents: what RCA learns from them, beside PCA, in 64 of 384 dimensions.

Queries are first sentences of docstrings, documents what follows, and topics modules. The model learns from some pairs, with its
ridge chosen by inner folds of these, and other queries search all documents.
"""

import warnings

import numpy as np
import pandas as pd
from _texts import embedded
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.preprocessing import FunctionTransformer

from lapwing import RCA
from lapwing.graphs import Pairs
from lapwing.selection import QuerySplit, search_scorer

SHORT, FOLDS, RIDGES, MANY = 64, 3, (0.3, 1.0, 3.0), (50, 200, 1000)


class PartWhitened(TransformerMixin, BaseEstimator):
    """PCA whose coordinates are divided by the fourth roots of their variances."""

    def fit(self, X, y=None):
        self.pca_ = PCA(SHORT, random_state=0).fit(X)
        return self

    def transform(self, X):
        return self.pca_.transform(X) / self.pca_.explained_variance_**0.25


Q, D, topics = embedded()
n = len(topics)
names = np.array([f"{kind} {i}" for kind in ("query", "document") for i in range(n)])
X = pd.DataFrame(np.vstack([Q, D]).astype(np.float64), index=names)
sides = pd.Series(np.repeat(["query", "document"], n), index=names)
pairs, topic_of_rows = names.reshape(2, n).T, np.tile(np.unique(topics, return_inverse=True)[1], 2)
judge = search_scorer(pairs)


def taught(train, n_pairs, seed):
    """RCA that knows so many of the training pairs."""
    asked = [name for name in X.index[train] if name.startswith("query")]
    known = np.random.RandomState(seed).permutation(asked)[:n_pairs]
    own = Pairs(pairs[[int(name.split()[1]) for name in known]], by_id=True)
    rows = X.loc[[*known, *names[n:]]]
    search = GridSearchCV(
        RCA(SHORT, pairs=own, sides=sides), {"ridge": RIDGES}, cv=QuerySplit(own, 2), scoring=search_scorer(own)
    )
    return search.fit(rows)


print(
    f"{n:,} queries and as many documents, nDCG at 10, {FOLDS} folds; ± is the standard error of the difference over folds"
)
print("| queries that search | vectors | nDCG at 10 | less PCA |\n|---|---|---|---|")
gains = {}
for title, groups in (("other queries, same topics", None), ("queries of other topics", topic_of_rows)):
    found = {}
    folds = (KFold if groups is None else GroupKFold)(FOLDS, shuffle=True, random_state=0)
    for seed, (train, test) in enumerate(QuerySplit(pairs, folds).split(X, groups=groups)):
        learnt, asked = X.iloc[train], X.iloc[test]
        itself = FunctionTransformer().fit(learnt)
        found.setdefault("as they are, 384 numbers", []).append(judge(itself, asked))
        found.setdefault(f"PCA to {SHORT}", []).append(judge(PCA(SHORT, random_state=0).fit(learnt), asked))
        found.setdefault(f"PCA to {SHORT}, part-whitened", []).append(judge(PartWhitened().fit(learnt), asked))
        for many in MANY:
            with warnings.catch_warnings(action="ignore"):
                model = taught(train, many, seed)
            found.setdefault(f"RCA to {SHORT}, {many:,} pairs", []).append(judge(model, asked))
    for name, values in found.items():
        gain = np.array(values) - found[f"PCA to {SHORT}"]
        gains[title, name] = gain.mean()
        print(
            f"| {title} | {name} | {np.mean(values):.3f} | {gain.mean():+.3f} ± {gain.std(ddof=1) / FOLDS**0.5:.3f} |"
        )

assert gains["other queries, same topics", f"RCA to {SHORT}, 1,000 pairs"] > 0
