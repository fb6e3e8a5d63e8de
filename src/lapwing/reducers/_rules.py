"""The decisions of one fit of a linear or kernel map: everything that ``"auto"`` stands for, in one place.

The numbers and the rules are measured (docs/defaults.md). A method with other numbers has its own :class:`Rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from .._validation import check_choice, check_count
from ..maps import Centre, Preprojection, Spectrum
from ..problem import Problem
from ..rows import Rows, Units
from ._graphs import Graphs
from ._units import divisors

# For sparse X that is too large to be decomposed whole (measured on 20 Newsgroups):
LARGE_RIDGE = 30.0  # ridge="auto", in units of the constraint's mean eigenvalue
LARGE_DIRECTIONS = 100  # directions that pca="auto" keeps at least, for methods without a ridge
# scaling="auto" is "constraint" where two things hold: the FEW leading directions hold more than SHARE_OF_FEW of the
# variance, and 98 % of the variance takes more than MANY directions.
FEW, SHARE_OF_FEW, MANY = 3, 0.58, 40
SPREAD = 50  # a variance that this many directions hold equally counts as wholly spread
LITTLE_SPREAD = 0.25  # with class graphs, scaling="auto" is "objective" where the spread is below this
SMALL_CLASSES = 10  # where classes have fewer samples than this on average, all directions are kept
# gamma="auto" in units of "scale". LABEL_WIDTH is for graphs in which both labels and neighbours attract, and for X that is
# too large to see how its variance is spread. WIDTH is for graphs in which no labels attract.
LABEL_WIDTH, WIDTH = 0.25, 0.5
CONSTRAINTS = ("matrix", "orthogonal", "trace-ratio")
NORMALIZATIONS = ("auto", None, "degree", "trace")


class Options(NamedTuple):
    """The parameters that decide how a problem is solved. A method without one of them has the value given here."""

    n_components: Any = None
    pca: Any = None
    center: Any = "auto"
    scaling: str = "constraint"
    ridge: Any = 0.0
    normalize: str | None = None
    standardize: Any = False
    constraint: str = "matrix"
    # What follows from the parameters above:
    has_ridge: bool = False  # whether ridge= is a parameter
    counts_classes: bool = False  # whether n_components is "auto"
    share: float | None = None  # the share of the objective to keep, where n_components is a float

    @classmethod
    def of(cls, estimator: Any) -> Options:
        given = {name: getattr(estimator, name) for name in cls._fields[:8] if hasattr(estimator, name)}
        k, ridge, has_ridge = given.get("n_components"), given.get("ridge", 0.0), "ridge" in given
        constraint = given.get("constraint", "matrix")
        if not (isinstance(constraint, str) and constraint == "matrix"):  # no matrix that a ridge could be added to
            given["ridge"], has_ridge = 0.0 if isinstance(ridge, str) and ridge == "auto" else ridge, False
        return cls(
            **given,
            has_ridge=has_ridge,
            counts_classes=isinstance(k, str) and k == "auto",
            share=float(k) if isinstance(k, Real) and not isinstance(k, Integral) else None,
        )

    def check(self) -> None:
        """Raise where a parameter is wrong for any X."""
        check_choice("constraint", self.constraint, CONSTRAINTS)
        check_choice("normalize", self.normalize, NORMALIZATIONS)
        check_choice("scaling", self.scaling, ("auto", "constraint", "objective", "unit"))
        check_choice("center", self.center, ("auto", "mean", "degree", False))
        check_choice("standardize", self.standardize, ("auto", True, False))
        if self.share is not None and not 0 < self.share < 1:
            raise ValueError(
                f"n_components={self.n_components!r} must be a whole number, 1 or more, or a share between 0 and 1"
            )
        if self.n_components is not None and self.share is None and not self.counts_classes:
            check_count("n_components", self.n_components)
        pca, ridge = self.pca, self.ridge
        whole = isinstance(pca, Integral) and not isinstance(pca, bool) and int(pca) >= 1
        share = isinstance(pca, Real) and not isinstance(pca, Integral) and 0 < float(pca) <= 1
        if not (pca is None or whole or share or (isinstance(pca, str) and pca == "auto")):
            raise ValueError(
                f'pca={pca!r} must be "auto", None (the whole rank), a number of directions, or an energy in (0, 1]'
            )
        number = isinstance(ridge, Real) and not isinstance(ridge, bool) and 0 <= float(ridge) < np.inf
        if not number and not (isinstance(ridge, str) and ridge == "auto"):
            raise ValueError(f'ridge={ridge!r} must be "auto" or a finite number, 0 or more')
        if self.constraint != "matrix" and ridge != 0:
            raise ValueError(
                f'ridge={ridge!r} is added to the matrix of the constraint, and constraint="{self.constraint}" has none; use '
                'ridge="auto" or 0, and pca= to leave directions out'
            )

    def is_regularised(self, graphs: Graphs) -> bool:
        """Whether a ridge takes the place of truncation: a ridge that is given, or the default where labels say what attracts.

        It does not where something repels. With all directions at hand, repulsion finds directions that fit only the training
        samples.
        """
        if not isinstance(self.ridge, str):
            return float(self.ridge) > 0
        return isinstance(self.pca, str) and graphs.labels_attract and graphs.only_attracts

    def centre(self, problem: Problem) -> Centre:
        """What is subtracted. Where the constraint is a diagonal matrix, it is the mean weighted by the degrees."""
        degrees = problem.degrees
        if self.center == "degree" and degrees is None:
            raise ValueError(
                'center="degree" needs a constraint of degrees; orthogonal directions and penalty= have none: use "mean"'
            )
        weighted = self.center in ("auto", "degree") and degrees is not None and np.ptp(degrees) > 0
        return Centre(degrees if weighted else None, self.center is False, degrees is not None)


class Decided(NamedTuple):
    """What a fit uses: the parameters, the number of components, the ridge, and the principal directions that are kept."""

    given: Options
    k: int | None  # None is all there are
    # In units of the constraint's mean eigenvalue; None is chosen by the spread, once that is known.
    ridge: float | None
    preprojection: Preprojection


@dataclass(frozen=True)
class Rules:
    """The numbers in which methods differ, and the rules that use them.

    Parameters
    ----------
    energies : tuple of float, default=(0.9, 1.0)
        The share of the variance that ``pca="auto"`` keeps. The second number is for small classes where labels alone say
        what attracts.
    neighbor_energy : float, default=None
        The same where no labels attract. None uses ``energies`` there too.
    directions : float, default=1.25
        ``pca="auto"`` keeps at least this many directions per component.
    ridge : float, default=0
        ``ridge="auto"`` where X can be decomposed whole and no labels attract.
    label_ridge : float or None, default=None
        ``ridge="auto"`` where labels alone say what attracts. None chooses it by the spread of the variance.
    sum_ridge : float, default=0.3
        ``ridge="auto"`` where labels and neighbours say what attracts.
    of_kernel : bool, default=False
        Whether the features are those of a kernel. Without a kernel, a graph of classes is treated as in discriminant
        analysis: the units of the columns do not matter, and directions have the same variance within classes. With a kernel
        neither holds. Where neighbours attract as well, directions are truncated beside the ridge. There are as many features
        as samples or landmarks, and the ridge shall not depend on that number, so it is in units of the trace per sample.
    """

    energies: tuple[float, float] = (0.9, 1.0)
    neighbor_energy: float | None = None
    directions: float = 1.25
    ridge: float = 0.0
    label_ridge: float | None = None
    sum_ridge: float = 0.3
    of_kernel: bool = False

    def units(self, given: Options, graphs: Graphs) -> Units | None:
        """``standardize=`` as a function from the deviations of columns to their divisors; None where columns stay as they are.

        ``"auto"`` leaves columns as they are where a graph does not measure Euclidean distances, since angles and given
        distances have no units.
        """
        if given.standardize is False or (given.standardize == "auto" and not graphs.is_euclidean):
            return None
        invariant = not self.of_kernel and graphs.of_classes and given.is_regularised(graphs)
        return partial(divisors, always=given.standardize is True, invariant=invariant)

    def decided(self, given: Options, graphs: Graphs, data: Rows) -> Decided:
        """``n_components=``, ``ridge=`` and ``pca=`` on these rows."""
        k = (
            _told_apart(graphs, data)
            if given.counts_classes
            else None
            if given.share is not None
            else given.n_components
        )
        pca, by_default, large = given.pca, isinstance(given.ridge, str), data.F.is_large and not self.of_kernel
        # Whether a ridge can take the place of truncation.
        instead = given.has_ridge and given.normalize != "trace" and graphs.penalty is None
        ridge: float | None
        if not by_default:
            ridge = float(given.ridge)
        elif large:
            ridge = LARGE_RIDGE if instead and isinstance(pca, str | None) else 0.0
        elif not given.is_regularised(graphs):
            ridge = self.ridge
        else:
            ridge = self.label_ridge if graphs.labels_alone else self.sum_ridge
        if not isinstance(pca, str):
            if pca is None and large and not instead:
                raise ValueError(
                    f"pca=None keeps the whole rank of X, which is too large for that (sparse, {data.X.shape}); give a number of "
                    "directions, such as pca=300"
                )
            return Decided(given, k, ridge, Preprojection(pca, k or 1, principal=given.constraint == "trace-ratio"))
        truncated = self.of_kernel and by_default and not graphs.labels_alone
        if (ridge is None or ridge > 0) and not truncated:
            share: float | None = None
        elif large:
            share = None if instead else max(LARGE_DIRECTIONS, 2 * (k or 1))
        else:
            share = self._energy(given, graphs, data)
        kept = Preprojection(share, k or 1, ceil(self.directions * (k or 1)), given.constraint == "trace-ratio")
        return Decided(given, k, ridge, kept)

    def _energy(self, given: Options, graphs: Graphs, data: Rows) -> float:
        """``pca="auto"`` of X that can be decomposed whole. Where all components are asked for, most of the variance is kept."""
        usual, few = self.energies
        if given.constraint == "orthogonal":  # the fewer directions are kept, the better, until the method becomes PCA
            usual = 0.0
        if self.neighbor_energy is not None and not graphs.labels_attract:
            usual = self.neighbor_energy
        if given.n_components is None or given.share is not None:
            usual, few = max(usual, 0.9), 1.0
        small = graphs.labels_alone and data.has_classes and data.class_sizes.mean() < SMALL_CLASSES
        return few if small else usual

    def scaling(self, graphs: Graphs, spectrum: Spectrum | None, B: Any) -> str:
        """``scaling="auto"``, given the constraint B in coordinates.

        Where classes alone attract and few directions hold the variance, directions get the length that discriminant analysis
        gives them. In some data, a few directions hold most of the variance and many directions the rest, as light does in
        pictures of faces. There neighbours differ along the few directions, which would outweigh all others if every
        direction had unit length.
        """
        by_classes = graphs.of_classes and graphs.only_attracts and not self.of_kernel
        if by_classes and isinstance(B, np.ndarray) and spread(B) < LITTLE_SPREAD:
            return "objective"
        if spectrum is None or graphs.labels_attract:
            return "unit"
        dominated = spectrum.share(FEW) > SHARE_OF_FEW and spectrum.needed(0.98) > MANY
        return "constraint" if dominated else "unit"


def _told_apart(graphs: Graphs, data: Rows) -> int:
    """``n_components="auto"``: the number of classes minus one, which is how many directions a graph of classes determines."""
    if not graphs.of_classes:
        raise ValueError(
            f'n_components="auto" is the number of classes minus one where classes alone say what attracts, and '
            f'graph={graphs.graph!r} is something else; give a number of components, or graph="supervised"'
        )
    return max(1, data.class_sizes.size - 1)


def spread(B: np.ndarray) -> float:
    """How spread the variance of a form is: near 0 where few directions hold it all, 1 where ``SPREAD`` hold it equally.

    (tr B)² / ‖B‖² is how many directions of equal variance would have this trace and norm.
    """
    return float(min(1.0, np.trace(B) ** 2 / np.vdot(B, B) / SPREAD)) if B.any() else 1.0


def width_share(graphs: Graphs, data: Rows) -> float:
    """``gamma="auto"`` as a share of "scale". Where labels alone attract, it is the spread of the variance of X.

    It is at least 1/√p for p columns that vary, since the variance of few columns cannot be spread. In the plane, for
    example, the arms of a spiral are as near to each other as the rows of one arm.
    """
    if not graphs.labels_alone or not data.has_features or data.F.is_large:
        return LABEL_WIDTH if graphs.labels_attract else WIDTH
    variances = data.F.deviations().values ** 2
    varying = np.count_nonzero(variances > np.finfo(np.float64).eps * variances.max())
    return max(spread(data.F.smaller_gram), 1 / np.sqrt(varying)) if varying else 1.0
