"""Sizes at which the library goes another way, lowered so that small data go that way too. Tests name them here alone."""

from lapwing import maps, neighbors, search, solvers
from lapwing._validation import BLOCK_BYTES
from lapwing.data import Data

__all__ = ["BLOCK_BYTES"]  # bytes of a block of rows that is computed with at a time
bound, threads = neighbors.bound, search.threads  # how far off a rounded length is, and how many threads there are


def block_bytes(monkeypatch, size):
    """Blocks of rows that are computed with at a time have so many bytes."""
    for module in ("_validation", "data"):
        monkeypatch.setattr(f"lapwing.{module}.BLOCK_BYTES", size)


def large_from(monkeypatch, side):
    """Sparse rows with more rows and columns than this are never multiplied out, however few of their entries are 0."""
    words_below(monkeypatch, 1.1)
    monkeypatch.setattr("lapwing.data.LARGE_SIDE", side)
    monkeypatch.setattr("lapwing.maps.LANCZOS_ROWS", min(side, 500))


def products_from(monkeypatch, side):
    """Forms of as many rows and columns are found by products with words, if that costs less."""
    monkeypatch.setattr("lapwing.auto.PRODUCT_SIDE", side)


def sampled_from(monkeypatch, many, sampled):
    """Default graphs of more than ``many`` rows search for the neighbours of ``sampled`` rows."""
    monkeypatch.setattr("lapwing.reducers.base.MANY_ROWS", many)
    monkeypatch.setattr("lapwing.reducers.base.SAMPLED_ROWS", sampled)


def copies_from(monkeypatch, rows):
    """Among so many rows or more, equal rows are searched for once."""
    monkeypatch.setattr("lapwing.neighbors.COPIES_ROWS", rows)


def sizes_searched_for_copies(monkeypatch):
    """A list to which each search for equal rows adds how many rows it reads."""
    seen, equal_rows = [], neighbors.equal_rows
    monkeypatch.setattr(neighbors, "equal_rows", lambda data, rows: seen.append(rows.size) or equal_rows(data, rows))
    return seen


def dense_forms(monkeypatch):
    """A list to which each dense form of a matrix over rows adds the number of rows."""
    seen, form = [], Data.form
    monkeypatch.setattr(Data, "form", lambda data, *rest: seen.append(data.n) or form(data, *rest))
    return seen


def sizes_searched_for(monkeypatch):
    """A list to which each search for candidates adds how many rows it is for."""
    seen, candidates = [], Data.candidates
    monkeypatch.setattr(
        Data,
        "candidates",
        lambda self, queries, *rest: seen.append(queries.size) or candidates(self, queries, *rest),
    )
    return seen


def directions_by_lanczos(monkeypatch):
    """A list to which each search for principal directions by Lanczos adds the number of rows."""
    seen, found = [], maps._by_lanczos
    monkeypatch.setattr(maps, "_by_lanczos", lambda data, *rest: seen.append(data.n) or found(data, *rest))
    return seen


def kernels_decomposed(monkeypatch):
    """A list to which each search for some directions of a kernel matrix adds the number of rows, and that of directions."""
    seen, eigh = [], maps.eigh

    def decomposed(G, subset_by_index):
        seen.append((len(G), subset_by_index[1] - subset_by_index[0] + 1))
        return eigh(G, subset_by_index=subset_by_index)

    monkeypatch.setattr(maps, "eigh", decomposed)
    return seen


def solved(monkeypatch):
    """A list to which each eigenproblem that a solver makes of another adds its number of rows."""
    seen, solve = [], solvers.solve
    monkeypatch.setattr(solvers, "solve", lambda A, *rest: seen.append(len(A)) or solve(A, *rest))
    return seen


def factorised(monkeypatch):
    """A list to which each factorisation of a sparse matrix adds the factors."""
    seen, splu = [], solvers.splu
    monkeypatch.setattr(solvers, "splu", lambda M, **options: seen.append(splu(M, **options)) or seen[-1])
    return seen


