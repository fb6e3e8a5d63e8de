"""Model files taken apart and put together again, as a careless disk or a careful enemy would.

Run as a program, it reads every forged file and prints what came of it as JSON: type and words of the error, and how many
objects skops had built by then.
"""

import copy
import io
import itertools
import json
import os
import pickle
import sys
import tempfile
import warnings
import zipfile
from functools import cache

import numpy as np
import oracles as o
import sklearn
import skops.io
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import lapwing
from lapwing import LPP, KernelLPP
from lapwing.graphs import KNN
from lapwing.persistence import packed

X, Y = o.blobs(30, 4)
NUMBERS = itertools.count(2**60)  # of nodes, which skops takes from addresses


def taken_apart(data):
    """The tree of a file, and its other entries."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(entries.pop("schema.json")), entries


def put_together(schema, entries, compression=zipfile.ZIP_STORED):
    """A file of any content whose checksums are true."""
    schema = schema if isinstance(schema, str) else json.dumps(schema)
    return archived([*entries.items(), ("schema.json", schema)], compression)


def archived(entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive, warnings.catch_warnings(action="ignore"):
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def file_of(model):
    """A model, as fitted as it may be, in a file as lapwing.save writes it."""
    return packed(skops.io.dumps({"lapwing": "0.1.0", "scikit-learn": "1.9.1", "model": model}))[0]


def attributes(schema):
    """The nodes of a model's attributes, by their names."""
    return schema["content"]["model"]["content"]["content"]


def node(kind, name, **more):
    module, _, cls = name.rpartition(".")
    return {"__loader__": kind, "__module__": module, "__class__": cls, "__id__": next(NUMBERS), **more}


