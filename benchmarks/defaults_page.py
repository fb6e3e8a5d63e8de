"""Writes docs/defaults.md from the results of benchmarks/defaults.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from defaults import (
    ENERGIES,
    FACTORS,
    FEW,
    KERNEL_RIDGES,
    LENGTHS,
    LIGHT,
    NARROW,
    OTHERS,
    RIDGES,
    SPREADS,
    STUDIES,
    UNIT_METHODS,
    version,
)

ONE, MAP = "1-NN", "mAP"
TEMPLATE = Path(__file__).with_name("defaults.md")
Condition = tuple[str, int]  # data set, and rows or percent


class Results:
    """Values of the settings as they are declared now: study -> setting -> (data set, size) -> split -> quantity."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]):
        current = {
            (s, name): version(setting) for s, study in STUDIES.items() for name, setting in study.settings.items()
        }
        self.found: dict[tuple[str, str], dict[Condition, dict[int, dict[str, float]]]] = {}
        self.seconds = 0.0
        for row in rows:
            if current.get((row["study"], row["setting"])) == row["version"]:
                at = self.found.setdefault((row["study"], row["setting"]), {}).setdefault((row["set"], row["size"]), {})
                at[row["split"]] = row["values"]
                self.seconds += row["seconds"]

    def has(self, study: str, setting: str) -> bool:
        return (study, setting) in self.found

    def conditions(self, study: str, setting: str, size: int | None = None) -> list[Condition]:
        return [c for c in self.found.get((study, setting), {}) if size in (None, c[1])]

    def splits(self, study: str, setting: str, size: int) -> int:
        """How many splits every data set has."""
        conditions = self.conditions(study, setting, size)
        return min((len(self.found[study, setting][c]) for c in conditions), default=0)

    def mean(self, study: str, setting: str, condition: Condition, quantity: str = ONE) -> float:
        values = [
            v[quantity] for v in self.found.get((study, setting), {}).get(condition, {}).values() if quantity in v
        ]
        return float(np.mean(values)) if values else float("nan")

    def overall(self, study: str, setting: str, size: int | None = None, quantity: str = ONE) -> float:
        return float(np.mean([self.mean(study, setting, c, quantity) for c in self.conditions(study, setting, size)]))

    def differences(
        self, study: str, better: str, worse: str, size: int | None = None, quantity: str = ONE
    ) -> dict[Condition, float]:
        """Of each condition that has both: the mean over the splits that have both."""
        found = {}
        for condition in self.conditions(study, better, size):
            a, b = self.found[study, better][condition], self.found.get((study, worse), {}).get(condition, {})
            both = [
                a[s][quantity] - b[s][quantity] for s in a.keys() & b.keys() if quantity in a[s] and quantity in b[s]
            ]
            if both:
                found[condition] = float(np.mean(both))
        return found

    def error(self, study: str, better: str, worse: str, condition: Condition) -> str:
        """The standard error over splits of a difference; nothing where there is one split."""
        a, b = self.found[study, better][condition], self.found[study, worse][condition]
        both = [a[s][ONE] - b[s][ONE] for s in a.keys() & b.keys()]
        return f" ± {np.std(both, ddof=1) / np.sqrt(len(both)):.1f}" if len(both) > 1 else ""

    def line(self, study: str, better: str, worse: str, size: int | None = None, quantity: str = ONE) -> str:
        return paired(self.differences(study, better, worse, size, quantity).values())

    def without_each(
        self, study: str, settings: Sequence[str], base: str, size: int | None = None, quantity: str = ONE
    ) -> tuple[Counter[str], dict[Condition, float]]:
        """For each data set the setting that the others choose, and what it gains there over the base."""
        table = {s: self.differences(study, s, base, size, quantity) for s in settings if self.has(study, s)}
        chosen, gains = Counter(), {}
        for name in {c[0] for found in table.values() for c in found}:

            def elsewhere(setting: str, left_out: str = name) -> float:
                return float(np.mean([v for c, v in table[setting].items() if c[0] != left_out]))

            pick = max(table, key=elsewhere)
            chosen[pick] += 1
            gains |= {c: v for c, v in table[pick].items() if c[0] == name}
        return chosen, gains


def paired(differences: Iterable[float]) -> str:
    """Mean, standard error over data sets, and how many are better or worse by more than 0.05."""
    values = np.array(list(differences))
    if values.size < 2:
        return "not measured"
    error = values.std(ddof=1) / np.sqrt(values.size)
    return f"{values.mean():+.2f} ± {error:.2f} ({(values > 0.05).sum()}+/{(values < -0.05).sum()}−)"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.1f}"


