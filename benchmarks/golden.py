"""Records what the library does today, so that a later change shows.

    python benchmarks/golden.py                        record the cases that have no recording yet; nothing is written over
    python benchmarks/golden.py --case NAME ...        record these anew, after an intended change; * stands for any text
    python benchmarks/golden.py --check                run all cases, and say which differ from what is recorded
    python benchmarks/golden.py --list                 print the names of all cases

The cases are tables in ``tests/golden_tables.py`` and programs in ``tests/golden_tools.py``, and ``tests/golden_compare.py`` says
when two results are the same. What was recorded is in ``tests/golden``: numbers and words of the cases as ``.npz``, and as
``.json`` the signatures of public names and what twelve commands do, whose entries are called ``signature LPP`` and ``command
fit``. ``tests/test_golden.py`` compares.

A result that changes on purpose is recorded anew by its name, and ``tests/golden/changes.md`` gets a heading with that name and
the reason below it. ``tests/golden/first.json`` holds a hash of the first recording of each case. A test checks that the cases
which differ from it are exactly those that ``changes.md`` lists, so that nothing changes silently.

Recording needs torch==2.13.0, so that no case is left out, and the extras of ``dev``. Set OMP_NUM_THREADS=1 for quick runs; the
results do not depend on it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import golden_surface as surface
from golden_cases import cases
from golden_compare import GOLDEN, Record, differences, first, load, matching, save, with_new
from golden_data import MissingName

TORCH = "2.13.0"


def require_torch() -> None:
    """Stop where the torch that recordings are made with is not installed."""
    try:
        found = version("torch").split("+")[0]
    except PackageNotFoundError:
        found = "none"
    if found != TORCH:
        sys.exit(
            f"recording needs torch=={TORCH}, so that tensors take part in it, and there is {found}: pip install torch=={TORCH}"
        )


def hashes() -> dict[str, str]:
    """The hash of all that is recorded, by name."""
    found = {name: record.digest() for family in families() for name, record in load(family).items()}
    found |= {name: surface.signature_digest(entry) for name, entry in surface.load_signatures().items()}
    return found | {name: record.digest() for name, record in surface.load_commands().items()}


def families() -> list[str]:
    """The files that cases are kept in."""
    return sorted({case.family for case in cases().values()})


def record(wanted: list[str]) -> None:
    """Record cases that are named, or those that have no recording."""
    require_torch()
    with tempfile.TemporaryDirectory() as folder:
        commands, signatures = surface.commands(Path(folder)), surface.signatures()
    known = [*cases(), *commands, *signatures]
    chosen = {name for pattern in wanted for name in matching(pattern, known)}
    for pattern in wanted:
        if not matching(pattern, known):
            sys.exit(f"there is no case {pattern!r}; --list prints the names")
    written, kept_before, before = [], hashes(), first()

    def renew(kept: dict[str, Any], fresh: Any) -> dict[str, Any]:
        """What is kept, with what is asked for or missing; what is no longer among the cases is left out."""
        names = [name for name in fresh if name in chosen or (not wanted and name not in kept)]
        written.extend(names)
        return {name: kept[name] for name in kept if name in fresh} | {name: fresh[name] for name in names}

    for family in families():
        kept = load(family)
        save(family, renew(kept, Runs({n: c for n, c in cases().items() if c.family == family})))
    surface.save_signatures(renew(surface.load_signatures(), signatures))
    surface.save_commands(renew(surface.load_commands(), commands))
    now = hashes()
    (GOLDEN / "first.json").write_text(json.dumps(with_new(before, kept_before, now), indent=0) + "\n")
    for name in written:
        changed = name in before and now[name] != before[name]
        print(
            f"recorded {name}{'; it differs from its first recording: say why in tests/golden/changes.md' if changed else ''}"
        )
    size = sum(path.stat().st_size for path in GOLDEN.iterdir())
    print(f"{len(written)} recorded; {len(now)} in all, {size / 1e6:.2f} MB")


class Runs(dict):
    """Cases that are run when their record is asked for."""

    def __getitem__(self, name: str) -> Record:
        case = super().__getitem__(name)
        if case.lacks:
            sys.exit(f"{name!r} needs {', '.join(case.lacks)}: pip install -e '.[dev]'")
        return case.run()


def check(wanted: list[str]) -> int:
    """Compare the library with what is recorded; how many cases differ."""
    recorded = {name: found for family in families() for name, found in load(family).items()}
    chosen = [name for name in cases() if not wanted or any(matching(pattern, [name]) for pattern in wanted)]
    passed, failed, missing, start = 0, 0, 0, time.perf_counter()
    for name in chosen:
        case = cases()[name]
        if case.lacks:
            print(f"skipped  {name}: {', '.join(case.lacks)} is not installed")
            continue
        try:
            found = case.run()
        except (MissingName, ModuleNotFoundError) as error:
            missing += 1
            print(f"missing  {name}: {error}")
            continue
        if name not in recorded:
            print(f"new      {name}: it has no recording yet")
            continue
        apart = differences(recorded[name], found, case.tol)
        failed += bool(apart)
        print(f"{'FAILED' if apart else 'passed'}   {name}{': ' + '; '.join(apart) if apart else ''}")
        passed += not apart
    print(f"{passed} passed, {failed} failed, {missing} missing, {time.perf_counter() - start:.1f} s")
    return failed


def main() -> None:
    """Record or compare, as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", default=[], metavar="NAME", help="only these; * stands for any text")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, and write nothing")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    given = parser.parse_args()
    if given.list:
        print("\n".join([*cases(), *surface.signatures(), *(f"command {name}" for name in surface.COMMANDS)]))
    elif given.check:
        sys.exit(1 if check(given.case) else 0)
    else:
        record(given.case)


if __name__ == "__main__":
    main()
