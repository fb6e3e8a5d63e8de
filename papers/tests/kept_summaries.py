"""The kept results of all papers: read and judged once for all tests of a process, since that takes seconds."""

from functools import cache

from lapwing_papers.experiments import collected, experiments


@cache
def kept_summaries():
    """What was measured and comes with lapwing_papers."""
    return collected(experiments().values(), kept=True)


def collected_once(declared, folder=None, *, kept=False):
    """``collected`` for programs that ask for what is kept of all papers, and have no run of their own."""
    declared = list(declared)
    everything = kept and [e.name for e in declared] == list(experiments())
    return kept_summaries() if everything else collected(declared, folder, kept=kept)