def against(found: Results, study: str, settings: Mapping[str, str], base: str, sizes: Sequence[int]) -> str:
    """Paired differences of 1-NN and mAP to a base, one row per setting."""
    head = ["", *(f"{quantity}, {size} rows" for size in sizes for quantity in (ONE, MAP))]
    rows = [
        [label, *(found.line(study, s, base, size, q) for size in sizes for q in (ONE, MAP))]
        for label, s in settings.items()
        if found.has(study, s)
    ]
    return table(head, rows)


def chosen(found: Results, settings: Sequence[str], base: str, label: Callable[[str], str], quantity: str = ONE) -> str:
    """In words: what leave-one-set-out chooses, and what it gains where it had no part."""
    counts, gains = found.without_each("supervised", settings, base, 400, quantity)
    picks = ", ".join(f"{label(name)} for {n}" for name, n in counts.most_common(3))
    return f"Left out in turn, the data sets choose {picks}; gain on the set left out: {paired(gains.values())}."


def page(rows: Iterable[Mapping[str, Any]]) -> str:
    """The template with its tables and numbers filled in."""
    found, text = Results(rows), TEMPLATE.read_text()
    fragments = {
        "minutes": f"{found.seconds / 60:.0f}",
        "large splits": str(found.splits("supervised", "LPP", 1500)),
        **classes(found),
        **kernels(found),
        **bars(found),
        **lengths(found),
        **narrow(found),
        **neighbours(found),
        **sums(found),
        **columns(found),
        **clusters(found),
        **robust(found),
        **truncation(found),
    }
    for name, fragment in fragments.items():
        text = text.replace(f"{{{name}}}", fragment)
    return "\n".join(_wrapped(line) for line in text.split("\n"))


def _wrapped(line: str) -> str:
    """Prose in lines of the usual length; tables as they are."""
    if line.startswith("|") or len(line) <= 140:
        return line
    return fill(line, 125, break_long_words=False, break_on_hyphens=False)


def classes(found: Results) -> dict[str, str]:
    base = "LPP, truncation"

    def label(setting: str) -> str:
        return setting.split(", ")[-1]

    rule, diagonal = ([f"class graph, {form}, ridge {r}" for r in RIDGES] for form in ("rule", "diagonal"))
    settings = {f"ridge {r}": s for r, s in zip(RIDGES, rule, strict=True)}
    settings |= {f"ridge {r}, every column over its deviation": s for r, s in zip(RIDGES, diagonal, strict=True)}
    spread, divided = (
        [f"class graph, {form}, ridge by spread / {s}" for s in SPREADS] for form in ("rule", "diagonal")
    )
    settings |= {label(s): s for s in spread} | {f"{label(s)}, every column over its deviation": s for s in divided}

    return {
        "classes": against(found, "supervised", settings, base, (400, 1500)),
        "classes chosen": chosen(found, rule, base, label),
        "classes chosen, diagonal": chosen(found, diagonal, base, label),
        "classes chosen, mAP": chosen(found, rule, base, label, MAP),
        "spread chosen": chosen(found, [*rule, *spread], base, label),
        "spread chosen, diagonal": chosen(found, [*diagonal, *divided], base, label),
        "diagonal": paired(
            found.differences(
                "supervised", "class graph, diagonal, ridge 0.3", "class graph, rule, ridge 0.3", 400
            ).values()
        ),
    }


def kernels(found: Results) -> dict[str, str]:
    base, rival = "KernelLPP, truncation", "kernel PCA + shrinkage LDA, tuned"
    names = {
        f"gamma {f} of scale, ridge {r}": f"kernel class graph, gamma {f}, ridge {r}"
        for f in FACTORS
        for r in KERNEL_RIDGES
    }
    names |= {
        f"gamma by spread / {s}, ridge 0.03": f"kernel class graph, gamma by spread / {s}, ridge 0.03" for s in SPREADS
    }
    rows = [
        [label, *(found.line("supervised", s, b, 400, q) for b in (base, rival) for q in (ONE, MAP))]
        for label, s in names.items()
        if found.has("supervised", s)
    ]
    head = ["", *(f"{q} − {b}" for b in ("truncation", "rival") for q in (ONE, MAP))]
    label = lambda s: s.removeprefix("kernel class graph, ")  # noqa: E731
    return {"kernels": table(head, rows), "kernels chosen": chosen(found, [*names.values()], base, label)}


