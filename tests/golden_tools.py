"""Cases of the golden suite that are short programs: scikit-learn's tools, and lapwing's own beside its estimators."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from golden_compare import Record
from golden_data import FITTED, NEW, Names, rows
from golden_record import Case, dense, described, shown
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TOOLS: list[Case] = []


def tool(name: str, *needs: str, tol: float = 1e-8) -> Callable[[Callable[[Names], Record]], Callable[[Names], Record]]:
    """Put a function into the table of cases."""

    def put(function: Callable[[Names], Record]) -> Callable[[Names], Record]:
        TOOLS.append(Case(name, "tools", function, tol, needs))
        return function

    return put


def _space(**columns: Any) -> Record:
    """Columns whose signs are free."""
    return Record({}, {f"0/{name}": dense(Z) for name, Z in columns.items()})


@tool("pipeline of a scaler, LPP and neighbours")
def _(names: Names) -> Record:
    X, new, y = rows("wine")
    model = make_pipeline(StandardScaler(), names.made("LPP(2)"), KNeighborsClassifier(3)).fit(X, y)
    found = described(model[1], StandardScaler().fit(X).transform(X), model[0].transform(new))
    found.arrays["predicted"] = model.predict(new).astype(float)
    found.facts["pipeline names"] = [str(name) for name in model[:-1].get_feature_names_out()]
    return found


@tool("pipeline of LPP with labels and neighbours, by cross-validation")
def _(names: Names) -> Record:
    X, _, y = rows("digits")
    model = make_pipeline(names.made('LPP("auto", graph="supervised")'), KNeighborsClassifier(1))
    return Record({}, {"scores": cross_val_score(model, X, y, cv=StratifiedKFold(3))})


@tool("pipeline with a free map")
def _(names: Names) -> Record:
    X, new, _ = rows("wine")
    model = make_pipeline(StandardScaler(), names.made("LaplacianEigenmaps(2)"))
    return _space(fitted=model.fit_transform(X), new=model.transform(new))


@tool("GridSearchCV over graph__n_neighbors")
def _(names: Names) -> Record:
    X, _, y = rows("digits")
    model = make_pipeline(names.made("LPP(5, graph=KNN(5))"), KNeighborsClassifier(1))
    search = GridSearchCV(model, {"lpp__graph__n_neighbors": [3, 5, 9], "lpp__pca": [10, 20]}, cv=StratifiedKFold(3))
    search.fit(X, y)
    best = search.best_params_
    arrays = {"scores": search.cv_results_["mean_test_score"], "best": [best[name] for name in sorted(best)]}
    return Record({"graph": shown(search.best_estimator_[0].graph_)}, arrays)


@tool("set_params inside a sum of graphs")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    model = names.made("LPP(2, graph=KNN(5) + 0.5 * SameClass())")
    keys = sorted(key for key in model.get_params() if key.startswith("graph__"))
    model.set_params(**{key: 8 for key in keys if key.endswith("n_neighbors")})
    found = described(model.fit(X, y), X, new)
    found.facts["keys"] = [key for key in keys if not key.endswith(("recall", "kernel"))]
    return found


@tool('set_output(transform="pandas")', "pandas")
def _(names: Names) -> Record:
    X, new, y = rows("frame")
    model = names.made("LPP(2)").set_output(transform="pandas").fit(X, y)
    Z = model.transform(new)
    found = _space(new=Z.to_numpy())
    found.facts |= {"columns": list(Z.columns), "index": list(Z.index), "in": [str(n) for n in model.feature_names_in_]}
    return found


@tool('set_output(transform="polars")', "polars")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    Z = names.made("LPP(2)").set_output(transform="polars").fit(X, y).transform(new)
    found = _space(new=Z.to_numpy())
    found.facts["columns"] = list(Z.columns)
    return found


@tool("set_output of a selector", "pandas")
def _(names: Names) -> Record:
    X, new, y = rows("frame")
    Z = names.made("FisherScore(3)").set_output(transform="pandas").fit(X, y).transform(new)
    return Record({"columns": list(Z.columns)}, {"new": Z.to_numpy()})


@tool("clone of a fitted estimator")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    model = names.made("LPP(2, graph=KNN(5) - 0.2 * Repulsion(7), pca=5)").fit(X, y)
    copy = clone(model)
    facts = {"repr": " ".join(repr(copy).split()), "fitted": hasattr(copy, "components_")}
    found = described(copy.fit(X, y), X, new)
    found.facts |= facts
    return found


@tool("pickle of a fitted estimator")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    return described(pickle.loads(pickle.dumps(names.made("KernelLPP(2)").fit(X, y))), X, new)


@tool("fit_transform and inverse_transform of LPP")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    model = names.made('LPP(2, graph="supervised", standardize=True)')
    found = _space(fitted=model.fit_transform(X, y))
    found.arrays["restored"] = model.inverse_transform(model.transform(new))
    return found


@tool("inverse_transform of OLPP on sparse rows")
def _(names: Names) -> Record:
    X, new, y = rows("csr")
    model = names.made("OLPP(3)").fit(X, y)
    return Record({}, {"restored": dense(model.inverse_transform(model.transform(new)))})


@tool("inverse_transform of GLPCA and of a selector")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    model, selector = names.made("GLPCA(3)").fit(X), names.made("FisherScore(3)").fit(X, y)
    arrays = {"selected": selector.inverse_transform(selector.transform(new))}
    if hasattr(model, "inverse_transform"):
        arrays["restored"] = model.inverse_transform(model.transform(X))[:FITTED]
    return Record({"support": selector.get_support(indices=True).tolist()}, arrays)


@tool("transform with links")
def _(names: Names) -> Record:
    X, new, _ = rows("tall")
    model = names.made("LaplacianEigenmaps(2, graph=W)").fit(X)
    links = np.random.RandomState(0).rand(NEW, len(X)) * (np.arange(len(X)) % 5 == np.arange(NEW)[:, None])
    tangent = names.made("TangentialMaps(2, graph=9)").fit(X)
    found = _space(new=model.transform(new, links=links))
    found.arrays["1/new"] = tangent.transform(new, links=sparse.csr_array(links))
    return found


@tool("GraphPCA.smoothed")
def _(names: Names) -> Record:
    X, new, _ = rows("tall")
    model = names.made("GraphPCA(2, graph=4, alpha=2.0)").fit(X)
    return _space(smoothed=model.smoothed(X), new=model.smoothed(np.concatenate([new, new + 1])))


@tool("LPCA.local_subspaces")
def _(names: Names) -> Record:
    X, _, y = rows("tall")
    model = names.made("LPCA(2)").fit(X, y)
    found = model.local_subspaces(X)
    arrays = {"weights": found.weights, "means": found.means}
    return Record({}, arrays | {"projectors": np.einsum("nkd,nke->nde", found.components, found.components)[:4]})


@tool("estimator.problem")
def _(names: Names) -> Record:
    X, _, y = rows("tall")
    problem = names.made("LPP(2, graph=KNN(4) - 0.2 * Repulsion(6), penalty=W)").problem(X, y)
    arrays = {"subject to": problem.subject_to.toarray()}
    for place, term in enumerate(problem.minimise):
        arrays[f"term {place}"] = term.coefficient * term.laplacian.toarray()
    return Record({"terms": len(problem.minimise)}, arrays)


@tool("UnitsWarning, once per process")
def _(names: Names) -> Record:
    code = (
        "import warnings, lapwing\nfrom sklearn.datasets import load_wine\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for standardize in (True, False, 'auto', 'auto'):\n"
        "        lapwing.LPP(2, standardize=standardize).fit(load_wine().data)\n"
        "print([w.category.__name__ for w in caught])"
    )
    path = os.pathsep.join([*(path for path in sys.path if path), os.environ.get("PYTHONPATH", "")])
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return Record({"said": said.stdout.strip()})


@tool("array API tags and other tags")
def _(names: Names) -> Record:
    from sklearn.utils import get_tags

    facts = {}
    for name in ("LPP", "TangentialMaps", "KernelLPP", "LPI", "MMC", "LaplacianScore"):
        tags = get_tags(names.made(f"{name}()"))
        facts[name] = [
            tags.input_tags.sparse,
            tags.input_tags.positive_only,
            tags.target_tags.required,
            tags.array_api_support,
        ]
    return Record(facts, {})


@tool("sample_weight through metadata routing")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    weights = 1.0 + np.arange(len(X)) % 3
    with config_context(enable_metadata_routing=True):
        reducer = names.made("MMC(2)").set_fit_request(sample_weight=True)
        model = make_pipeline(reducer, KNeighborsClassifier(3)).fit(X, y, sample_weight=weights)
        return described(model[0], X, new)


@tool("save and load")
def _(names: Names) -> Record:
    X, new, y = rows("tall")
    path = names.folder / "model.lapwing"
    names["save"](names.made("LPP(2, graph=KNN(5) - 0.2 * Repulsion(7))").fit(X, y), path)
    return described(names["load"](path), X, new)


@tool("to_torch", "torch", tol=1e-6)
def _(names: Names) -> Record:
    import torch

    X, new, y = rows("tall")
    module = names["to_torch"](names.made("LPP(2)").fit(X, y))
    return _space(new=module(torch.from_numpy(new)))


@tool("verify")
def _(names: Names) -> Record:
    X, _, y = rows("tall")
    model = names.made("LPP(2)").fit(X, y)
    other = clone(model).fit(X + np.random.RandomState(0).rand(*X.shape), y)
    return Record({"holds": [bool(names["verify"](one, X, y).holds) for one in (model, other)]}, {})


@tool("certificate_")
def _(names: Names) -> Record:
    X, _, y = rows("tall")
    found = names.made("LPP(2)").fit(X, y).certificate_
    return Record({"holds": bool(found.holds), "rank": found.rank}, {"gap": found.gap, "condition": found.condition})


@tool("loadings")
def _(names: Names) -> Record:
    X, _, y = rows("wine")
    found = names["loadings"](names.made("LPP(2)").fit(X, y), X, y, n_draws=9)
    arrays = {"values": np.abs(found.values), "width": found.high - found.low}
    return Record({"components": list(found.components)}, arrays)


@tool("stability")
def _(names: Names) -> Record:
    X, _, y = rows("iris")
    found = names["stability"](names.made('LPP(2, graph="supervised")'), X, y, n_draws=9)
    return Record({}, {"angles": found.angles, "subspace": found.subspace})


@tool("SemiSupervised, LabelledSplit and labelled_scorer")
def _(names: Names) -> Record:
    X, _, y = rows("digits")
    y = np.where(np.arange(y.size) % 3 == 0, -1, y)
    made, split, scorer = (
        names.of("selection", name) for name in ("SemiSupervised", "LabelledSplit", "labelled_scorer")
    )
    model = made(names.made('LPP(5, graph="semi")'), KNeighborsClassifier(1))
    scores = cross_val_score(model, X, y, cv=split(StratifiedKFold(3)), scoring=scorer())
    return Record({}, {"scores": scores, "predicted": model.fit(X, y).predict(X)})


@tool("TimeSplit and retrieval_scorer")
def _(names: Names) -> Record:
    X, _, y = rows("iris")
    split, scorer = names.of("selection", "TimeSplit"), names.of("selection", "retrieval_scorer")
    order = np.random.RandomState(0).permutation(len(X))
    scores = cross_val_score(
        names.made("LPP(2)"), X[order], y[order], cv=split(3), scoring=scorer, groups=np.arange(len(X))
    )
    return Record({}, {"scores": scores})


@tool("measures of embeddings and clusters")
def _(names: Names) -> Record:
    X, _, y = rows("tall")
    Z, other = X[:, :2], np.random.RandomState(0).permutation(y)
    of = {name: names.of("metrics", name) for name in MEASURES}
    found = {name: of[name](X, Z, n_neighbors=5) for name in MEASURES[:1]}
    found |= {name: of[name](Z, y) for name in MEASURES[1:4]}
    found |= {name: of[name](y, other) for name in MEASURES[4:6]}
    return Record({}, found | {"procrustes_error": of["procrustes_error"](Z, X[:, 1:3])})


MEASURES = (
    "neighborhood_preservation",
    "mean_average_precision",
    "recall_at_k",
    "retrieval_scores",
    "clustering_accuracy",
    "purity",
    "procrustes_error",
)


@tool("NormalizedCut")
def _(names: Names) -> Record:
    X, _, _ = rows("iris")
    made = names.of("clustering", "NormalizedCut")
    found = [made(3, graph=graph, random_state=0).fit_predict(X) for graph in (None, 8)]
    found.append(made(3, unit_rows=False, random_state=0).fit_predict(X))
    return Record({}, {"clusters": [_renamed(labels) for labels in found]})


def _renamed(labels: np.ndarray) -> np.ndarray:
    """Clusters numbered in the order in which they come."""
    _, firsts, places = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[places]


@tool("compare")
def _(names: Names) -> Record:
    X, _, y = rows("wine")
    found = names.of("comparison", "compare")(
        X, y, methods=["PCA", "LDA", "LPP", "MFA"], dimensions=[1, 2, 3], cv=3, random_state=0
    )
    records = sorted(found.records, key=lambda record: (record["method"], record["dimension"], record.get("fold", 0)))
    kept = sorted(set.intersection(*map(set, records)) - {"method", "fit_time", "time", "seconds"})
    facts = {"methods": [record["method"] for record in records], "columns": kept}
    return Record(facts, {"records": [[float(record[name]) for name in kept] for record in records]})


@tool("a table of text, dates and gaps", "pyarrow")
def _(names: Names) -> Record:
    path = names.folder / "table.csv"
    lines = ["name,city,day,size,price,kind"]
    for i in range(40):
        gap = "" if i % 9 == 4 else f"{3 + (i * 7) % 11 / 2:g}"
        lines.append(
            f"n{i},{('Rome', 'Oslo', 'Bonn')[i % 3]},2021-03-{1 + i % 28:02d},{gap},{i % 5 + i / 8},{'ab'[i % 2]}"
        )
    path.write_text("\n".join(lines) + "\n")
    table = names.of("tables", "read")(path, label="kind", id="name", mixed=True)
    prepared = names.of("tables", "prepare")(table)
    steps = [step for _, step in prepared.steps]
    X = make_pipeline(*steps).fit_transform(table.X)
    return Record({"names": list(table.feature_names), "labels": list(table.y[:4])}, {"rows": dense(X)})
