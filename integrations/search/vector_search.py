"""Search among classes that training never saw: a short space before a FAISS index, beside PCA and vectors in codes.

    make integrations, or .venv-integrations/search/bin/python integrations/search/vector_search.py after it

Half of the classes are learnt from, and the search is among the others.
"""

import doctest

import faiss
import numpy as np
import torch
from _data import collections
from sentence_transformers import SentenceTransformer
from sklearn.decomposition import PCA

from lapwing import LPP, RCA, to_torch, vectors
from lapwing.vectors import to_faiss, to_sentence_transformers

SHORT, QUERIES, SPLITS = 64, 300, 5


def scores(answers, own, relevant):
    """Recall at 1, recall at 10 and mean average precision of ranked classes."""
    hits = answers == own[:, None]
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return hits[:, 0].mean(), hits[:, :10].any(axis=1).mean(), ((precision * hits).sum(axis=1) / relevant).mean()


def behind(index, layer):
    """The index behind a linear map and a division by the length, so that near means a small angle."""
    if layer is None:
        return index
    chain = faiss.IndexPreTransform(faiss.NormalizationTransform(layer.d_out, 2.0), index)
    chain.prepend_transform(layer)
    return chain


def flat(d, layer=None):
    return behind(faiss.IndexFlatL2(d if layer is None else layer.d_out), layer)


def coded(d, layer=None):
    size = d if layer is None else layer.d_out
    return behind(faiss.IndexScalarQuantizer(size, faiss.ScalarQuantizer.QT_8bit), layer)


def signs(X):
    return np.packbits(X > 0, axis=1)


def ranked(index, stored, queries):
    if not index.is_trained:
        index.train(stored)
    index.add(stored)
    return index.search(queries, len(stored))[1]


def as_layer(pca):
    """PCA of scikit-learn as a layer of FAISS, as to_faiss makes one of a model of lapwing."""
    layer = faiss.LinearTransform(pca.n_features_in_, pca.n_components_, True)
    faiss.copy_array_to_vector(pca.components_.astype(np.float32).ravel(), layer.A)
    faiss.copy_array_to_vector(-(pca.components_ @ pca.mean_).astype(np.float32), layer.b)
    layer.is_trained = True
    return layer


def the_same_everywhere(model, X):
    """Numbers are those of transform in every program, to the precision of float32."""
    expected = model.transform(X)
    near = {"atol": 1e-5 * np.abs(expected).max(), "rtol": 0}
    np.testing.assert_allclose(to_faiss(model).apply_py(X), expected, **near)
    with torch.no_grad():
        np.testing.assert_allclose(to_torch(model).float()(torch.from_numpy(X)).numpy(), expected, **near)
        sentences = SentenceTransformer(modules=[to_sentence_transformers(model)])
        given = sentences.forward({"sentence_embedding": torch.from_numpy(X)})["sentence_embedding"]
        np.testing.assert_allclose(given.numpy(), expected, **near)


def searched(X, y, seed):
    """The scores of each way to store the vectors; half of the classes are learnt from, and the others are searched."""
    random, d = np.random.RandomState(seed), X.shape[1]
    classes = random.permutation(np.unique(y))
    seen = np.isin(y, classes[: len(classes) // 2])
    new = random.permutation(np.flatnonzero(~seen))
    asked, kept = new[:QUERIES], new[QUERIES:]
    own, labels = y[asked], y[kept]
    asked, own = (values[np.isin(own, labels)] for values in (asked, own))
    relevant = (labels == own[:, None]).sum(axis=1)
    pca = PCA(SHORT, random_state=0).fit(X[seen])
    lpp = LPP(SHORT, graph="semi", standardize=False).fit(X[seen], y[seen])
    rca = RCA(SHORT).fit(X[seen], y[seen])
    the_same_everywhere(lpp, X[asked])
    layers = {"PCA": as_layer(pca), "LPP": to_faiss(lpp), "RCA": to_faiss(rca)}
    rows = {("as they are", "float32", 4 * d): flat(d), ("as they are", "8 bits per number", d): coded(d)}
    for name, layer in layers.items():
        rows[f"{name} to {SHORT}", "float32", 4 * SHORT] = flat(d, layer)
        rows[f"{name} to {SHORT}", "8 bits per number", SHORT] = coded(d, layer)
    found = {row: scores(labels[ranked(index, X[kept], X[asked])], own, relevant) for row, index in rows.items()}
    bits, centred = faiss.IndexBinaryFlat(d), X - X[seen].mean(axis=0)
    by_bits = ranked(bits, signs(centred[kept]), signs(centred[asked]))
    return found | {("as they are", "1 bit per number", d // 8): scores(labels[by_bits], own, relevant)}


assert doctest.testmod(vectors, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
for title, X, y in collections():
    draws = [searched(X, y, seed) for seed in range(SPLITS)]
    print(
        f"\n{title}: {len(X):,} vectors of {X.shape[1]} numbers, {len(set(y))} classes, half of them searched; {SPLITS} draws, %"
    )
    print(
        "| vectors | numbers | bytes per vector | recall at 1 | recall at 10 | mAP | mAP less that of PCA |\n|---"
        + "|---" * 6
        + "|"
    )
    pca = np.array([draw[f"PCA to {SHORT}", "float32", 4 * SHORT][2] for draw in draws])
    for (name, kind, size), _ in draws[0].items():
        values = 100 * np.array([draw[name, kind, size] for draw in draws])
        gain = values[:, 2] - 100 * pca
        shown = " | ".join(f"{value:.1f}" for value in values.mean(axis=0))
        print(f"| {name} | {kind} | {size:,} | {shown} | {gain.mean():+.1f} ± {gain.std(ddof=1) / SPLITS**0.5:.1f} |")
