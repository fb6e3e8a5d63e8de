"""Model files of other versions, and such as lapwing did not write: what is not understood is refused."""

import builtins
import importlib
import json
import pickle
import struct
import sys
import tracemalloc
from pathlib import Path
from types import ModuleType

import numpy as np
import outside
import pytest
from helpers import literal
from model_files import KERNEL, W, X, Y, contents, forge, full_disk, named, packed, same
from sklearn.base import clone

import lapwing
from lapwing import (
    GLPCA,
    LPP,
    OLPP,
    TSA,
    FisherScore,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    TangentialMaps,
)
from lapwing.graphs import KNN, Precomputed, Repulsion
from lapwing.persistence import ModelFileError, load, save
from lapwing.persistence._encoding import migrated
from lapwing.reducers import LinearReducer
from lapwing.solvers import Certificate

GOLDEN = Path(__file__).parent / "golden"

# Versions


# What the parameters of the golden files mean today: those that came later have the value that acts as they did without.
MEANT = {
    "lpp.1": literal(LPP, 2, graph=KNN(3, symmetry="or") - 0.2 * Repulsion(9), pca="auto"),
    "kernel_landmarks.1": literal(KernelLPP, 2, graph=3, landmarks=8, random_state=0, gamma=0.1, pca="auto"),
    "laplacian_eigenmaps.1": literal(LaplacianEigenmaps, 2, graph=4),
    "tsa.1": literal(TSA, (2, 1), graph=3, image_shape=(2, 2), flatten=True),
    "laplacian_score.1": literal(LaplacianScore, 2, graph=3),
}


@pytest.mark.parametrize("name", [path.stem for path in sorted(GOLDEN.glob("*.lapwing"))])
def test_golden(name):
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    model = load(GOLDEN / f"{name}.lapwing")
    np.testing.assert_allclose(model.transform(np.array(expected["X"])), expected["Y"], rtol=1e-9, atol=1e-12)
    assert type(model) is type(MEANT[name])
    same(model.get_params(deep=False), MEANT[name].get_params(deep=False))


@pytest.mark.parametrize("model", [LPP(2), TSA((2, 2), image_shape=(2, 3)), LPP(None), GLPCA(2)], ids=repr)
def test_certificates_are_kept(model, tmp_path):
    save(model.fit(X), tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.certificate_ == model.certificate_
    assert type(again.certificate_) in (Certificate, list)
    assert lapwing.verify(again, X).holds


def test_models_without_a_certificate(file):
    """Those of before, and those whose problem is not known."""
    assert not any(hasattr(load(path), "certificate_") for path in GOLDEN.glob("*.lapwing"))
    header, arrays = contents(file)
    del header["model"]["fitted"]["certificate_"]
    found = lapwing.verify(load(forge(file, header, arrays)), X, Y)
    assert found.holds
    assert "the model has no certificate of its own: it was fitted before there were any" in found.unknown
    header["model"]["fitted"]["certificate_"] = None
    assert load(forge(file, header, arrays)).certificate_ is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda entries: entries.pop("residual"),
            "certificate_ is no certificate: it must have constraint_error, residual",
        ),
        (lambda entries: entries.update(residual="small"), "certificate_ has 'small' for its residual"),
        (lambda entries: entries.update(tolerance=None), "certificate_ has None for its tolerance"),
        (lambda entries: entries.update(rank=1.5), "certificate_ has 1.5 for its rank"),
        (lambda entries: entries.update(gap=[1.0]), r"certificate_ has \[1.0\] for its gap"),
    ],
)
def test_certificates_that_are_none(change, message, file):
    header, arrays = contents(file)
    change(header["model"]["fitted"]["certificate_"]["dict"])
    with pytest.raises(ModelFileError, match=message):
        load(forge(file, header, arrays))
    header["model"]["fitted"]["certificate_"] = "all is well"
    with pytest.raises(ModelFileError, match="certificate_ is no certificate"):
        load(forge(file, header, arrays))


def test_a_certificate_is_not_believed(file):
    """A file whose directions were changed, and whose checksum was made anew: its certificate says that all is well."""
    header, arrays = contents(file)
    model = load(forge(file, header, arrays | {"components_": arrays["components_"] + 0.01}))
    assert model.certificate_.holds
    assert not lapwing.verify(model, X, Y).holds


