"""Beyond the papers: lapwing beside the rivals that a sceptic would bring, in five tasks. What comes out, and for whom?

    python benchmarks/guide guide --public   sets that scikit-learn ships or makes
    python benchmarks/guide --all            all sets
    python benchmarks/guide --keep           puts what was measured into results; then python docs/tables.py writes the tables

``_sets`` has the data, ``_rivals`` the methods, ``_tasks`` what is measured, ``_standing`` the tables of what was.
"""

from __future__ import annotations

from pathlib import Path

from lapwing_papers.experiments import Measured

from ._sets import SETS
from ._standing import MISSING, differences, dots, standing
from ._tasks import FEW_ROWS, ROWS, clustering, few_labels, labelled, maps, unseen

RESULTS = Path(__file__).parent / "results"
PERCENT = (5, 10)
FEW_SETS = (
    "breast cancer",
    "digits",
    "waveform",
    "LED display",
    "ringnorm",
    "nuisance columns",
    "MFeat",
    "PIE, 5 poses",
    "USPS",
    "MNIST",
    "Fashion-MNIST",
    "Reuters",
    "TDT2",
)
UNSEEN_SETS = (
    "digits",
    "made-up people",
    "Libras",
    "ISOLET1",
    "ORL",
    "Yale",
    "Yale B",
    "PIE",
    "AR",
    "AR, 99 people",
    "UMIST",
    "COIL20",
    "BinAlpha",
    "TDT2",
    "20 Newsgroups",
)
WITHOUT = (
    "iris",
    "wine",
    "breast cancer",
    "digits",
    "waveform",
    "LED display",
    "nuisance columns",
    "Libras",
    "ISOLET1",
    "MFeat",
    "ORL",
    "UMIST",
    "COIL20",
    "USPS",
    "MNIST",
    "Fashion-MNIST",
    "TDT2",
    "20 Newsgroups",
)
COMMON = (
    "Five random splits, seeds from 1000 on, which took no part when the defaults were chosen. Texts are tf-idf in 200 "
    "dimensions of LSI. Methods called 'as it comes' get the data as they are and choose nothing. All others get columns in "
    "comparable units: those of tables are standardised, pixels and dimensions of texts have one unit for all; and where there "
    "are more columns than training rows, all principal directions of the training rows. 'Tuned' methods choose the best of at "
    "most six candidates (UMAP, which takes long, of two or none) inside the training rows. " + MISSING
)


def _public(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if SETS[name.split(", ")[0]].public)


FEW_CONDITIONS = {f"{name}, {percent} %": (SETS[name], percent) for name in FEW_SETS for percent in PERCENT}


def _sources(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(SETS[name].source for name in names if not SETS[name].public)


EXPERIMENTS = (
    Measured(
        name="guide-labelled",
        source="Beyond the papers: all training rows have labels",
        protocol=(
            f"At most {ROWS} training rows (or half of the rows) and {ROWS} new ones. Candidates are judged by the nearest "
            "neighbour on two random thirds of the training rows. Then, of the new rows: accuracy of the nearest training row "
            "(or of the classifier), mean average precision of the training rows retrieved for them, and k-means of them. "
            + COMMON
        ),
        data=_sources(tuple(SETS)),
        conditions=dict(SETS),
        what=labelled,
        n_repeats=5,
        public=_public(tuple(SETS)),
        derived=differences,
        pictures=dots,
        table=standing,
        results=RESULTS,
    ),
    Measured(
        name="guide-few-labels",
        source="Beyond the papers: 5 or 10 % of the training rows have labels",
        protocol=(
            f"At most {FEW_ROWS} training rows (or half of the rows), of which 5 or 10 % have a label, and at least two rows per "
            f"class; {ROWS} new rows. Candidates are judged on halves of the labelled rows in turn. Then the accuracy of the "
            "nearest labelled row, or of the classifier, on the new rows. " + COMMON
        ),
        data=_sources(FEW_SETS),
        conditions=FEW_CONDITIONS,
        what=few_labels,
        n_repeats=5,
        public=_public(tuple(FEW_CONDITIONS)),
        derived=differences,
        pictures=dots,
        table=standing,
        results=RESULTS,
    ),
    Measured(
        name="guide-unseen",
        source="Beyond the papers: classes that training never saw",
        protocol=(
            f"Half of the classes, at most {ROWS} rows of them, are learnt from. Of the other half, at most {ROWS} rows, each "
            "row is a query among the rest: mean average precision, and accuracy of the nearest. All pairs of rows are verified: "
            "area under the ROC curve of their distances. Candidates are judged by the mean average precision on halves of the "
            "training classes in turn. " + COMMON
        ),
        data=_sources(UNSEEN_SETS),
        conditions={name: SETS[name] for name in UNSEEN_SETS},
        what=unseen,
        n_repeats=5,
        public=_public(UNSEEN_SETS),
        derived=differences,
        pictures=dots,
        table=standing,
        results=RESULTS,
    ),
    Measured(
        name="guide-clustering",
        source="Beyond the papers: clusters without labels",
        protocol=(
            f"At most {2 * ROWS} rows (or half of the rows). No method sees labels, so nothing can be chosen: all have as many "
            "dimensions as classes less one. Then k-means, ten starts, with as many clusters as classes: normalised mutual "
            "information with the classes, in percent. " + COMMON
        ),
        data=_sources(WITHOUT),
        conditions={name: SETS[name] for name in WITHOUT},
        what=clustering,
        n_repeats=5,
        public=_public(WITHOUT),
        derived=differences,
        pictures=dots,
        table=standing,
        results=RESULTS,
    ),
    Measured(
        name="guide-maps",
        source="Beyond the papers: two-dimensional maps",
        protocol=(
            f"At most {ROWS} rows (or half of the rows) are mapped to two dimensions, nothing is chosen. Of the fitted rows: "
            "trustworthiness (10 neighbours), and the accuracy of the nearest other row in the map. Of as many new rows: the "
            "accuracy of the nearest fitted row, where a method places new rows. Methods that see labels are judged by new rows "
            "alone. " + COMMON
        ),
        data=_sources(WITHOUT),
        conditions={name: SETS[name] for name in WITHOUT},
        what=maps,
        n_repeats=5,
        public=_public(WITHOUT),
        derived=differences,
        pictures=dots,
        table=standing,
        results=RESULTS,
    ),
)


def experiments() -> dict[str, Measured]:
    """The five tasks, by their names."""
    return {experiment.name: experiment for experiment in EXPERIMENTS}
