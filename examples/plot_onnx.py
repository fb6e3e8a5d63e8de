"""
How do I ship a model without shipping Python?
==============================================

A fitted pipeline can be written as ONNX, a file format that runtimes for C++, C#, Java,
JavaScript and phones read. :func:`lapwing.to_onnx` writes lapwing's linear and kernel
methods, and the steps of scikit-learn around them by skl2onnx. This example writes one,
runs it in onnxruntime, and looks at how much the answers differ.
"""

# %%
# The model
# ---------
# The pipeline scales digits, projects them on nine directions by :class:`lapwing.LPP`,
# and asks the five nearest neighbours.

import time
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lapwing
from lapwing import LPP

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)
reducer = make_pipeline(StandardScaler(), LPP("auto", graph="supervised")).fit(
    X_train, y_train
)
model = make_pipeline(
    StandardScaler(), LPP("auto", graph="supervised"), KNeighborsClassifier(5)
).fit(X_train, y_train)
print(f"accuracy on new digits, in Python: {model.score(X_test, y_test):.4f}")

# %%
# The file
# --------
# ``to_onnx(model, "digits.onnx")`` writes a file. Without a path it returns the model
# in memory, which is what we need here. The extra ``onnx`` has to be installed. If it
# is not, the example says so and stops here.

has_onnx = all(find_spec(name) is not None for name in ("skl2onnx", "onnxruntime"))
if has_onnx:
    projection, classifier = (
        lapwing.to_onnx(fitted).SerializeToString() for fitted in (reducer, model)
    )
    print(
        f"the projection takes {len(projection):,} bytes; with the rows of the classifier it takes {len(classifier):,}"
    )
else:
    print(
        "skl2onnx or onnxruntime is not installed: pip install 'lapwing[onnx]'. Nothing is written below."
    )

# %%
# The runtime
# -----------
# onnxruntime knows nothing of scikit-learn or lapwing. The input is called ``X`` and
# holds single precision numbers, or double precision ones with
# ``to_onnx(model, dtype="float64")``. A projection has the output ``Y``, and a classifier
# has ``label`` and ``probabilities``.

if has_onnx:
    import onnxruntime

    sessions = [
        onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        for file in (projection, classifier)
    ]
    given = {"X": X_test.astype(np.float32)}
    Z = sessions[0].run(["Y"], given)[0]
    labels, probabilities = sessions[1].run(["label", "probabilities"], given)

    expected = reducer.transform(X_test)
    differences = abs(Z - expected) / abs(expected).max()
    same = labels == model.predict(X_test)
    print(
        f"largest difference of a coordinate, as a share of the largest coordinate: {differences.max():.1e}"
    )
    print(f"digits that get the same label: {same.sum()} of {same.size}")
    print(
        f"largest difference of a probability: {abs(probabilities - model.predict_proba(X_test)).max():.1e}"
    )
    print(f"accuracy on new digits, in onnxruntime: {np.mean(labels == y_test):.4f}")

# %%
# The left picture shows that both give the same coordinates. The right one shows how
# small the differences are: they are those of single precision.

if has_onnx:
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4), layout="constrained")
    left.scatter(expected[:, 0], expected[:, 1], c=y_test, cmap="tab10", s=14)
    left.scatter(Z[:, 0], Z[:, 1], marker="+", color="black", s=14, lw=0.6)
    left.set(title="Python (dots),\nonnxruntime (crosses)", xticks=[], yticks=[])
    right.hist(
        np.log10(np.maximum(differences.ravel(), 1e-12)), bins=40, color="tab:blue"
    )
    right.axvline(
        np.log10(np.finfo(np.float32).eps),
        color="black",
        ls="--",
        label="float32 rounds",
    )
    right.set(title="Differences", xlabel="log10 of the relative difference", yticks=[])
    right.legend(fontsize="small")
    plt.show()

# %%
# How long does one row take? A model in production often gets rows one by one.

if has_onnx:
    one = {"X": given["X"][:1]}
    timed = {
        "Python": lambda: reducer.transform(X_test[:1]),
        "onnxruntime": lambda: sessions[0].run(["Y"], one),
    }
    for name, call in timed.items():
        times = []
        for _ in range(200):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(
            f"{name:12} {1e6 * np.median(times):8.0f} microseconds per row, one row at a time"
        )

# %%
# What to take home
# -----------------
# - A pipeline of lapwing and scikit-learn becomes one file that needs neither. A
#   projection takes a few kilobytes. A classifier by neighbours takes more, because it
#   keeps its projected training rows.
# - Coordinates agree to single precision, and here every digit gets the label that it
#   gets in Python. A row that has two classes equally near can get the other label.
# - One row at a time, the runtime is far quicker, because Python checks every input
#   anew.
# - Linear methods, kernel methods and feature scores can be written, and maps that place
#   each sample on its own cannot. ``to_onnx`` raises an error that names the step that it
#   cannot write.