def jsons(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def tuples(*parts):
    return node("TupleNode", "builtins.tuple", content=list(parts))


def dicts(**parts):
    keys = node("ListNode", "builtins.list", content=[node("TypeNode", "builtins.str") for _ in parts])
    return node("DictNode", "builtins.dict", content=parts, key_types=keys)


def arrays(file, name="numpy.ndarray"):
    return node("NdArrayNode", name, type="numpy", file=file)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def header(shape, descr="<f8", data=b""):
    """An array whose header says anything."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + data


def npz(compression=zipfile.ZIP_STORED, **parts):
    """A sparse matrix as SciPy stores it."""
    given = {"format": np.array(b"csr"), "shape": np.array([3, 3]), "data": np.ones(2), "indices": np.array([0, 1])}
    given |= {"indptr": np.array([0, 1, 2, 2]), "_is_array": np.array(True)} | parts
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, array in given.items():
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else npy(array))
    return buffer.getvalue()


def fitted():
    return LPP(2, graph=5).fit(X)


@cache
def written():
    return file_of(fitted())


def with_ridge(value, entries=(), **changes):
    """A model whose parameter ``ridge`` is something else."""
    schema, kept = taken_apart(written())
    attributes(schema)["ridge"] = value
    return put_together(schema | changes, {**kept, **dict(entries)})


def with_attribute(name, value, model=None):
    """A model of which one attribute was set after the fit."""
    model = model or fitted()
    vars(model)[name] = value
    return file_of(model)


def with_state(**changes):
    schema, entries = taken_apart(
        file_of(KernelLPP(2, graph=5, landmarks=9, random_state=np.random.RandomState(0)).fit(X))
    )
    state = attributes(schema)["random_state"]["content"]["content"]["state"]["content"]
    state.update({name: jsons(value) for name, value in changes.items()})
    return put_together(schema, entries)


def with_sparse(**parts):
    W = node("SparseMatrixNode", "scipy.sparse._csr.csr_array", type="scipy", file="W.npz")
    return with_ridge(W, {"W.npz": npz(**parts)})


def with_root(change):
    schema, entries = taken_apart(written())
    change(schema)
    return put_together(schema, entries)


def nested_lists(depth):
    inner = jsons(1)
    for _ in range(depth):
        inner = node("ListNode", "builtins.list", content=[inner])
    return inner


def nested_text():
    """Written as text, since json.dumps stops earlier."""
    outer = '{"__loader__": "ListNode", "__module__": "builtins", "__class__": "list", "__id__": %d, "content": ['
    text = "".join(outer % next(NUMBERS) for _ in range(3000)) + "]}" * 3000
    schema, entries = taken_apart(with_ridge(jsons("HERE")))
    place = json.dumps(attributes(schema)["ridge"])
    return put_together(json.dumps(schema).replace(place, text), entries)


def laughs(refer):
    """Lists of ten times the same list: a few nodes that count as 10**30."""
    inner = node("ListNode", "builtins.list", content=[jsons(1)])
    for _ in range(30):
        inner = node("ListNode", "builtins.list", content=[inner, *[refer(inner)] * 9])
    return with_ridge(inner)


def deflated_zeros(count):
    """An array of many zeros in few bytes, compressed piece by piece."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as file:
        file.write(header((count,)))
        for _ in range(count // 2**20):
            file.write(bytes(2**23))
    return buffer.getvalue()


def told_as(old, new):
    """One class given out for another."""
    schema, entries = taken_apart(written())
    text = json.dumps(schema)
    assert old in text
    return put_together(text.replace(old, new), entries)


TO_CALL = [
    "os.system",
    "builtins.eval",
    "operator.attrgetter",
    "lapwing.save",
    "lapwing.graphs.nearest_fitted",
    "subprocess.Popen",
]
ARGUMENTS = tuples(jsons("touch pwned"))


def calls(name):
    """Every kind of node that could call or hand out a function."""
    function, number = node("FunctionNode", name), next(NUMBERS)
    reduced = {"__reduce__": {"args": ARGUMENTS}, "content": dicts()}
    yield "FunctionNode", function
    yield "TypeNode", node("TypeNode", name)
    yield "LossNode", node("LossNode", name, **reduced)
    yield "TreeNode", node("TreeNode", name, **reduced)
    yield "QuantileForestNode", node("QuantileForestNode", name, **reduced)
    yield "ConstructorFromReduceNode", node("ConstructorFromReduceNode", name, content=ARGUMENTS)
    yield "ObjectNode", node("ObjectNode", name, content=dicts(a=jsons(1)))
    partial = {"func": function, "args": ARGUMENTS, "kwds": dicts(), "namespace": jsons(None)}
    yield "PartialNode", node("PartialNode", "functools.partial", content=partial)
    holder = node("ObjectNode", "lapwing.LPP", content=dicts(graph=function))
    yield "MethodNode", node("MethodNode", "lapwing.LPP", content={"func": "fit", "obj": holder})
    cls = name.rpartition(".")[2]
    yield "OperatorFuncNode", {**node("OperatorFuncNode", f"operator.{cls}", attrs=ARGUMENTS), "__id__": number}
    for kind in ("ListNode", "SetNode", "TupleNode"):
        yield kind, node(kind, name, content=[jsons("touch pwned")])
    yield "DictNode", {**dicts(a=jsons(1)), "__module__": name.rpartition(".")[0], "__class__": cls}
    yield (
        "keys",
        {**dicts(a=jsons(1)), "key_types": node("ListNode", "builtins.list", content=[node("TypeNode", name)])},
    )
    yield (
        "factory",
        node("DefaultDictNode", "collections.defaultdict", content={"main": dicts(), "default_factory": function}),
    )
    yield "RandomStateNode", node("RandomStateNode", name, content=dicts())
    yield "object array", node("NdArrayNode", "numpy.ndarray", type="json", content=[function], shape=tuples(jsons(1)))


def trees():
    return file_of(make_pipeline(LPP(2, graph=5), KNeighborsClassifier(3)).fit(X, Y))


OLD = {"content": {"module_path": "os", "function": "system"}}
# What is said of each, or None where any one line will do, and whether nothing may have been built.
BEFORE = {
    **{
        f"{kind} of {name}": (None, lambda n=name, i=i: with_ridge(list(calls(n))[i][1]))
        for name in TO_CALL
        for i, (kind, _) in enumerate(calls(name))
    },
    "a function by an old protocol": (
        "protocol 0",
        lambda: with_ridge(node("FunctionNode", "numpy.exp", **OLD), protocol=0),
    ),
    "one of ours as a constructor": (
        "lapwing.LPP as",
        lambda: with_ridge(node("ConstructorFromReduceNode", "lapwing.LPP", content=ARGUMENTS)),
    ),
    "one of ours as a function": ("lapwing.LPP as", lambda: with_ridge(node("FunctionNode", "lapwing.LPP"))),
    "a score as an object": (
        "chi2 as",
        lambda: with_ridge(node("ObjectNode", "sklearn.feature_selection._univariate_selection.chi2")),
    ),
    **{
        f"protocol {p!r}": (None, lambda p=p: with_ridge(jsons(0), protocol=p))
        for p in (-1, 0, 1, 99, True, 2.0, "2", None)
    },
    "no protocol": (None, lambda: with_root(lambda schema: schema.pop("protocol"))),
    "an unknown number": (None, lambda: with_ridge(node("CachedNode", "builtins.int"))),
    "a number alone": (None, lambda: laughs(lambda inner: {"__id__": inner["__id__"]})),
    "a number with something else": (
        "of another object",
        lambda: laughs(lambda inner: {**jsons(1), "__id__": inner["__id__"]}),
    ),
    "no number": (None, lambda: with_ridge({**jsons(1), "__id__": None})),
    "the number 0": ("the number 0", lambda: with_ridge({**jsons(1), "__id__": 0})),
    "inside itself": (
        "of another object",
        lambda: with_ridge((lambda n: {**n, "content": [{**n, "content": []}]})(node("ListNode", "builtins.list"))),
    ),
    "3,000 lists": (None, nested_text),
    "300 lists": ("inside one another", lambda: with_ridge(nested_lists(300))),
    "a void of 10**12 bytes": (
        "numpy.void",
        lambda: with_ridge(arrays("a.npy", "numpy.void"), {"a.npy": npy(np.array(10**12))}),
    ),
    "no such entry": (None, lambda: with_ridge(arrays("../a.npy"))),
    "one entry for two": (
        "of another object",
        lambda: with_ridge(tuples(*(node("BytesNode", "builtins.bytes", file="a") for _ in range(2))), {"a": b"a"}),
    ),
    "one array for two": (
        "of another object",
        lambda: with_ridge(tuples(arrays("a.npy"), arrays("a.npy")), {"a.npy": npy(X)}),
    ),
    "a bomb of a tree": (
        "its entries take 32 MiB, above the limit of 16 MiB",
        lambda: put_together(json.dumps(taken_apart(written())[0]) + " " * 2**25, {}, zipfile.ZIP_DEFLATED),
    ),
    "a bomb of an array": (
        "above the limit of 16 MiB",
        lambda: put_together(
            *taken_apart(with_ridge(arrays("a.npy"), {"a.npy": npy(np.zeros(2**23))})), zipfile.ZIP_DEFLATED
        ),
    ),
    "a zip bomb": (
        "MiB, above the limit",
        lambda: with_ridge(
            node("SparseMatrixNode", "scipy.sparse._csr.csr_array", type="scipy", file="W.npz"),
            {"W.npz": deflated_zeros(2**23)},
        ),
    ),
    "a generator": (
        "RandomGeneratorNode",
        lambda: with_ridge(
            {
                **node("RandomGeneratorNode", "numpy.random._generator.Generator"),
                "content": {
                    "bit_generator": dicts(bit_generator=jsons("PCG64")),
                    "seed_seq": dicts(pool_size=jsons(10**9)),
                },
            }
        ),
    ),
    "a search tree": (r"_kd_tree\.KDTree, .*trusted=\[EuclideanDistance64, KDTree\].*brute", trees),
    "a class of a later lapwing": (
        r"lapwing\.Later, which lapwing [\d.]+ does not have; lapwing 0\.1\.0 wrote the file",
        lambda: told_as('"__class__": "LPP"', '"__class__": "Later"'),
    ),
    "a file of ours as a class": (
        None,
        lambda: told_as(
            '"__class__": "LPP", "__module__": "lapwing"',
            '"__class__": "LPP", "__module__": "lapwing.methods._locality"',
        ),
    ),
    "a dotted class": (
        None,
        lambda: told_as(
            '"__class__": "KNN", "__module__": "lapwing.graphs"', '"__class__": "graphs.KNN", "__module__": "lapwing"'
        ),
    ),
    "nothing beside the model": ("something else", lambda: with_root(lambda schema: schema["content"].pop("lapwing"))),
    "more beside the model": (
        "something else",
        lambda: with_root(lambda schema: schema["content"].update(more=jsons(1))),
    ),
    "a list": (None, lambda: put_together(node("ListNode", "builtins.list", content=[], protocol=2), {})),
    "no object": (None, lambda: put_together("[]", {})),
    "no tree": (None, lambda: archived([("a.npy", npy(X))])),
    "another skops file": ("something else", lambda: skops.io.dumps(fitted())),
    "an empty file": ("BadZipFile", lambda: b""),
    "control characters": (r"\\x1b\[2J", lambda: told_as('"__class__": "LPP"', '"__class__": "\\u001b[2J\\nLPP"')),
}
AFTER = {
    "10**12 numbers": (None, lambda: with_ridge(arrays("a.npy"), {"a.npy": header((10**12,), data=bytes(64))})),
    "fewer than none": (None, lambda: with_ridge(arrays("a.npy"), {"a.npy": header((-1, -8), data=bytes(64))})),
    "a header without end": (
        None,
        lambda: with_ridge(arrays("a.npy"), {"a.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"}),
    ),
    "a pickle": (None, lambda: with_ridge(arrays("a.npy"), {"a.npy": pickle.dumps(os.system)})),
    "objects": ("allow_pickle", lambda: with_ridge(arrays("a.npy"), {"a.npy": npy(np.array([os.system, None]))})),
    "objects in records": (
        "allow_pickle",
        lambda: with_ridge(arrays("a.npy"), {"a.npy": header((1,), [("a", "|O")], bytes(8))}),
    ),
    "objects in a sparse matrix": ("allow_pickle", lambda: with_sparse(data=npy(np.array([os.system, None])))),
    "10**12 numbers in a sparse matrix": (None, lambda: with_sparse(data=header((10**12,)))),
    "a damaged sparse matrix": (
        None,
        lambda: with_ridge(
            node("SparseMatrixNode", "scipy.sparse._csr.csr_array", type="scipy", file="W.npz"),
            {"W.npz": npz().replace(bytes(8), b"12345678", 1)},
        ),
    ),
    "3,000 lists in JSON": (
        "ridge is a list or a dict",
        lambda: with_ridge({**jsons(1), "content": "[" * 3000 + "]" * 3000}),
    ),
    "no JSON": (None, lambda: with_ridge({**jsons(1), "content": "{"})),
    "no estimator": ("no estimator", lambda: file_of(KNN())),
    "no model": ("no estimator", lambda: file_of(3)),
    "columns outside": (None, lambda: with_sparse(indices=np.array([0, 3]))),
    "columns below 0": (None, lambda: with_sparse(indices=np.array([0, -1]))),
    "rows that go back": (None, lambda: with_sparse(indptr=np.array([0, 2, 1, 2]))),
    "rows that overflow": (None, lambda: with_sparse(indptr=np.array([0, 2**62, -(2**62), 2]))),
    "another format": (
        "check_format",
        lambda: with_sparse(format=np.array(b"coo"), row=np.array([0, 1]), col=np.array([0, 1])),
    ),
    "half precision": ("float16", lambda: with_sparse(data=np.ones(2, np.float16))),
    **{
        f"position {p}": (f"position ({p}, outside of 0 to|must be between 0 and) 624", lambda p=p: with_state(pos=p))
        for p in (-1, 625, 10**6)
    },
    "a position that is none": (None, lambda: with_state(pos="x")),
    "few keys": (None, lambda: with_state(key=[1, 2])),
    "centres of another size": (
        "cluster_centers_, of",
        lambda: with_attribute("cluster_centers_", np.ones((2, 3)), KMeans(2, n_init=1).fit(X)),
    ),
    "no attributes": (None, lambda: with_root(lambda schema: schema["content"]["model"].update(content=jsons([1, 2])))),
}
N_DAMAGED = 60


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


def damaged(seed):
    """A file with bits flipped, or cut short, that is never what it was."""
    rng, data = np.random.RandomState(seed), written()
    found = (cut if seed % 2 else flipped)(rng, data)
    return found if found != data else data[:-1]


def places(value):
    """Every place of a JSON value: what holds it, and its key there."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def forged(rng, data):
    """A file that is changed by chance in one to three places of its tree or its entries, with a true checksum."""
    schema, entries = taken_apart(data)
    others = [value for name in TO_CALL for _, value in calls(name)] + [
        None,
        True,
        -1,
        2**70,
        "",
        "LPP",
        [],
        {},
        "os",
        "system",
    ]
    for _ in range(rng.choice([1, 1, 2, 3])):
        found = list(places(schema))
        (holder, key), (other, its) = (found[rng.randint(len(found))] for _ in range(2))
        how = rng.randint(4)
        if how == 0 and entries:
            name = sorted(entries)[rng.randint(len(entries))]
            entries[name] = DAMAGE[rng.randint(len(DAMAGE))](rng, entries[name])
        elif how == 1 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = copy.deepcopy(other[its] if how == 2 else others[rng.randint(len(others))])
    return put_together(schema, entries)


def read(data, path):
    """Type and words of the error that a file raises, or what was read, and how many objects were built by then."""
    with open(path, "wb") as file:
        file.write(data)
    built.clear()
    try:
        model = lapwing.load(path)
    except Exception as error:
        return [type(error).__name__, str(error), len(built)]
    return ["read", said(model), len(built)]


def said(model):
    """Every bit that decides what a model does."""
    return f"{model!r} {model.mean_.tobytes().hex()} {model.components_.tobytes().hex()}"


built = []

if __name__ == "__main__":
    from skops.io._audit import Node

    construct = Node.construct
    Node.construct = lambda node: (built.append(node), construct(node))[1]
    sklearn.set_config(working_memory=16)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        results = {name: read(make(), "model") for name, (_, make) in {**BEFORE, **AFTER}.items()}
        results |= {f"damaged {seed}": read(damaged(seed), "model") for seed in range(N_DAMAGED)}
        results["left"] = sorted(os.listdir(folder))
        os.chdir("/")
    json.dump(results, sys.stdout)
