"""The tables of the golden suite: which estimator is fitted to what.

``crossed`` has every method on every kind of data. Labels and graphs take turns there, so that every two of methods, data, labels
and graphs meet (a test counts them). The other tables have each option at each of its values, each graph, and what is refused.
A case that is added to a table leaves all others as they are.
"""

from __future__ import annotations

from golden_data import CROSSED_DATA, LABELS

# Each method as it is crossed with data, labels and graphs. {} is the place of its graph, where it has one.
CROSSED_METHODS = {
    "LPP": "LPP(2{})",
    "OLPP": "OLPP(2{})",
    "LPI": "LPI(2{})",
    "NPE": "NPE(2{})",
    "ONPP": "ONPP(2{})",
    "KernelLPP": "KernelLPP(2{})",
    "KernelNPE": "KernelNPE(2{})",
    "TSA": "TSA(2{}, image_shape=(2, -1))",
    "LaplacianEigenmaps": "LaplacianEigenmaps(2{})",
    "DiffusionMaps": "DiffusionMaps(2{})",
    "SpectralRegression": "SpectralRegression(2{})",
    "MMC": "MMC(2)",
    "LPDP": "LPDP(2{})",
    "MFA": "MFA(2{})",
    "DNE": "DNE(2{})",
    "LFDA": "LFDA(2{})",
    "LSDA": "LSDA(2{})",
    "KernelLDA": "KernelLDA()",
    "KernelLFDA": "KernelLFDA(2{})",
    "LPCA": "LPCA(2{})",
    "TangentialMaps": "TangentialMaps(2{})",
    "GLPCA": "GLPCA(2{})",
    "RobustGLPCA": "RobustGLPCA(2{}, tol=1e-9)",
    "L21PCA": "L21PCA(1, tol=1e-9)",
    "GraphPCA": "GraphPCA(2{})",
    "MULTISPATI": "MULTISPATI(2{})",
    "ContrastivePCA": "ContrastivePCA(2)",
    "LaplacianScore": "LaplacianScore(3{})",
    "FisherScore": "FisherScore(3)",
    "RCA": "RCA(2)",
}
SUPERVISED = {
    "MMC",
    "LPDP",
    "MFA",
    "DNE",
    "LFDA",
    "LSDA",
    "KernelLDA",
    "KernelLFDA",
    "ContrastivePCA",
    "FisherScore",
    "RCA",
}
ITERATED = ("TSA", "LPI", "SpectralRegression", "RobustGLPCA", "L21PCA")  # by rounds, conjugate gradients or descent
CROSSED_GRAPHS = (
    None,
    "6",
    '"supervised"',
    '"semi"',
    "KNN(5) - 0.2 * Repulsion(7)",
    'KNN(6, weights="binary") & SameClass()',
    "Reconstruction(4)",
    '0.5 * KNN(4, symmetry="mean") + CodingLength(4)',
)
READING = ('"supervised"', '"semi"', "Repulsion", "SameClass")  # graphs with one of these read labels