def bars(found: Results) -> dict[str, str]:
    linear, kernel = "shrinkage LDA, tuned", "kernel PCA + shrinkage LDA, tuned"
    rows = []
    for own, rival in {
        "LPP": linear,
        "class graph, rule, ridge 0.3": linear,
        "class graph, rule, ridge by spread / 50": linear,
        "class graph, diagonal, ridge by spread / 50": linear,
        "KernelLPP": kernel,
        "kernel class graph, gamma 0.5, ridge 0.03": kernel,
        "kernel class graph, gamma by spread / 50, ridge 0.03": kernel,
    }.items():
        for size in (400, 1500):
            differences = found.differences("supervised", own, rival, size)
            worse = sorted(differences, key=differences.__getitem__)[:3]
            worst = ", ".join(f"{c[0]} {differences[c]:+.1f}{found.error('supervised', own, rival, c)}" for c in worse)
            both = (found.line("supervised", own, rival, size, quantity) for quantity in (ONE, MAP))
            rows.append([f"{own} − {rival}", size, *both, worst])
    sets = list(dict.fromkeys(c[0] for c in found.conditions("supervised", "LPP")))
    columns_ = [
        "features as they are",
        "shrinkage LDA, tuned",
        "LPP",
        "kernel PCA + shrinkage LDA, tuned",
        "KernelLPP",
        "MMC",
    ]
    scores = [
        [
            name,
            *(
                " / ".join(number(found.mean("supervised", s, (name, size))) for size in (400, 1500))
                for s in columns_
                if found.has("supervised", s)
            ),
        ]
        for name in sets
    ]
    return {
        "bars": table(["", "rows", ONE, MAP, f"worst sets ({ONE}, ± over splits)"], rows),
        "scores": table(["", *(s for s in columns_ if found.has("supervised", s))], scores),
    }


def lengths(found: Results) -> dict[str, str]:
    rows = []
    for length in [*LENGTHS][1:]:
        linear = f"class graph, rule, ridge 0.3, {length}"
        kernel = f"kernel class graph, gamma 0.25, ridge 0.03, {length}"
        rows.append(
            [
                length,
                *(found.line("supervised", linear, "class graph, rule, ridge 0.3", 400, q) for q in (ONE, MAP)),
                *(
                    found.line("supervised", kernel, "kernel class graph, gamma 0.25, ridge 0.03", 400, q)
                    for q in (ONE, MAP)
                ),
            ]
        )
    constraint = found.differences("neighbours", "truncation, constraint", "truncation, unit")
    retrieval = found.differences("neighbours", "truncation, constraint", "truncation, unit", quantity=MAP)
    shares = {c: found.found["neighbours", "spectrum"][c] for c in constraint if found.has("neighbours", "spectrum")}
    by_set = [
        [c[0], f"{constraint[c]:+.1f}", f"{retrieval[c]:+.1f}", *(_spectrum(shares[c]) if c in shares else ("", ""))]
        for c in sorted(constraint, key=lambda c: -constraint[c])
    ]
    head = ["", *(f"{m}, {q}" for m in ("LPP", "KernelLPP") for q in (ONE, MAP))]
    return {
        "lengths": table(head, rows),
        "light": "; ".join(LIGHT),
        "constraint": table(["", f"constraint − unit, {ONE}", MAP, "three largest", "for 98 %"], by_set),
        "constraint rule": _rule(constraint, retrieval, shares),
    }


def narrow(found: Results) -> dict[str, str]:
    """Tables of few columns, those that are principal components apart."""

    def line(setting: str, rival: str, principal: bool) -> str:
        differences = found.differences("narrow", setting, rival)
        return paired(v for c, v in differences.items() if ("PCA" in c[0]) == principal)

    rival = "shrinkage LDA, tuned"
    head = ["", "tables − shrinkage LDA, tuned", "principal components − shrinkage LDA, tuned"]
    settings = [s for s in NARROW if s != rival]
    return {"narrow": table(head, [(s, line(s, rival, False), line(s, rival, True)) for s in settings])}


def _spectrum(splits: Mapping[int, Mapping[str, float]]) -> tuple[str, str]:
    three, many = (np.mean([v[name] for v in splits.values()]) for name in ("three", "98 %"))
    return f"{three:.2f}", f"{many:.0f}"


