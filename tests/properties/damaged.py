"""Files of tables, and what may happen to them on the way: each damage is one of a list, its places come from a seed."""

import bz2
import gzip
import io
import json
import zipfile
from functools import cache

import numpy as np
from scipy import sparse
from scipy.io import mmwrite
from sklearn.datasets import dump_svmlight_file

N = 12  # rows
TOKENS = [
    b"",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b'"',
    b"\n",
    b"\r",
    b",",
    b" ",
    b"99999999999999999999",
]
TOKENS += [
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xe2\x80",
    b"%",
    b"#",
    b":",
    b"1_0",
    b"0x10",
    b"inf",
    b"(",
    b"1/2/2020",
    b"PK\x03\x04",
    b"\x1b[31m",
    b"\xd9\xa3",
]


def numbers(rng):
    return np.round(rng.standard_normal((N, 4)), 3)


def text(rng, delimiter=",", words=True, decimal="."):
    """Numbers, with a label, a date and gaps where there are ``words``."""
    X = numbers(rng)
    lines = [delimiter.join(["a", "b", "c", "d", *(["kind", "day"] if words else [])])]
    for i, row in enumerate(X):
        cells = [str(value).replace(".", decimal) for value in row]
        cells += [str(rng.choice(["x", "y", '"z z"', ""])), f"2024-01-{i + 1:02d}"] if words else []
        lines.append(delimiter.join(cells))
    return "\n".join(lines).encode() + b"\n"


def npy(rng):
    return saved(np.save, rng.choice([np.float64, np.float32, np.int16, bool]), rng)


def saved(save, dtype, rng):
    file = io.BytesIO()
    save(file, numbers(rng).astype(dtype))
    return file.getvalue()


def archive(arrays, packed=True):
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **arrays)
    return file.getvalue()


def npz(rng):
    return archive({"X": numbers(rng), "y": rng.randint(0, 3, N), "names": np.arange(N).astype(str)}, rng.rand() < 0.5)


def sparse_npz(rng):
    file = io.BytesIO()
    X = sparse.random(N, 6, 0.4, random_state=rng, format="csr")
    sparse.save_npz(file, X.asformat(rng.choice(["csr", "csc", "coo", "bsr", "dia"])), compressed=rng.rand() < 0.5)
    return file.getvalue()


def forged_npz(rng):
    """An archive that is whole, and holds arrays that do not belong together."""
    with np.load(io.BytesIO(sparse_npz(rng) if rng.rand() < 0.8 else npz(rng))) as file:
        arrays = {name: file[name] for name in file.files}
    for _ in range(rng.randint(1, 4)):
        name = rng.choice(sorted(arrays))
        arrays[name] = forged(arrays[name], rng)
    return archive({name: values for name, values in arrays.items() if rng.rand() < 0.97}, rng.rand() < 0.5)


def forged(values, rng):
    """An array that is not what it should be."""
    if values.dtype.kind in "SU":
        return np.array(rng.choice(["csr", "csc", "coo", "bsr", "dia", "lil", "", "x"]).encode())
    if values.dtype.kind not in "iuf":
        return values
    odd = [-1, 0, 1, 5, 6, 7, 12, 13, 2**31 - 1, 2**31, 2**40, -(2**62)]
    ways = [
        lambda a: np.where(rng.rand(*a.shape) < 0.2, rng.choice(odd), a),
        lambda a: a[: rng.randint(0, len(a) + 1)],
        lambda a: np.concatenate([a, a]),
        lambda a: a[None],
        lambda a: a.astype(rng.choice(["f8", "i1", "u8", "c8", "M8[s]", "U5", "S3"])),
        lambda a: a * int(rng.choice([2, 1000, 10**12])),
        lambda a: np.full_like(a, rng.choice([0, 1, 2**30])),
    ]
    with np.errstate(all="ignore"):
        return ways[rng.randint(len(ways))](np.atleast_1d(values))


