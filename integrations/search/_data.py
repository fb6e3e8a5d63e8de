"""Real data of the integrations: 384 numbers per message, made of words, so that no model has to be downloaded."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
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


def embeddings():
    """Vectors and classes: of messages, or of digits where there are no messages."""
    found = words()
    if found is None:
        digits = load_digits()
        return Normalizer().fit_transform(digits.data).astype(np.float32), digits.target
    return embedder().fit_transform(found[0]).astype(np.float32), found[1]