def _rule(one: Mapping[Condition, float], retrieval: Mapping[Condition, float], shares: Mapping[Condition, Any]) -> str:
    """Leave-one-set-out choice of the two thresholds."""
    if len(shares) < 3:
        return ""
    mean = {c: [np.mean([v[name] for v in s.values()]) for name in ("three", "98 %")] for c, s in shares.items()}
    grid = [(a, b) for a in (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7) for b in (10, 20, 40, 60, 100)]

    def fires(condition: Condition, thresholds: tuple[float, int]) -> bool:
        return mean[condition][0] > thresholds[0] and mean[condition][1] > thresholds[1]

    def gain(thresholds: tuple[float, int], left_out: Condition | None = None) -> float:
        return sum(one[c] for c in mean if c != left_out and fires(c, thresholds))

    held_out = {}
    for c in mean:
        best = max(gain(g, c) for g in grid)
        middle = [g for g in grid if gain(g, c) == best]  # the middle of all pairs that do equally well
        held_out[c] = fires(c, middle[len(middle) // 2])
    values = [one[c] * held_out[c] for c in mean]
    precision = [retrieval[c] * held_out[c] for c in mean]
    names = ", ".join(c[0] for c in mean if held_out[c])
    return (
        f"A rule with two thresholds, chosen on all sets but one, takes the constraint's lengths on {names or 'no set'}: "
        f"{paired(values)} in 1-NN, {paired(precision)} in mAP over unit lengths everywhere."
    )


def neighbours(found: Results) -> dict[str, str]:
    left_out = ("truncation, unit", "spectrum", "LPP")
    names = [s for s in STUDIES["neighbours"].settings if s not in left_out]
    others = {s: s for s in names if not s.startswith("all labels")}
    alone, *labelled = [s for s in names if s.startswith("all labels")]
    known = [
        [s.removeprefix("all labels, "), *(found.line("neighbours", s, alone, 400, q) for q in (ONE, MAP))]
        for s in labelled
    ]
    half, whole = "kernel, gamma by spread / 50", "kernel, gamma 1"
    return {
        "neighbours": against(found, "neighbours", others, "truncation, unit", (400,)),
        "gamma": found.line("neighbours", half, whole, 400),
        "gamma, mAP": found.line("neighbours", half, whole, 400, MAP),
        "all labels": table(["", f"{ONE} − classes alone", f"{MAP} − classes alone"], known),
        "kernel ridge": found.line("neighbours", "kernel, gamma 0.5, ridge 0.03", "kernel, gamma 0.5", 400),
    }


def sums(found: Results) -> dict[str, str]:
    base = "SVC, tuned"
    rows = sorted(
        ([s, number(found.overall("few", s)), found.line("few", s, base)] for s in FEW if found.has("few", s)),
        key=lambda row: -float(row[1] or "nan"),
    )
    conditions = str(len(found.conditions("few", base)))
    return {"sums": table(["", ONE, "− SVC on the labelled rows"], rows), "conditions": conditions}


def columns(found: Results) -> dict[str, str]:
    names = [c[0] for c in found.conditions("units", "ratio")]
    hows = ("as they are", "by the rule", "always divided")
    rows = []
    for name in names:
        condition = (name, 400)
        cells = [
            " / ".join(number(found.mean("units", f"{method}, {how}", condition)) for how in hows)
            for method in UNIT_METHODS
        ]
        rows.append([name, f"{found.mean('units', 'ratio', condition, 'ratio'):.1f}", *cells])
    return {"columns": table(["", "ratio", *UNIT_METHODS], rows)}


def clusters(found: Results) -> dict[str, str]:
    names = list(STUDIES["clusters"].settings)
    sets = [c[0] for c in found.conditions("clusters", names[0])]
    rows = [[s, *(number(found.mean("clusters", n, (s, 800), "NMI")) for n in names)] for s in sets]
    rows.append(["mean", *(number(found.overall("clusters", n, 800, "NMI")) for n in names)])
    gain = found.line("clusters", "rows of unit length", "rows as they are", 800, "NMI")
    return {"clusters": table(["", *names], rows), "unit rows": gain}


def robust(found: Results) -> dict[str, str]:
    cases = list(dict.fromkeys(name.split(", ", 1)[1] for name in STUDIES["robust"].settings))
    rows = [
        [
            case,
            *(
                f"{found.mean('robust', f'{how}, {case}', ('iris', 400), 'radians'):.3f}"
                for how in ("PCA", "mean", "median")
            ),
        ]
        for case in cases
        if found.has("robust", f"PCA, {case}")
    ]
    return {"robust": table(["", "PCA", "mean", "median"], rows)}


def truncation(found: Results) -> dict[str, str]:
    sets = [c[0] for c in found.conditions("truncation", "LPP, auto")]
    rows = []
    for method in OTHERS:
        cells, gaps = [], []
        for name in sets:
            scores = {e: found.mean("truncation", f"{method}, {e}", (name, 400)) for e in ENERGIES if e != "auto"}
            known = {e: v for e, v in scores.items() if not np.isnan(v)}
            best = max(known, key=known.__getitem__)
            own = found.mean("truncation", f"{method}, auto", (name, 400))
            gaps.append(known[best] - own)
            cells.append(f"{own:.1f} ({known[best]:.1f} at {best})")
        rows.append([method, *cells, f"{max(gaps):+.1f}" if gaps else ""])
    return {"truncation": table(["method", *sets, "worst gap"], rows)}