def forged_npy(rng):
    """A header that says something else than there is."""
    shape = [(), (N,), (N, 4), (10**12, 4), (4, 10**18), (-1, 4), (N, 4, 1), (0, 4), (N, 0), (2**62, 2**62)][
        rng.randint(10)
    ]
    descr = rng.choice(["<f8", "<f4", ">i2", "|b1", "<c16", "<U4", "|O", "<M8[s]", "<f2", "|V8", "<i8", "zz"])
    header = repr({"descr": str(descr), "fortran_order": bool(rng.rand() < 0.5), "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + numbers(rng).tobytes()


def market(rng):
    file = io.BytesIO()
    X = sparse.random(N, N, 0.3, random_state=rng, format="coo")
    mmwrite(file, X if rng.rand() < 0.6 else X.toarray())
    return file.getvalue()


def svmlight(rng):
    file = io.BytesIO()
    dump_svmlight_file(
        sparse.random(N, 6, 0.4, random_state=rng, format="csr"), rng.randint(0, 2, N), file, zero_based=False
    )
    return file.getvalue()


def arrow_table(rng):
    import pyarrow as pa

    X = numbers(rng)
    kinds = {"kind": pa.array(rng.choice(["x", "y"], N).tolist()).dictionary_encode(), "n": rng.randint(0, 9, N)}
    return pa.table({**{name: X[:, j] for j, name in enumerate("abc")}, **kinds, "flag": X[:, 3] > 0})


def parquet(rng):
    from pyarrow.parquet import write_table

    file = io.BytesIO()
    options = {
        "compression": str(rng.choice(["none", "snappy", "gzip", "zstd"])),
        "row_group_size": int(rng.choice([3, N])),
    }
    write_table(arrow_table(rng), file, use_dictionary=bool(rng.rand() < 0.5), write_page_checksum=False, **options)
    return file.getvalue()


def arrow(rng):
    from pyarrow import ipc

    file, table = io.BytesIO(), arrow_table(rng)
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def image(rng):
    from PIL import Image

    file = io.BytesIO()
    form = str(rng.choice(["PNG", "GIF", "JPEG", "BMP", "TIFF", "WEBP", "PPM", "EPS"]))
    options = {"compression": str(rng.choice(["tiff_lzw", "tiff_deflate", "raw"]))} if form == "TIFF" else {}
    shape = (5, 6, 3) if rng.rand() < 0.5 else (5, 6)
    Image.fromarray(rng.randint(0, 255, shape).astype(np.uint8)).save(file, form, **options)
    return file.getvalue()


def model(rng):
    """What is no table: the beginning of a model file."""
    header = json.dumps({"__metadata__": {"lapwing": "1"}}).encode()
    return len(header).to_bytes(8, "little") + header


FILES = {
    ".csv": text,
    ".tsv": lambda rng: text(rng, "\t"),
    ".txt": lambda rng: text(rng, ";", bool(rng.rand() < 0.5), ","),
    ".npy": npy,
    ".forged.npy": forged_npy,
    ".npz": npz,
    ".sparse.npz": sparse_npz,
    ".forged.npz": forged_npz,
    ".mtx": market,
    ".svm": svmlight,
    ".parquet": parquet,
    ".arrow": arrow,
    ".png": image,
    ".model": model,
}


PACKINGS = {".gz": lambda content: gzip.compress(content, 1), ".bz2": bz2.compress}


@cache
def whole(suffix, seed):
    """An undamaged file, of few that there are."""
    return FILES[suffix](np.random.RandomState(seed))


def place(content, rng):
    """A part of the content, by its ends."""
    start = rng.randint(0, len(content) + 1)
    return start, min(len(content), start + int(rng.choice([0, 1, 2, 8, 100])))


def flipped(content, rng):
    bits = np.frombuffer(content, np.uint8).copy()
    for _ in range(rng.randint(1, 9)):
        if len(bits):
            bits[rng.randint(len(bits))] ^= 1 << rng.randint(8)
    return bits.tobytes()


def cut(content, rng):
    return content[: rng.randint(0, len(content) + 1)]


def inserted(content, rng):
    start, _ = place(content, rng)
    return content[:start] + rng.bytes(rng.randint(1, 20)) + content[start:]


def overwritten(content, rng):
    start, end = place(content, rng)
    return content[:start] + TOKENS[rng.randint(len(TOKENS))] + content[end:]


def removed(content, rng):
    start, end = place(content, rng)
    return content[:start] + content[end:]


def repeated(content, rng):
    start, end = place(content, rng)
    return content[:end] + content[start:end] * int(rng.choice([1, 50])) + content[end:]


def with_a_huge_line(content, rng):
    start, _ = place(content, rng)
    return content[:start] + [b"1", b"1,", b" ", b'"', b"1 "][rng.randint(5)] * 300_000 + content[start:]


def empty(content, rng):
    return [b"", b"\n", b" "][rng.randint(3)]


def as_it_is(content, rng):
    return content


DAMAGES = [
    flipped,
    flipped,
    cut,
    inserted,
    overwritten,
    overwritten,
    removed,
    repeated,
    with_a_huge_line,
    empty,
    as_it_is,
]


def zip_of(content):
    """Something in an archive that is no array."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.npy", content)
    return file.getvalue()


def damaged(rng):
    """The suffix of a file, what is in it, and what became of it."""
    suffix = str(rng.choice(sorted(FILES)))
    content, done = whole(suffix, rng.randint(20)), [suffix]
    for _ in range(rng.choice([1, 1, 2, 3])):
        damage = DAMAGES[rng.randint(len(DAMAGES))]
        content, done = damage(content, rng), [*done, damage.__name__]
    if rng.rand() < 0.1:
        suffix = str(rng.choice(sorted(FILES)))  # another kind of file
    if rng.rand() < 0.03:
        content = zip_of(content)
    if suffix in (".csv", ".tsv", ".txt", ".mtx", ".svm") and rng.rand() < 0.3:
        packing = str(rng.choice(sorted(PACKINGS)))
        content, suffix = PACKINGS[packing](content), suffix + packing
        content = DAMAGES[rng.randint(6)](content, rng) if rng.rand() < 0.5 else content
    return suffix, content, [*done, suffix]
