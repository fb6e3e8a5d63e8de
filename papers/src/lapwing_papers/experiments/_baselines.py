"""Which methods of a paper's tables have nothing to do with its own.

They are told apart so that a miss can be judged: where the raw data or PCA miss the printed numbers too, the data or the protocol
differ, not the method. Methods that share the paper's graph or its solver (Laplacian eigenmaps, normalised cut, LPP beside gLPCA)
are none, because a wrong reading of the graph would show in them as well.
"""

from __future__ import annotations

#: By the module in which a paper's experiments are declared.
BASELINES: dict[str, tuple[str, ...]] = {
    "_thesis": ("raw pixels", "Eigenfaces", "Fisherfaces", "k-means", "PCA", "variance"),
    "_thesis_text": ("baseline", "k-means", "LSI", "LSI (best)", "NMF-NCW"),
    "_lpca": ("PCA",),
    "_glpca": ("Original", "PCA", "PCA (with lengths)"),
    "_repulsion": ("PCA", "Fisherfaces"),
}
