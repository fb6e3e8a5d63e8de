"""Real data of vector search: 384 numbers per text."""

import os
from pathlib import Path

import numpy as np
from _texts import embedded
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer


def words():
    """The messages of 20 Newsgroups as counts of words, with their groups; None where LAPWING_DATA does not hold them."""
    folder = Path(os.environ.get("LAPWING_DATA", ""))
    if not (folder / "20news_bydate_X.npz").is_file():
        return None
    with np.load(folder / "20news_bydate_y.npz") as held:
        groups = held[held.files[0]].ravel()
    return sparse.csr_array(sparse.load_npz(folder / "20news_bydate_X.npz")), groups


def embedder(dimensions=384):
    """What turns counts of words into vectors of unit length."""
    return make_pipeline(TfidfTransformer(sublinear_tf=True), TruncatedSVD(dimensions, random_state=0), Normalizer())


def collections():
    """Vectors and classes, by name: texts of packages as a sentence model sees them, and messages by their words."""
    _, documents, topics = embedded()
    yield "docstrings by all-MiniLM-L6-v2", documents, topics
    found = words()
    if found is None:
        print("20 Newsgroups: LAPWING_DATA does not hold it, so that its table is not made")
    else:
        yield "20 Newsgroups by words", embedder().fit_transform(found[0]).astype(np.float32), found[1]
