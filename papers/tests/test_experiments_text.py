"""What the document experiments are made of, on made-up documents."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import mutual_info_score
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from lapwing_papers.experiments import Summary, Task
from lapwing_papers.experiments import _thesis_text as text


def documents(n=120, n_terms=60, n_classes=3, seed=0):
    """Counts; each class has its own frequent terms."""
    random = np.random.RandomState(seed)
    y = np.arange(n) % n_classes
    rates = np.full((n_classes, n_terms), 0.2)
    for c in range(n_classes):
        rates[c, c::n_classes] = 1.5
    return sparse.csr_array(random.poisson(rates[y]).astype(float)), y


def test_information_gain_is_mutual_information():
    X, y = documents()
    counts = X.toarray()
    counts[:, 7] = 0  # a term of no document tells nothing
    present = counts > 0
    expected = [mutual_info_score(present[:, j], y) for j in range(counts.shape[1])]
    found = text.information_gain(sparse.csr_array(counts), y)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[7] == pytest.approx(0, abs=1e-12)


def test_nested_accuracies_are_those_of_the_classifier(monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 13)  # so that there are several, the last one short
    random = np.random.RandomState(0)
    Z, T = random.randn(70, 12), random.randn(40, 12)
    y, t = random.randint(3, size=70), random.randint(3, size=40)
    dimensions = (2, 5, 12)
    expected = [100 * KNeighborsClassifier(1, metric="cosine").fit(Z[:, :d], y).score(T[:, :d], t) for d in dimensions]
    np.testing.assert_allclose(text.nested_accuracies(Z, y, T, t, dimensions), expected)


def test_keyword_subsets_hold_exactly_the_documents_with_the_term(monkeypatch):
    monkeypatch.setattr(text, "SIZES", (20, 40))
    X, y = documents(seed=1)
    subsets = text.keyword_subsets(X, y, (3, 3), 4)
    assert len(subsets) == 4
    columns = {tuple(np.flatnonzero(column)) for column in X.toarray().T}
    for rows in subsets:
        assert tuple(rows) in columns
        assert 20 <= rows.size <= 40
        assert np.unique(y[rows]).size == 3
    sizes = [rows.size for rows in subsets]
    assert sizes == sorted(sizes, reverse=True)


def test_singular_coordinates_are_lsi():
    A = normalize(documents()[0])
    Z = text.singular_coordinates(A)
    np.testing.assert_allclose(Z @ Z.T, (A @ A.T).toarray(), atol=1e-12)
    few = TruncatedSVD(5, algorithm="arpack", random_state=0).fit_transform(A)
    np.testing.assert_allclose(np.abs(Z[:, :5]), np.abs(few), atol=1e-8)


def test_nested_distances_are_cosine_distances():
    Z = np.random.RandomState(0).randn(20, 6)
    for d, D in zip((1, 4, 6), text.nested_distances(Z, (1, 4, 6)), strict=True):
        np.testing.assert_allclose(D, cosine_distances(Z[:, :d]), atol=1e-12)


def test_halves_hold_each_document_once():
    first, second = text.halves(11, 3)
    assert sorted([*first, *second]) == list(range(11))
    assert (first.size, second.size) == (5, 6)


def test_the_honest_dimension_is_that_of_the_other_half():
    best_of_first, best_of_second = 0, 2
    scores = np.array([[9.0, 5.0, 1.0], [3.0, 4.0, 8.0]])
    assert text.chosen_honestly(scores) == (scores[1, best_of_first] + scores[0, best_of_second]) / 2


@pytest.mark.parametrize("quantity", text.SCORES)
def test_one_subset(quantity, monkeypatch):
    """Every method at its best; what is chosen honestly is of halves, and no better than the best of them."""
    X, y = documents(240, seed=2)
    monkeypatch.setattr(text, "_corpus", lambda name: (X, y))
    monkeypatch.setattr(text, "_subsets", lambda name, within: [np.arange(240)])
    found = text._indexed(("made-up", quantity, text.TOPICS), 0)
    assert set(found) == {"baseline", "LSI", "LPI"}
    expected = 100 * text.SCORES[quantity](normalize(X), y)
    assert found["baseline"][quantity] == pytest.approx(expected)
    assert found["LPI"]["gain"] == pytest.approx(found["LPI"][quantity] - expected, abs=1e-3)
    assert found["LPI"][f"{quantity}, honest"] > found["baseline"][f"{quantity}, honest"]


def test_normalized_cut_weights_make_the_affinity_of_the_normalised_cut():
    A = normalize(documents()[0])
    S = (A @ A.T).toarray()
    degrees = S.sum(axis=1)
    B = text.normalized_cut_weights(A)
    np.testing.assert_allclose((B @ B.T).toarray(), S / np.sqrt(np.outer(degrees, degrees)), atol=1e-12)


@pytest.mark.parametrize("init", ["nndsvda", "random"])
def test_factors_find_clear_classes(init):
    X, y = documents()
    assert text.clustering_accuracy(y, text.factor_labels(normalize(X), 3, init)) > 0.9


def test_best_over_dimensions_takes_each_measure_at_its_own_best():
    _, y = documents(60)
    Z = np.column_stack([np.random.RandomState(0).randn(60), 100.0 * (y == 1), 100.0 * (y == 2)])
    found = text._best_over(Z, y, 3, 0, (1, 2, 3))
    assert found.pop("dimensions") == 3.0
    assert list(found.values()) == pytest.approx([1.0] * 3)


def made_up_values(experiment, method_scores):
    """A result of every condition of an experiment in which methods score what is given."""
    quantities = set(experiment.published) - {"dimensions", "gain"}
    return {m: dict.fromkeys(quantities, v) | {"dimensions": d, "gain": 0.0} for m, (v, d) in method_scores.items()}


def test_claims_and_pictures_of_clustering_need_only_the_quick_conditions():
    pytest.importorskip("matplotlib")
    experiment = next(e for e in text.EXPERIMENTS if e.name == "thesis-table-5.7")
    scores = {"k-means": 0.8, "LSI": 0.7, "LPI": 0.99, "LE": 0.98, "NMF-NCW": 0.9, "LSI (best)": 0.8, "LPI (best)": 1.0}
    values = made_up_values(experiment, {m: (v, 2.0 if m == "LPI (best)" else 20.0) for m, v in scores.items()})
    summary = Summary(experiment, {Task(c, 0): values for c in experiment.quick_conditions})
    found = {claim.text: number for claim, number, *_ in summary.claims}
    assert found["LPI is better than k-means and LSI (mean accuracy over k, advantage)."] == pytest.approx(0.19)
    assert found["LPI's best dimension is nearly k - 1 (mean distance)."] == 0.0  # 3 classes
    assert found["LPI's mean accuracy over all k is as printed (difference)."] == pytest.approx(0.99 - 0.996)
    assert len(experiment.pictures(summary)) == 1


def test_claims_and_pictures_of_subsets():
    pytest.importorskip("matplotlib")
    experiment = next(e for e in text.EXPERIMENTS if e.name == "thesis-table-5.3")
    won = made_up_values(experiment, {"baseline": (50.0, 400.0), "LSI": (51.0, 200.0), "LPI": (60.0, 10.0)})
    lost = made_up_values(experiment, {"baseline": (50.0, 400.0), "LSI": (51.0, 200.0), "LPI": (40.0, 10.0)})
    summary = Summary(experiment, {Task("Reuters-21578", i): v for i, v in enumerate((won, won, lost, won))})
    numbers = [number for _, number, *_ in summary.claims]
    assert numbers[0] == 0.75
    assert numbers[3] == 20.0
    assert len(experiment.pictures(summary)) == 1


def test_published_tables_are_whole():
    by_name = {e.name: e for e in text.EXPERIMENTS}
    assert len(by_name) == len(text.EXPERIMENTS)
    assert by_name["thesis-table-2.3"].published["accuracy"][text.PAPERS_WORDS]["LPP, heat"][600] == 62.4
    for name, average in (("thesis-table-5.7", 0.990), ("thesis-table-5.8", 0.730)):  # the printed row "ave."
        printed = by_name[name].published["accuracy"]
        assert np.mean([printed[c]["LPI"] for c in by_name[name].conditions]) == pytest.approx(average, abs=0.0006)


def test_claims_and_pictures_of_newsgroups():
    pytest.importorskip("matplotlib")
    experiment = next(e for e in text.EXPERIMENTS if e.name == "thesis-table-2.1")
    curves = {"LPP, 0/1": 60.0, "LPP, heat": 61.0, "PCA+LPP": 63.0, "LSI": 58.0}
    values = {m: {"accuracy": [v + i for i in range(8)]} for m, v in curves.items()}
    found = {Task(text.PAPERS_WORDS, 0): values, Task(text.HONEST_WORDS, 0): {"LSI": values["LSI"]}}
    summary = Summary(experiment, found)
    assert [number for _, number, *_ in summary.claims] == [3.0, 2.0]
    assert len(experiment.pictures(summary)) == 1


def test_neighbour_claims():
    pytest.importorskip("matplotlib")
    experiment = next(e for e in text.EXPERIMENTS if e.name == "thesis-figure-5.10")
    scores = {f"LPI, {k} neighbours": 80.0 - abs(k - 6) / 10 for k in text.NEIGHBORS}
    scores |= {text.COMPLETE: 70.0, "LSI": 71.5, "baseline": 69.0}
    summary = Summary(experiment, {Task("TDT2", 0): {m: {"accuracy": v} for m, v in scores.items()}})
    assert [number for _, number, *_ in summary.claims] == [6.0, 10.0, 1.5]
    assert len(experiment.pictures(summary)) == 1
