"""Search among classes that training never saw: a short space before a FAISS index, beside PCA and vectors in codes.

    make integrations, or .venv-integrations/search/bin/python integrations/search/vector_search.py after it

Half of the classes are learnt from, and the search is among the others.
"""

import doctest

import faiss
import numpy as np
import torch
from _data import embeddings
from sentence_transformers import SentenceTransformer
from sklearn.decomposition import PCA

from lapwing import LPP, to_torch, vectors
from lapwing.vectors import to_faiss, to_sentence_transformers

SHORT, QUERIES, SPLITS = 64, 500, 3


def scores(ranked, own, relevant):
    """Recall at 1, recall at 10 and mean average precision of ranked classes."""
    hits = ranked == own[:, None]
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


def found(index, stored, queries):
    if not index.is_trained:
        index.train(stored)
    index.add(stored)
    return index.search(queries, len(stored))[1]


assert doctest.testmod(vectors, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
X, y = embeddings()
d, classes = X.shape[1], np.unique(y)
short = min(SHORT, d // 4)
results = {}
for seed in range(SPLITS):
    random = np.random.RandomState(seed)
    seen = np.isin(y, random.permutation(classes)[: len(classes) // 2])
    new = random.permutation(np.flatnonzero(~seen))
    asked, kept = new[:QUERIES], new[QUERIES:]
    own, labels = y[asked], y[kept]
    relevant = (labels == own[:, None]).sum(axis=1)
    pca = PCA(short, random_state=0).fit(X[seen])
    before = faiss.LinearTransform(d, short, True)
    faiss.copy_array_to_vector(pca.components_.astype(np.float32).ravel(), before.A)
    faiss.copy_array_to_vector(-(pca.components_ @ pca.mean_).astype(np.float32), before.b)
    before.is_trained = True
    lpp = LPP(short, graph="semi", standardize=False).fit(X[seen], y[seen])
    layer = to_faiss(lpp)

    # The same numbers in every program, to the precision of float32.
    there = lpp.transform(X[asked])
    scale = np.abs(there).max()
    assert np.abs(layer.apply_py(X[asked]) - there).max() < 1e-5 * scale
    with torch.no_grad():
        assert np.abs(to_torch(lpp).float()(torch.from_numpy(X[asked])).numpy() - there).max() < 1e-5 * scale
        model = SentenceTransformer(modules=[to_sentence_transformers(lpp)])
        given = model.forward({"sentence_embedding": torch.from_numpy(X[asked])})["sentence_embedding"]
        assert np.abs(given.numpy() - there).max() < 1e-5 * scale

    rows = {
        "as they are, float32": (flat(d), 4 * d),
        "as they are, 8 bits per number": (coded(d), d),
        f"PCA to {short}, float32": (flat(d, before), 4 * short),
        f"LPP to {short}, float32": (flat(d, layer), 4 * short),
        f"PCA to {short}, 8 bits per number": (coded(d, before), short),
        f"LPP to {short}, 8 bits per number": (coded(d, layer), short),
    }
    for name, (index, size) in rows.items():
        ranked = labels[found(index, X[kept], X[asked])]
        results.setdefault((name, size), []).append(scores(ranked, own, relevant))
    bits = faiss.IndexBinaryFlat(d)
    centred = X - X[seen].mean(axis=0)
    ranked = labels[found(bits, signs(centred[kept]), signs(centred[asked]))]
    results.setdefault(("as they are, 1 bit per number", d // 8), []).append(scores(ranked, own, relevant))

print(
    f"{len(X):,} vectors of {d} numbers, {SPLITS} draws of the classes that are learnt from; in per cent, ± over draws"
)
print("| vectors | bytes per vector | recall at 1 | recall at 10 | mAP |\n|---|---|---|---|---|")
for (name, size), values in results.items():
    mean, error = 100 * np.mean(values, axis=0), 100 * np.std(values, axis=0, ddof=1) / len(values) ** 0.5
    print(f"| {name} | {size:,} | " + " | ".join(f"{m:.1f} ± {e:.1f}" for m, e in zip(mean, error, strict=True)) + " |")