def small_classes_to(monkeypatch, rows):
    """Classes of at most so many rows share one search for rows of other classes."""
    monkeypatch.setattr("lapwing.neighbors.SMALL_CLASS", rows)


def small_tiles(monkeypatch):
    """Few rows are searched by tiles of 64 rows."""
    tiles_from(monkeypatch, 1)
    for name, value in {"TILE_ROWS": 64, "MANY_TILES": 2}.items():
        monkeypatch.setattr(f"lapwing.search.{name}", value)


def products_of_tiles(monkeypatch):
    """A list to which each product of two tiles adds its shape."""
    seen, products = [], search.Room.products

    def counted(*given):
        found = products(*given)
        seen.append(found.shape)
        return found

    monkeypatch.setattr(search.Room, "products", counted)
    return seen


def candidates_of_tiles(monkeypatch):
    """A list to which each tile adds how many new candidates it gets, in eights."""
    seen, add = [], search.Found.add
    monkeypatch.setattr(
        search.Found, "add", lambda self, *new, **how: seen.append(new[0].size) or add(self, *new, **how)
    )
    return seen


def measured_in_parts_from(monkeypatch, pairs):
    """Distances of more pairs than this are measured in ten parts."""
    for name, value in {"data.LONG_LIST": pairs, "search.PART_OF_LIST": pairs // 10}.items():
        monkeypatch.setattr(f"lapwing.{name}", value)


def tiles_from(monkeypatch, pairs):
    """From so many pairs of rows on, neighbours are searched by tiles."""
    monkeypatch.setattr("lapwing.data.TILED_PAIRS", pairs)


# All sizes at which a fit in memory goes another way.
SIZES = (
    "auto.PRODUCT_SIDE",
    "auto.NEIGHBOR_SIDE",
    "data.LARGE_SIDE",
    "data.GRAM_ROWS",
    "data.TILED_PAIRS",
    "maps.LARGE_GRAM",
    "maps.LANCZOS_ROWS",
    "maps.FEW_SIDE",
    "neighbors.COPIES_ROWS",
    "solvers.FEW_ROWS",
    "solvers.MANY_ROWS",
)


def other_way_from(monkeypatch, size, value):
    """A fit goes the other way of this one of ``SIZES`` from so many rows, columns or pairs on."""
    monkeypatch.setattr(f"lapwing.{size}", value)
    if size.startswith("auto."):  # whatever a dense matrix costs
        monkeypatch.setattr(f"lapwing.{size.replace('SIDE', 'COST')}", 0)


def words_below(monkeypatch, share):
    """Rows count as words where fewer entries than this share are not 0."""
    for module in ("auto", "data"):
        monkeypatch.setattr(f"lapwing.{module}.WORD_SHARE", share)


def no_forms_of_tensors(monkeypatch):
    """Tensors have no forms, so that only sums over them serve a fit."""
    monkeypatch.setattr("lapwing.device.TorchData.form", None)


def listed_up_to(monkeypatch, links):
    """Graphs of rows that share places or targets list up to so many links per row."""
    monkeypatch.setattr("lapwing.graphs.given.LISTED_LINKS", links)


def small_blocks(monkeypatch, size=4096):
    """Rows in blocks are read in blocks of so many bytes."""
    monkeypatch.setattr("lapwing.blocks.BLOCK_BYTES", size)


def little_memory(monkeypatch, size):
    """Rows on disk that take more bytes than this are not loaded."""
    monkeypatch.setattr("lapwing.blocks.working_memory", lambda: size)
    monkeypatch.setattr("lapwing.blocks.HELD_SHARE", 1e9)


def screened(monkeypatch):
    """Few rows on a device are screened as many are."""
    monkeypatch.setattr("lapwing.device.FEW_ROWS", 10)
    monkeypatch.setattr("lapwing.device_search.TRIED_QUERIES", 16)
    monkeypatch.setattr("lapwing.device_search.GROUP_ROWS", ((1 << 60, 2),))