class Later(LinearReducer):
    """A method to which parameters were added after its files were written."""

    def __init__(self, n_components=2, *, graph=None, pca="auto", standardize="auto", ridge="auto", normalize="auto"):
        super().__init__(n_components, graph=graph, pca=pca, normalize=normalize)
        self.standardize = standardize
        self.ridge = ridge


@pytest.mark.parametrize("format", [1, 2])
@pytest.mark.parametrize("pca", [None, 0.9, "auto"])
def test_new_parameters_mean_what_was_done_without(format, pca):
    written = {"n_components": 3, "pca": pca} | ({"solver": "auto"} if format == 1 else {})
    before = {"standardize": False, "ridge": 0.0, "normalize": None}
    assert migrated(Later, written, format) == {"n_components": 3, "pca": pca} | before
    assert migrated(Later, written | {"ridge": 2.0}, format)["ridge"] == 2.0
    assert migrated(Later, written | {"ridge": "auto"}, format)["ridge"] == 0.0
    assert migrated(Later, written | {"ridge": "auto"}, format, fewer_columns=False)["ridge"] == "auto"


def test_parameters_of_other_classes_and_of_this_format_stay_as_they_are():
    assert migrated(Later, {"pca": None}, 3) == {"pca": None}
    assert migrated(KNN, {"n_neighbors": 3, "solver": 1}, 1) == {"n_neighbors": 3, "solver": 1}
    assert migrated(LaplacianScore, {"graph": 3}, 2) == {"graph": 3, "normalize": None}


def test_golden_files_are_there():
    assert {path.stem for path in GOLDEN.glob("*.lapwing")} == set(MEANT)


def test_additions_of_later_versions_are_ignored(file):
    """Attributes that a later version learns, and entries that say more."""
    header, arrays = contents(file)
    expected = load(file).transform(X)
    header |= {"lapwing": "99.0", "created": "2050-01-01", "extra": {"deep": [1, {"class": "Unknown"}]}}
    header["model"] |= {"note": "more"}
    header["model"]["params"]["graph"]["comment"] = 1
    header["model"]["fitted"] |= {"news_": {"array": "news_", "unit": "m"}, "_private": {"tuple": [1, "a"]}}
    model = load(forge(file, header, arrays | {"news_": np.arange(3), "unread": np.arange(4)}))
    np.testing.assert_array_equal(model.transform(X), expected)
    np.testing.assert_array_equal(model.news_, np.arange(3))
    assert model._private == (1, "a")


def test_parameters_that_came_later_have_their_defaults(file):
    header, arrays = contents(file)
    del header["model"]["params"]["scaling"]
    del header["model"]["params"]["graph"]["params"]["right"]["params"]["sigma"]
    model = load(forge(file, header, arrays))
    assert (model.scaling, model.graph.right.sigma) == (LPP().scaling, Repulsion().sigma)


# Intent


def container(text, data=b""):
    text = text.encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "entry",
    [
        '{"dtype": "F64", "shape": [1099511627776], "data_offsets": [0, 8796093022208]}',
        '{"dtype": "F64", "shape": [1099511627776], "data_offsets": [0, 8]}',
        '{"dtype": "F64", "shape": [4294967296, 4294967296, 8], "data_offsets": [0, 8]}',
        '{"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}',
        '{"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}',
        '{"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}',
        '{"dtype": "O", "shape": [1], "data_offsets": [0, 8]}',
    ],
)
def test_sizes_are_checked_before_memory_is_taken(entry, tmp_path):
    (tmp_path / "model").write_bytes(container(f'{{"__metadata__": {{"lapwing": "{{}}"}}, "a": {entry}}}', bytes(8)))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="is no model"):
            load(tmp_path / "model")
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


FLOAT = '{"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (f'{{"__metadata__": {{"lapwing": "{{}}"}}, "a": {FLOAT}, "a": {FLOAT}}}', "a name twice"),
        (f'{{"__metadata__": {{"lapwing": "{{}}", "lapwing": "{{}}"}}, "a": {FLOAT}}}', "a name twice"),
        (f'{{"__metadata__": {{"lapwing": "[]"}}, "a": {FLOAT}}}', "indices must be"),
        (f'{{"__metadata__": {{"lapwing": "{{}}"}}, "a": {FLOAT}}}', "format"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": 1, \\"format\\": 1}}"}}, "a": {FLOAT}}}', "a name twice"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": NaN}}"}}, "a": {FLOAT}}}', "NaN for a number"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": -Infinity}}"}}, "a": {FLOAT}}}', "-Infinity for a number"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": 1e999}}"}}, "a": {FLOAT}}}', "1e999 for a number"),
        (f'{{"__metadata__": {{"lapwing": "{"[" * 200_000}"}}, "a": {FLOAT}}}', "is no model"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": {"9" * 9999}}}"}}, "a": {FLOAT}}}', "digits"),
        (f'{{"a": {"[" * 200_000}}}', "recursion|deserializing header"),
    ],
    ids=lambda text: text[:60],
)
def test_headers(text, match, tmp_path):
    (tmp_path / "model").write_bytes(container(text, bytes(8)))
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "model")