def crossed() -> list[tuple[str, str, str, str | None]]:
    """Method, data, labels and graph of each crossed case. All labels and all graphs take turns along methods and data."""
    found = []
    for i, method in enumerate(CROSSED_METHODS):
        for j, data in enumerate(CROSSED_DATA):
            labels = list(LABELS)[(i + j) % len(LABELS)]
            graph = CROSSED_GRAPHS[(2 * i + i // 4 + 3 * j) % len(CROSSED_GRAPHS)]
            if "{}" not in CROSSED_METHODS[method]:
                graph = None
            if labels == "none" and (method in SUPERVISED or any(word in (graph or "") for word in READING)):
                labels = "full"  # it needs labels; what it says without them is among the errors
            found.append((method, data, labels, graph))
    return found


# Estimators that are fitted to data with labels: each option at each of its values, where it acts.
OPTIONS = {
    ("tall", "none"): """
        LPP(2, preset="paper")
        DiffusionMaps(2)
        SpectralRegression(2)
        LaplacianScore(3)
    """,
    ("tall", "full"): """
        LPP(None)
        LPP("auto", graph="supervised")
        LPP(3, graph=W)
        LPP(3, graph=W_dense)
        LPP(2, penalty=7)
        LPP(2, penalty=Repulsion(7, weights="binary"))
        LPP(2, penalty=W_apart, pca=5)
        LPP(2, graph="supervised", penalty=Complete())
        LPP(2, constraint="orthogonal")
        LPP(2, constraint="trace-ratio")
        LPP(2, constraint="trace-ratio", penalty=7)
        LPP(2, constraint="trace-ratio", graph="supervised", pca=None)
        LPP(2, pca=None)
        LPP(2, pca=4)
        LPP(2, pca=0.8)
        LPP(2, pca=1.0)
        LPP(2, center="mean")
        LPP(2, center="degree")
        LPP(2, center=False)
        LPP(2, center=False, pca=4)
        LPP(2, center="mean", graph="supervised")
        LPP(2, scaling="unit", graph="supervised")
        LPP(2, scaling="constraint", graph="supervised")
        LPP(2, scaling="objective", graph="supervised")
        LPP(2, scaling="constraint")
        LPP(2, scaling="objective")
        LPP(2, ridge=0)
        LPP(2, ridge=0.5)
        LPP(2, ridge=0.5, pca=4)
        LPP(2, ridge=0, graph="supervised")
        LPP(2, ridge=0.01, graph="supervised", pca=None)
        LPP(2, graph=KNN(5) + 2 * SameClass(), normalize="auto")
        LPP(2, graph=KNN(5) + 2 * SameClass(), normalize=None)
        LPP(2, graph=KNN(5) + 2 * SameClass(), normalize="degree")
        LPP(2, graph=KNN(5) + 2 * SameClass(), normalize="trace")
        LPP(2, graph=KNN(5) - 0.3 * Repulsion(9), normalize="trace")
        LPP(2, standardize=True)
        OLPP(2, graph=SameClass() - 0.2 * Repulsion(9), normalize="trace")
        OLPP(None)
        OLPP(2, graph=-Complete())
        OLPP(2, pca=None, center=False)
        NPE(2, scaling="constraint", pca=None)
        NPE(2, ridge=0.1)
        ONPP(2, pca=5)
        MMC(None)
        MMC("auto")
        MMC(2, pca=4)
        LPDP(2, alpha=0)
        LPDP(2, alpha=3)
        MFA(2, penalty=9)
        MFA(2, penalty=Repulsion(9))
        MFA(2, constraint="trace-ratio")
        DNE(2, pca=None)
        LFDA(2, ridge=0.1, scaling="unit")
        LSDA(2, alpha=0.5)
        LSDA(2, alpha=0.9)
        RCA(2, pairs=MUST, ridge=0.5)
        RCA(2, pairs=MUST, sides=[0, 1] * 30)
        GraphPCA(2, alpha=0)
        GraphPCA(2, alpha=5)
        ContrastivePCA(2, alpha=0)
        ContrastivePCA(2, alpha=4, background=1)
        GLPCA(2, beta=0)
        GLPCA(2, beta=0.9)
        GLPCA(2, beta=1)
        RobustGLPCA(2, beta=0.1)
        RobustGLPCA(2, center="mean")
        RobustGLPCA(2, rho=1.2)
        RobustGLPCA(2, max_iter=5)
        RobustGLPCA(2)
        L21PCA(2)
        L21PCA(2, center="mean")
        L21PCA(2, rho=1.1, tol=1e-4)
        SpectralRegression(2, ridge=1)
        SpectralRegression(2, lasso=0.2)
        SpectralRegression(2, graph="supervised", lasso=0.1)
        DiffusionMaps(2, alpha=0)
        DiffusionMaps(2, alpha=0.5, n_steps=3)
        DiffusionMaps(2, n_steps=0)
        DiffusionMaps(2, extension="barycentric")
        LaplacianEigenmaps(2, constraint="identity")
        LPP(2, verbose=False)
        LaplacianEigenmaps(2, extension="affine")
        LaplacianEigenmaps(2, extension="barycentric")
        LaplacianEigenmaps(2, extension="barycentric", constraint="identity")
        LaplacianEigenmaps(2, graph=KNN(5) + KNN(9, metric="cosine"), normalize=None)
        LaplacianEigenmaps(2, graph=KNN(5) + KNN(9, metric="cosine"), normalize="degree")
        TangentialMaps(2, extension="barycentric")
        TangentialMaps(2, graph=9)
        TangentialMaps(3, graph=TangentAlignment(9, weights="uniform"))
        LaplacianScore(3, constraint="identity")
        LaplacianScore(None)
        LaplacianScore(3, graph=KNN(5) + SameClass(), normalize=None)
        LaplacianScore(3, graph=KNN(5) + SameClass(), normalize="degree")
        FisherScore(None)
        KernelLPP(2, gamma="scale")
        KernelLPP(2, gamma=None)
        KernelLPP(2, gamma=0.02, graph="supervised")
        KernelLPP(2, kernel="linear")
        KernelLPP(2, kernel="poly", degree=2, coef0=0.5)
        KernelLPP(2, kernel="laplacian")
        KernelLPP(2, kernel="sigmoid", gamma=0.001)
        KernelLPP(2, kernel="cosine")
        KernelLPP(2, kernel=squared_kernel, pca=5)
        KernelLPP(2, kernel=squared_kernel, kernel_params=dict(scale=0.5), pca=5)
        KernelLPP(2, landmarks=20, random_state=0)
        KernelLPP(2, landmarks=20, random_state=0, graph="supervised")
        KernelLPP(2, penalty=7)
        KernelLPP(2, constraint="orthogonal")
        KernelLPP(2, constraint="trace-ratio", penalty=7)
        KernelLPP(2, pca=0.9)
        KernelLPP(2, ridge=0.2, pca=6)
        KernelLPP(2, center="mean")
        KernelLPP(2, center=False, pca=6)
        KernelLPP(2, scaling="constraint")
        KernelLPP(2, scaling="objective", graph="supervised")
        KernelLPP(2, standardize=True)
        KernelNPE(2, gamma=0.05, pca=8)
        KernelLDA(gamma=0.05, ridge=0.1)
        KernelLDA(2, landmarks=20, random_state=1)
        KernelLDA(2, features=RBFSampler(gamma=0.05, n_components=20, random_state=1))
        KernelLFDA(2, graph=3)
    """,
    ("units", "full"): """
        LPP(2)
        LPP(2, standardize=False)
        LPP(2, standardize=True)
        LPP(2, graph="supervised")
        LPP(2, graph=KNN(5, metric="cosine"))
        MMC(2)
        KernelLPP(2)
        KernelLPP(2, kernel="cosine")
        GraphPCA(2, standardize=True)
    """,
    ("wine", "full"): """
        LPP(2)
        LPP("auto", graph="supervised")
        LFDA(2)
        LaplacianScore(5)
    """,
    ("iris", "full"): """
        LPP(2)
        LPP(4, graph="supervised")
        KernelLDA()
        GLPCA(2)
    """,
    ("digits", "full"): """
        LPP(10)
        LPP(9, graph="supervised")
        LPP("auto", graph="supervised")
        LPP(5, graph=KNN(7) + SameClass() - 0.2 * Repulsion(15))
        MFA(3)
        LPCA(5)
        TSA((2, 3), image_shape=(8, 8))
    """,
    ("images", "full"): """
        TSA()
        TSA(3)
        TSA(None)
        TSA((3, "auto"))
        TSA((2, 3), max_iter=10)
        TSA((2, 3), max_iter=1)
        TSA((2, 3), flatten=True)
        TSA((2, 3), scaling="constraint")
        TSA((2, 3), graph=SameClass("heat"))
        TSA((2, 3), graph="semi", normalize=None)
        TSA((2, 3), graph="semi", normalize="trace")
        TSA((2, 3), penalty=9)
    """,
    ("documents", "full"): """
        LPI(2)
        LPI(3, graph=4)
        LPI(2, ridge=0.5)
        LPI(2, scaling="constraint")
        LPI(2, graph="supervised")
        LPI(2, graph="semi", normalize=None)
        LPI(2, graph="semi", normalize="degree")
        LPI(2, graph=KNN(5, metric="cosine", weights="dot"))
        LPP(2, graph=KNN(5, metric="cosine", weights="cosine"))
    """,
    ("empty document", "full"): """
        LPI(2)
        LPI(2, graph=Precomputed(W))
    """,
    ("outlier", "full"): """
        LPP(2)
        LPP(2, graph=KNN(5, t=4.0), pca=None)
        LPP(2, graph=KNN(5, t=0.001))
        LPP(2, graph=SameClass("heat", t=9.0))
        LPP(2, graph=KNN(5, weights="self-tuning"))
        LaplacianScore(3, graph=KNN(5, t=4.0))
        KernelLPP(2)
        RobustGLPCA(2)
    """,
    ("kernel", "full"): """
        KernelLPP(2, kernel="precomputed")
        KernelLPP(2, kernel="precomputed", graph="supervised")
        KernelLDA(kernel="precomputed")
        KernelNPE(2, kernel="precomputed")
    """,
    ("distances", "full"): """
        LaplacianEigenmaps(2, graph=KNN(5, metric="precomputed"))
        LaplacianEigenmaps(2, graph=Radius(4.0, metric="precomputed"))
    """,
    ("pieces", "full"): """
        LPP(2)
        LaplacianEigenmaps(2)
        LaplacianEigenmaps(3)
        LaplacianEigenmaps(5)
        DiffusionMaps(3, graph=5)
        SpectralRegression(2)
        GLPCA(3)
        LaplacianScore(3)
        KernelLPP(2)
    """,
    ("three rows", "full"): """
        LPP(1)
        LPP(2)
        LPP(3)
        OLPP(2)
        NPE(1)
        KernelLPP(1)
        LaplacianEigenmaps(1)
        LaplacianEigenmaps(3)
        TangentialMaps(1, graph=2)
        LPCA(1)
        MMC(1)
        GLPCA(1)
        LaplacianScore(2)
        FisherScore(2)
    """,
    ("csc", "full"): """
        LPP(2)
        LPP(2, graph="supervised")
        LPI(2)
        LaplacianScore(3)
    """,
    ("coo", "full"): """
        LPP(2)
        MMC(2)
        LaplacianEigenmaps(2)
    """,
    ("long indices", "full"): """
        LPP(2)
        NPE(2)
        KernelLPP(2)
        GLPCA(2)
    """,
    ("csr matrix", "full"): """
        LPP(2)
        LaplacianEigenmaps(2)
    """,
    ("csr", "full"): """
        LPP(2, pca=None)
        LPP(2, pca=3, center="mean")
        LPP(2, center=False)
        LPP(2, ridge=0.3)
        LPP(2, penalty=7)
        LPP(2, standardize=True)
        LPP(2, constraint="trace-ratio")
    """,
    ("frame", "full"): """
        LPP(2)
        LPP(2, graph=Precomputed(W_named, ids=IDS))
        LPP(2, graph=KNN(5) + Pairs(NAMED, by_id=True))
        LPP(2, graph=On(["length", "age"], KNN(5)))
        LPP(2, graph=On("age", Chain(time=0), beside=True))
        LaplacianScore(3)
    """,
    ("many digits", "full"): """
        LaplacianEigenmaps(2)
        LaplacianEigenmaps(2, graph=KNN(7) - 0.1 * Repulsion(9))
        LaplacianEigenmaps(3, constraint="identity")
        DiffusionMaps(2)
        GLPCA(3)
        SpectralRegression(3, ridge=1)
        KernelLPP(3, landmarks=60, random_state=0)
    """,
    ("roll", "full"): """
        LaplacianEigenmaps(2)
        TangentialMaps(2)
        TangentialMaps(2, graph=TangentAlignment(10, weights="uniform"))
    """,
    ("large", "full"): """
        LPP(2, graph=KNN(4, weights="binary"))
        LPI(2, graph=KNN(4, metric="cosine", weights="binary"))
    """,
}

# Every graph, and every option of it at each of its values. The estimator is LPP where nothing else is said.
GRAPHS = {
    ("tall", "full"): """
        KNN(5)
        KNN(5, weights="binary")
        KNN(5, weights="self-tuning")
        KNN(5, weights=inverse)
        KNN(5, t=4.0)
        KNN(5, t="half-median")
        KNN(5, metric="cosine")
        KNN(5, metric="manhattan")
        KNN(5, metric="chebyshev")
        KNN(5, metric="minkowski", metric_params=dict(p=3))
        KNN(5, metric=far_apart)
        KNN(5, among="same_class")
        KNN(5, among="other_class")
        KNN(5, symmetry="or")
        KNN(5, symmetry="and")
        KNN(5, symmetry="mean")
        KNN(5, search=KNeighborsTransformer(n_neighbors=3))
        KNN(5, queries=20)
        KNN(5, queries=20, random_state=1)
        KNN(30)
        Radius(4.0)
        Radius(3.0, weights="binary")
        Radius(4.0, weights=inverse, metric="manhattan")
        Radius(4.0, t="half-median")
        Radius(4.0, t=2.0)
        KNN(5) - 0.3 * Repulsion(9)
        KNN(5) - 0.3 * Repulsion(9, weights="binary")
        KNN(5) - 0.3 * Repulsion(9, sigma=1.0)
        KNN(5) - 0.3 * Repulsion(9, normalized=True)
        KNN(5) - 0.3 * Repulsion(9, metric="cosine")
        KNN(5) - 0.3 * Repulsion(9, queries=30)
        SameClass() - 0.01 * ClosestPairs(5)
        SameClass() - 0.01 * ClosestPairs(5, metric="manhattan")
        Reconstruction(5)
        Reconstruction(5, reg=0.1)
        Reconstruction(5, among="same_class")
        Reconstruction(5, metric="cosine")
        Reconstruction(5, queries=30)
        CodingLength(5)
        CodingLength(5, weights="distance")
        CodingLength(5, weights="uniform")
        CodingLength(5, distortion=2.0)
        CodingLength(5, dimension=3.0)
        CodingLength(5, origin=0)
        CodingLength(5, metric="manhattan")
        CodingLength(12)
        CodingLength(5, queries=30)
        TangentAlignment(9)
        TangentAlignment(9, n_components=3)
        TangentAlignment(9, weights="distance")
        TangentAlignment(9, weights="uniform")
        TangentAlignment(9, include_self=False)
        TangentAlignment(9, distortion=2.0, dimension=4.0)
        TangentAlignment(9, metric="manhattan")
        SameClass()
        SameClass("heat")
        SameClass("heat", t=10.0)
        SameClass("heat", t="half-median")
        SameClass(balance=True)
        SameClass("heat", balance=True)
        LocalClass()
        LocalClass(3)
        SameClass() - 0.05 * OtherClass()
        Complete()
        Complete(among="labelled")
        Chain()
        Chain(3)
        Chain(2, time=4)
        Chain(2, time=1)
        Precomputed(W)
        KNN(5) + 3 * Pairs(MUST, CANNOT)
        KNN(5) + Pairs(cannot_link=CANNOT)
        KNN(5) + SameClass() + 3 * Pairs(MUST)
        Pairs(MUST) + Chain()
        KNN(5) + 0 * Complete()
        Empty() + KNN(5)
        Similarity(KNN(5))
        DensityCorrected(KNN(5))
        DensityCorrected(KNN(5) + KNN(9, metric="cosine"), 0.5)
        On(PCA(3), KNN(5))
        On([0, 1, 2], KNN(5))
        On(StandardScaler(), KNN(5)) & SameClass()
        KNN(5) | KNN(5, metric="cosine")
        KNN(9) & OtherClass()
        KNN(9) & KNN(9, metric="cosine") & SameClass()
        (KNN(5) | SameClass("heat")) - 0.1 * OtherClass()
        2 * KNN(5) - KNN(5) * 0.5
        sum([KNN(3), KNN(4), KNN(5)])
        Scaled(KNN(5), 2.0)
        Combination(KNN(5), SameClass(), 0.5)
        Union(KNN(3), Chain())
        Intersection(KNN(15), SameClass())
    """,
    ("tall", "some"): """
        KNN(5, among="same_class")
        KNN(5) - 0.3 * Repulsion(9)
        SameClass()
        LocalClass()
        SameClass() + KNN(5) - 0.05 * OtherClass()
        Propagated(None)
        Propagated(None, graph=4, shares="labels")
        Complete(among="labelled")
        Reconstruction(5, among="same_class")
        SameClass(balance=True) + KNN(5)
    """,
    ("tall", "numbers"): """
        Target()
        Target(9, weights="binary")
        Target(9, t=0.5)
        Target(9, t="half-median")
        KNN(5) + Target(9)
    """,
    ("tall", "numbers, some unknown"): """
        KNN(5) + Target(4)
    """,
    ("tall", "sets"): """
        Target(3)
        Target(3, weights="binary")
    """,
    ("tall", "rows of numbers"): """
        Target(5)
    """,
    ("nonnegative", "full"): """
        KNN(5, weights="cosine")
        KNN(5, weights="dot")
        Radius(3.0, weights="cosine")
        Radius(3.0, weights="dot")
    """,
    ("copies", "full"): """
        KNN(3)
        KNN(3, weights="binary")
        KNN(3, weights="self-tuning")
        KNN(4, symmetry="and")
        KNN(3, metric="manhattan")
        Radius(2.0, weights="binary")
        Reconstruction(3)
        LocalClass(2)
        ClosestPairs(3) + SameClass()
    """,
    ("beside", "full"): """
        On([0, 1], Grid(), beside=True)
        On([0, 1], Grid(corners=True), beside=True)
        On([0, 1], Grid(), beside=True) + KNN(5)
        On(HALVED, Grid(step=0.5))
        On([0, 4], Delaunay())
        On([4, 5], Delaunay(longest=2.0))
        On(2, Chain(time=0), beside=True)
        On([2, 3], Chain(2, time=0, series=1), beside=True)
        On([0, 1], KNN(4, weights="binary"), beside=True)
        On(0, Precomputed(W, ids=range(60)), beside=True)
    """,
}
# The same graphs in free maps, which place new rows by them.
FREE_GRAPHS = {
    ("tall", "full"): """
        KNN(5, weights="self-tuning")
        KNN(5, weights=inverse)
        KNN(5, t="half-median")
        KNN(5, metric="cosine")
        KNN(5, symmetry="mean")
        KNN(5) + 0.5 * KNN(9, weights="binary")
        KNN(5) - 0.05 * Repulsion(9)
        Radius(5.0)
        Radius(5.0, weights=inverse)
        DensityCorrected(KNN(5), 0.5)
        On(PCA(3), KNN(5))
        Similarity(KNN(5))
        KNN(5) | KNN(5, metric="cosine")
        TangentAlignment(9)
        Reconstruction(5)
        Precomputed(W)
        Chain()
        SameClass()
    """,
}

# What is refused: type and first words are recorded.
ERRORS = {
    ("tall", "none"): """
        LPP(2, graph="supervised")
        LPP(2, graph="semi")
        LPP(2, penalty=7)
        LPP(2, graph=Target(5))
        MMC(2)
        LPDP(2)
        MFA(2)
        DNE(2)
        LFDA(2)
        LSDA(2)
        KernelLDA()
        KernelLFDA(2)
        ContrastivePCA(2)
        FisherScore(3)
        RCA(2)
    """,
    ("tall", "full"): """
        LPP(9)
        LPP(0)
        LPP(1.5)
        LPP("auto")
        LPP(2, graph=60)
        LPP(2, graph=KNN(60))
        LPP(2, graph="near")
        LPP(2, graph=KNN(5, weights="cosine"))
        LPP(2, graph=KNN(5, weights="soft"))
        LPP(2, graph=Radius(1e-9))
        LPP(2, graph=Precomputed(W_named))
        LPP(2, graph=Precomputed(-W))
        LPP(2, graph=Pairs())
        LPP(2, graph=Empty())
        LPP(2, pca=0)
        LPP(2, pca=9)
        LPP(2, ridge=-1)
        LPP(2, scaling="long")
        LPP(2, center="median")
        LPP(2, constraint="none")
        LPP(2, constraint="orthogonal", ridge=1)
        LPP(2, constraint="orthogonal", penalty=7)
        LPP(2, center="degree", penalty=7)
        LPP(2, scaling="objective", graph=KNN(5) - Repulsion(9))
        LPP(2, graph=KNN(5) | SameClass())
        MFA(2, constraint="orthogonal")
        LSDA(2, alpha=1)
        LaplacianEigenmaps(60)
        LaplacianEigenmaps(2, graph=KNN(5, queries=20))
        DiffusionMaps(2, graph=KNN(5) - Repulsion(9))
        KernelLPP(2, landmarks=61)
        KernelLPP(2, kernel="precomputed")
        SpectralRegression(2, ridge=0)
        TSA(2)
        TSA((1, 2, 3), image_shape=(2, 4))
        LPI(2)
        LaplacianScore(9)
    """,
    ("tall", "too few"): """
        LPP(2, graph="supervised")
    """,
    ("tall", "one class"): """
        LPP(2, graph="supervised")
        MMC(2)
    """,
    ("tall", "none known"): """
        LPP(2, graph="supervised")
    """,
    ("csr", "full"): """
        TSA(2, image_shape=(2, 6))
        LPP(2, graph=On([0, 1], Grid()))
    """,
}

# Fitted with weights of samples.
WEIGHTED = """
    LPP(2, graph="supervised")
    LPP(2, graph="supervised", pca=4)
    LPP(2, graph=SameClass(balance=True))
    LPP(2, graph=SameClass() - 0.1 * OtherClass())
    LPP(2)
    OLPP(2, graph=-Complete())
    MMC(2)
    MMC(2, standardize=True)
    KernelLPP(2, graph="supervised")
    KernelLDA()
    LaplacianScore(3, graph=SameClass())
    FisherScore(3)
    LaplacianEigenmaps(2)
"""
# Fitted to one batch after the other.
STREAMED = """
    LPP(2, graph="supervised")
    LPP(2, graph=SameClass(balance=True), ridge=0.1)
    MMC(2)
    LaplacianScore(3, graph=SameClass())
    FisherScore(3)
    KernelLDA(2, features=RBFSampler(gamma=0.05, n_components=20, random_state=1), standardize=False)
"""
# Fitted to rows that are not in memory.
IN_BLOCKS = """
    LPP(2, graph=KNN(4, queries=40))
    LPP(2, graph=KNN(4, queries=40) - 0.1 * Repulsion(6, queries=25), pca=None)
    LPP(2, graph="supervised")
    NPE(2, graph=Reconstruction(4, queries=40), ridge=0.1)
    MMC(2, standardize=True)
    LaplacianScore(3, graph=KNN(4, queries=40))
"""
# Fitted to tensors.
TENSORS = """
    LPP(3)
    LPP(3, graph="supervised")
    LPP(3, graph=KNN(7) - 0.2 * Repulsion(9))
    LPP(3, graph=KNN(5, metric="cosine", symmetry="and"))
    LPP(3, penalty=7, standardize=True)
    OLPP(3)
    NPE(3)
    MMC(3)
    MFA(3)
    LPCA(3)
    KernelLPP(3, landmarks=30, random_state=0)
    LaplacianScore(5)
    TSA((2, 2), image_shape=(8, 8))
    LaplacianEigenmaps(2)
    GLPCA(2)
    TangentialMaps(2)
    LPP(3, graph=KNN(5, search="torch"))
"""
