"""Damage and forgery of model files by chance, from a seed: what a careless disk does, and what a careful enemy does."""

import copy
import json

import numpy as np

VALUES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    2**31,
    2**70,
    1.5,
    -0.5,
    1e300,
    "",
    "LPP",
    "auto",
    "mean_",
    "précis\u202e",
    [],
    {},
    [[]],
]
CLASSES = ["LPP", "NPE", "KernelLPP", "TSA", "GLPCA", "LaplacianEigenmaps", "FisherScore", "KNN", "PCA", "Pipeline"]
NODES = [
    {"float": "nan"},
    {"float": "-inf"},
    {"float": "x"},
    {"tuple": []},
    {"tuple": [2, 3]},
    {"dict": {}},
    {"strings": ["a", "b"]},
    {"strings": ["a"], "width": 10**9},
    {"objects": [1, None, "a"]},
    {"slice": [0, 2**62, -1]},
    {"dtype": "float32"},
    {"function": "chi2"},
    {"class": "KNN", "params": {"n_neighbors": 10**9}, "fitted": {}},
    {"class": "Empty", "params": {}, "fitted": {}},
]


def places(node):
    """Every place of a JSON value: what holds it, and its key there."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key
        yield from places(node[key])


def flipped(rng, data):
    data = bytearray(data)
    for place in rng.randint(0, len(data), rng.choice([1, 1, 2, 20])):
        data[place] ^= 1 << rng.randint(8)
    return bytes(data)


def cut(rng, data):
    return data[: rng.randint(len(data))]


def spliced(rng, data):
    """A piece of it in another place."""
    (start, end), at = np.sort(rng.randint(0, len(data), 2)), rng.randint(len(data))
    return data[:at] + data[start:end] + data[at + rng.randint(0, 2) * (end - start) :]


def overwritten(rng, data):
    at, size = rng.randint(len(data)), rng.randint(1, 64)
    return data[:at] + bytes([rng.choice([0, 32, 255, 123])]) * size + data[at + size :]


DAMAGE = [flipped, cut, spliced, overwritten]


def changed_header(rng, header, arrays):
    """Values replaced by others, by those of other places, or taken away."""
    found = list(places(header))
    node, key = found[rng.randint(len(found))]
    other, its = found[rng.randint(len(found))]
    if isinstance(node, dict) and rng.rand() < 0.2:
        del node[key]
    elif rng.rand() < 0.3:
        node[key] = copy.deepcopy(other[its])
    elif isinstance(node[key], int | float) and rng.rand() < 0.5:
        node[key] = [node[key] + 1, -node[key], node[key] - 1, node[key] * 1.5, 10**9 * node[key], str(node[key])][
            rng.randint(6)
        ]
    else:
        node[key] = copy.deepcopy((VALUES + NODES)[rng.randint(len(VALUES + NODES))])


def changed_class(rng, header, arrays):
    """One estimator or graph given out for another."""
    nodes = [node for node, key in places(header) if key == "class"]
    if nodes:
        names = [*(node["class"] for node in nodes), *CLASSES]
        nodes[rng.randint(len(nodes))]["class"] = names[rng.randint(len(names))]


def entries(rng, array):
    """Some of its entries, by chance."""
    return rng.randint(0, array.size, rng.choice([1, 1, array.size]))


def with_values(rng, array):
    array = array.copy()
    least, most = (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max) if array.dtype.kind in "iu" else (0, 1)
    whole, fractions = [0, 1, array.size, least, most, most // 2], [0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, 5e-324]
    value = (fractions if array.dtype.kind == "f" else whole)[rng.randint(6)]
    with np.errstate(all="ignore"):
        array.flat[entries(rng, array)] = value
    return array


SHAPES = [
    lambda rng, a: a[:-1],
    lambda rng, a: a[:0],
    lambda rng, a: np.concatenate([a, a]),
    lambda rng, a: a[..., :-1],
    lambda rng, a: a.T,
    lambda rng, a: a[..., None],
    lambda rng, a: a.ravel(),
    lambda rng, a: a.reshape(-1)[0],
    lambda rng, a: a[rng.permutation(len(a))],
]
TYPES = [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, bool]


def changed_arrays(rng, header, arrays):
    """Shapes, types and entries of one array."""
    if not arrays:
        return
    name = sorted(arrays)[rng.randint(len(arrays))]
    array, how = arrays[name], rng.randint(4)
    if array.ndim == 0 or not array.size:
        return
    if how == 0:
        array = SHAPES[rng.randint(len(SHAPES))](rng, array)
    elif how == 1:
        with np.errstate(all="ignore"):
            array = array.astype(TYPES[rng.randint(len(TYPES))])
    else:
        array = with_values(rng, array)
    arrays[name] = np.ascontiguousarray(array) if array.ndim else np.array(array)


def swapped_arrays(rng, header, arrays):
    names = sorted(arrays)
    if len(names) > 1:
        one, other = rng.permutation(len(names))[:2]
        arrays[names[one]], arrays[names[other]] = arrays[names[other]], arrays[names[one]]


FORGERY = [
    changed_header,
    changed_header,
    changed_header,
    changed_class,
    changed_arrays,
    changed_arrays,
    swapped_arrays,
]


def forged(rng, header, arrays):
    """A header and arrays that are changed in one to three places."""
    header, arrays = json.loads(json.dumps(header)), dict(arrays)
    for _ in range(rng.choice([1, 1, 2, 3])):
        FORGERY[rng.randint(len(FORGERY))](rng, header, arrays)
    return header, arrays