def change(keys, value):
    """A change of one entry of the header."""

    def apply(header, arrays):
        node = header
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = value(arrays) if callable(value) else value

    return apply


def replace(**changed):
    """A change of arrays."""
    return lambda header, arrays: arrays.update({name: value(arrays[name]) for name, value in changed.items()})


def named_array(name, array):
    """An array more."""
    return lambda header, arrays: arrays.update({name: array})


PARAMS, FITTED = ("model", "params"), ("model", "fitted")
SPARSE = {"data": "eigenvalues_", "indices": "indices", "indptr": "indptr"}


def sparse_graph(shape, indices, indptr, cls="csr_array"):
    def apply(header, arrays):
        arrays |= {"indices": np.array(indices), "indptr": np.array(indptr)}
        header["model"]["params"]["graph"] = SPARSE | {"shape": shape, "sparse": cls}

    return apply


HOSTILE = {
    "format 4": (change(["format"], 4), r"newer lapwing \(format 4, .*upgrade"),
    "format 0": (change(["format"], 0), "is no version"),
    "format true": (change(["format"], True), "is no version"),
    "format text": (change(["format"], "1"), "is no version"),
    "version": (change(["lapwing"], ["1"]), "is no version"),
    "no model": (lambda header, arrays: header.pop("model"), "model"),
    "a number": (change(["model"], 3), "holds int, which is no estimator"),
    "a graph": (change(["model"], {"class": "KNN", "params": {}, "fitted": {}}), "holds KNN, which is no estimator"),
    "eval": (change(["model", "class"], "eval"), "class 'eval' is unknown"),
    "os.system": (change(["model", "class"], "os.system"), "class 'os.system' is unknown"),
    "path": (change(["model", "class"], "../LPP"), "class '../LPP' is unknown"),
    "scikit-learn": (change(["model", "class"], "PowerTransformer"), "class 'PowerTransformer' is unknown"),
    "a module": (change(["model", "class"], "os:system"), "os has no estimator or graph system"),
    "attribute of a class": (
        change(["model", "class"], "outside:TimeLPP.fit"),
        "has no estimator or graph TimeLPP.fit",
    ),
    "what a module imports": (change(["model", "class"], "outside:KNN"), "outside has no estimator or graph KNN"),
    "no estimator": (change(["model", "class"], "outside:Recording"), "outside has no estimator or graph Recording"),
    "graph from outside": (
        change(["model"], {"class": "outside:Chain", "params": {}, "fitted": {}}),
        "holds Chain, which is no estimator",
    ),
    "base class": (change(["model", "class"], "lapwing.reducers._linear:LinearReducer"), "no estimator or graph"),
    "own by module": (change(["model", "class"], "lapwing.methods._locality:LPP"), "no estimator or graph"),
    "another scikit-learn": (change(["model", "class"], "sklearn.decomposition._pca:PCA"), "no estimator or graph PCA"),
    "not imported": (change(["model", "class"], "antigravity:LPP"), "first: import antigravity"),
    "no module": (change(["model", "class"], ":LPP"), "class ':LPP' is unknown"),
    "two modules": (change(["model", "class"], "a:b:LPP"), "class 'a:b:LPP' is unknown"),
    "a command": (change(["model", "class"], "os; rm -r:LPP"), "class 'os; rm -r:LPP' is unknown"),
    "parameter of an outsider": (change(["model", "class"], "outside:TimeLPP"), "TimeLPP has no parameters"),
    "dotted": (change(["model", "class"], "lapwing.LPP"), "class 'lapwing.LPP' is unknown"),
    "class list": (change(["model", "class"], ["LPP"]), "unhashable"),
    "another class": (change(["model", "class"], "LaplacianScore"), "has no parameters"),
    "free class": (change(["model", "class"], "KernelNPE"), "has no parameters"),
    "parameter": (change([*PARAMS, "whiten"], True), r"no parameters \['whiten'\]; a newer"),
    "parameter self": (change([*PARAMS, "self"], True), "no parameters"),
    "params list": (change(PARAMS, [1]), "attribute"),
    "missing parameter": (
        change([*PARAMS, "graph"], {"class": "Precomputed", "params": {}, "fitted": {}}),
        "missing 1 required",
    ),
    "method": (change([*FITTED, "transform"], 1), "cannot have the fitted attribute 'transform'"),
    "property": (change([*FITTED, "_n_features_out"], 1), "cannot have the fitted attribute"),
    "dunder": (change([*FITTED, "__class__"], 1), "cannot have the fitted attribute"),
    "protocol": (change([*FITTED, "__array_interface__"], {"dict": {}}), "cannot have the fitted attribute"),
    "dict": (change([*FITTED, "__dict__"], {"dict": {}}), "cannot have the fitted attribute"),
    "attribute path": (change([*FITTED, "../x_"], 1), "cannot have the fitted attribute"),
    "no mean": (lambda header, arrays: header["model"]["fitted"].pop("mean_"), "mean_"),
    "no components": (lambda header, arrays: header["model"]["fitted"].pop("components_"), "not fitted"),
    "no features": (lambda header, arrays: header["model"]["fitted"].pop("n_features_in_"), "n_features_in_"),
    "mean is text": (change([*FITTED, "mean_"], "abc"), r"LPP\.mean_ is no array"),
    "mean is strings": (
        change([*FITTED, "mean_"], {"strings": list("abcdef")}),
        "mean_, of shape .* object, does not hold numbers alone",
    ),
    "strings of numbers": (change([*FITTED, "mean_"], {"strings": [1] * 6}), "hold something else"),
    "feature names": (change([*FITTED, "feature_names_in_"], {"strings": ["a"]}), "feature_names_in_, of shape"),
    "image shape": (change([*FITTED, "image_shape_"], {"tuple": [2, 4]}), r"image_shape_=\(2, 4\) does not fit"),
    "image shape list": (change([*FITTED, "image_shape_"], [2, 3]), "must be sides"),
    "image shape text": (change([*FITTED, "image_shape_"], {"tuple": ["2", 3]}), "must be sides"),
    "image shape flat": (change([*FITTED, "image_shape_"], {"tuple": [6]}), "must be sides"),
    "n_features_in_": (change([*FITTED, "n_features_in_"], 7), "does not fit n_features_in_"),
    "n_features_in_ float": (change([*FITTED, "n_features_in_"], 6.0), "n_features_in_=6.0 must be"),
    "n_features_in_ negative": (change([*FITTED, "n_features_in_"], -6), "n_features_in_=-6 must be"),
    "components row": (replace(components_=lambda V: V[0]), r"components_, of shape \(6,\)"),
    "components turned": (replace(components_=lambda V: V.T.copy()), r"components_, of shape \(6, 2\)"),
    "components cube": (
        replace(components_=lambda V: V[..., None]),
        r"components_, of shape \(2, 6, 1\), is no array of 2",
    ),
    "components int": (replace(components_=lambda V: V.astype(int)), "components_, of shape .* int64"),
    "mean short": (replace(mean_=lambda m: m[:5]), r"mean_, of shape \(5,\)"),
    "complex": (replace(mean_=lambda m: m.astype(np.complex64)), "type C64, which no model has"),
    "bool 2": (named_array("b", np.array([0, 2], np.uint8).view(bool)), "neither true nor false"),
    "missing array": (change([*FITTED, "mean_"], {"array": "none"}), "none"),
    "scalar of nothing": (
        lambda header, arrays: (
            arrays.update(empty=np.zeros(0)),
            header["model"]["params"].update(pca={"scalar": "empty"}),
        ),
        "out of bounds",
    ),
    "array names list": (change([*FITTED, "mean_"], {"array": ["mean_"]}), "unhashable"),
    "unknown kind": (change([*FITTED, "x_"], {"pickle": "gASV"}), r"keys \['pickle'\] is of no known kind"),
    "two kinds": (change([*FITTED, "x_"], {"tuple": [], "dict": {}}), "of no known kind"),
    "up": (named_array("../x", np.arange(3.0)), r"'\.\./x' is no name"),
    "absolute": (named_array("/etc/passwd", np.arange(3.0)), "is no name"),
    "windows": (named_array("C:\\x", np.arange(3.0)), "is no name"),
    "dots": (named_array("a..b", np.arange(3.0)), "is no name"),
    "sparse halves": (
        lambda header, arrays: (
            sparse_graph([2, 6], [0, 1], [0, 1, 2])(header, arrays),
            arrays.update(eigenvalues_=arrays["eigenvalues_"].astype(np.float16)),
        ),
        "sparse array of float16",
    ),
    "sparse index": (sparse_graph([2, 6], [0, 6], [0, 1, 2]), "ind"),
    "sparse negative": (sparse_graph([2, 6], [0, -1], [0, 1, 2]), "ind"),
    "sparse pointer": (sparse_graph([2, 6], [0, 1], [0, 2, 1]), "ind"),
    "sparse pointer far": (sparse_graph([2, 6], [0, 1], [0, 1, 99]), "ind"),
    "sparse pointer between": (sparse_graph([2, 6], [0, 1], [0, 2**40, 0]), "indptr"),
    "sparse pointer before": (sparse_graph([2, 6], [0, 1], [0, 2**40, -1]), "ind"),
    "sparse pointer around": (sparse_graph([3, 6], [0, 1], [0, 2**63 - 1, -(2**63), 1]), "ind"),
    "sparse rows": (sparse_graph([2**60, 6], [0, 1], [0, 1, 2]), "ind"),
    "sparse shape": (sparse_graph([-2, 6], [0, 1], [0, 1, 2]), "'shape'|negative"),
    "sparse class": (sparse_graph([2, 6], [0, 1], [0, 1, 2], "lil_matrix"), "lil_matrix"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_true_checksum_is_not_enough(name, file):
    header, arrays = contents(file)
    apply, match = HOSTILE[name]
    apply(header, arrays)
    with pytest.raises(ModelFileError, match=match):
        load(forge(file, header, arrays))


ARRAYS = [
    (OLPP(), ["components_", "mean_", "eigenvalues_"]),
    (KernelNPE(), ["X_fit_", "dual_coef_", "intercept_", "eigenvalues_"]),
    (KernelLPP(landmarks=9), ["nystroem_.components_", "nystroem_.normalization_", "components_", "mean_"]),
    (TangentialMaps(), ["X_fit_", "embedding_", "eigenvalues_"]),
    (GLPCA(), ["X_fit_", "embedding_", "components_", "mean_"]),
    (TSA(image_shape=(2, 3)), ["components_.0", "components_.1", "mean_"]),
    (FisherScore(), ["support_", "scores_"]),
]


@pytest.mark.parametrize(("estimator", "names"), ARRAYS, ids=named)
def test_every_side_of_every_array_is_checked(estimator, names, tmp_path):
    path = tmp_path / "model"
    model = clone(estimator).fit(X, Y)
    save(model, path)
    header, arrays = contents(path)
    for name in names:
        if name not in arrays:  # it occurs twice, and was met first in _nystroem
            name = name.replace("nystroem_", "_nystroem")
        for axis in range(arrays[name].ndim):
            short = np.delete(arrays[name], 0, axis)
            with pytest.raises(ModelFileError, match="not fit"):
                load(forge(path, header, arrays | {name: short}))
    load(forge(path, header, arrays))


@pytest.mark.parametrize("flatten", [None, "yes", {"strings": ["a", "b"]}, [True]])
def test_whether_to_flatten_is_true_or_false(flatten, tmp_path):
    save(TSA(image_shape=(2, 3)).fit(X), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    header["model"]["params"]["flatten"] = flatten
    with pytest.raises(ModelFileError, match=r"flatten=.* must be one of False, True"):
        load(forge(tmp_path / "model", header, arrays))


def test_image_shape_is_kept(file):
    header, arrays = contents(file)
    header["model"]["fitted"]["image_shape_"] = {"tuple": [2, 3]}
    assert load(forge(file, header, arrays)).image_shape_ == (2, 3)


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        load(tmp_path)


def test_images_are_as_large_as_the_features(tmp_path):
    path = tmp_path / "model"
    save(TSA(image_shape=(2, 3)).fit(X), path)
    header, arrays = contents(path)
    header["model"]["fitted"]["n_features_in_"] = 5
    with pytest.raises(ModelFileError, match="not fit"):
        load(forge(path, header, arrays))


def test_precomputed_kernel_is_checked(tmp_path):
    path = tmp_path / "model"
    save(KernelLPP(kernel="precomputed", graph=4).fit(KERNEL), path)
    header, arrays = contents(path)
    with pytest.raises(ModelFileError, match="dual_coef_, of shape"):
        load(forge(path, header, arrays | {"dual_coef_": arrays["dual_coef_"][:, 1:].copy()}))


def test_deep_nesting(file):
    header, arrays = contents(file)
    header["model"]["fitted"]["deep_"] = "HERE"
    text = json.dumps(header).replace('"HERE"', "[" * 100_000 + "]" * 100_000)
    file.write_bytes(packed(arrays, metadata={"lapwing": text}))
    with pytest.raises(ModelFileError, match="is no model"):
        load(file)


def nodes(node):
    """Every place of a JSON value: a container and a key of it."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key
        yield from nodes(node[key])


@pytest.mark.parametrize(
    "estimator", [LPP(graph=KNN(4) + 0.1 * Precomputed(W)), KernelLPP(landmarks=9), TSA(image_shape=(2, 3))], ids=named
)
def test_headers_put_together_at_random(estimator, tmp_path):
    """Each is refused by an error of ours, or is a model, which takes as many features as it says."""
    path = tmp_path / "model"
    save(estimator.fit(X, Y), path)
    header, arrays = contents(path)
    rng, text = np.random.RandomState(0), json.dumps(header)
    pool = [
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        "",
        "LPP",
        "mean_",
        [],
        {},
        [[]],
        {"array": "mean_"},
        {"float": "x"},
        {"class": "KNN"},
    ]
    outcomes = []
    for _ in range(400):
        changed = json.loads(text)
        places = list(nodes(changed["model"]))
        for _ in range(rng.randint(1, 3)):
            (node, key), (other, its) = (places[rng.randint(len(places))] for _ in range(2))
            moved = (
                other[its] if isinstance(other, list) or its in other else None
            )  # the first change may have removed it
            value = [*pool, json.loads(json.dumps(moved))][rng.randint(len(pool) + 1)]
            if isinstance(node, dict) and rng.rand() < 0.3:
                node.pop(key, None)
            elif isinstance(node, dict) or key < len(node):
                node[key] = value
        try:
            model = load(forge(path, changed, arrays))
        except ModelFileError:
            outcomes.append("refused")
        else:
            assert type(model) in (type(estimator), LPP)
            assert model.n_features_in_ == 6
            outcomes.append("read")
    assert set(outcomes) == {"refused", "read"}


@pytest.mark.parametrize("estimator", [LPP(graph=4), outside.TimeLPP(graph=outside.Chain())], ids=named)
def test_reading_runs_no_code(estimator, monkeypatch, tmp_path):
    """Neither pickle nor an import has a part in it."""
    save(estimator.fit(X), tmp_path / "model")
    load(tmp_path / "model")  # what is imported lazily is imported
    for module, name in (
        (pickle, "loads"),
        (pickle, "load"),
        (builtins, "eval"),
        (builtins, "exec"),
        (importlib, "import_module"),
    ):
        monkeypatch.setattr(module, name, full_disk)
    load(tmp_path / "model")


TRAP = """
open(__file__ + ".imported", "w").close()
from outside import TimeLPP as Trapped
"""


@pytest.mark.parametrize("name", ["trap:Trapped", "trap:TimeLPP", "package.trap:Trapped", "trap:trap.Trapped"])
def test_a_forged_name_imports_nothing(name, file, monkeypatch, tmp_path):
    (tmp_path / "package").mkdir()
    for path in (tmp_path / "trap.py", tmp_path / "package" / "__init__.py", tmp_path / "package" / "trap.py"):
        path.write_text(TRAP)
    monkeypatch.syspath_prepend(tmp_path)
    header, arrays = contents(file)
    for node in (header["model"], header["model"]["params"]["graph"]):
        own, node["class"] = node["class"], name
        with pytest.raises(ModelFileError, match=f"import {name.split(':')[0]}, or "):
            load(forge(file, header, arrays))
        node["class"] = own
    assert not list(tmp_path.rglob("*.imported"))
    importlib.import_module("trap")  # it would have worked
    assert list(tmp_path.rglob("*.imported"))
    del sys.modules["trap"]


def test_a_forged_name_asks_no_module_for_anything(file, monkeypatch):
    """A module may import what it is asked for, as lapwing does."""

    class Lazy(ModuleType):
        def __getattribute__(self, name):
            raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    header, arrays = contents(file)
    header["model"]["class"] = "lazy:LPP"
    with pytest.raises(ModelFileError, match="lazy has no estimator or graph LPP"):
        load(forge(file, header, arrays))
