"""The neighbour search: one search with one rule for ties, over all rows, a sample of them, or rows in blocks."""

from ._blocks import BlockRows, ClassRows, require_room
from ._choice import TIE, choose
from ._device_rows import DeviceClassRows, DeviceRows, nearest_there
from ._find import NoPlaceError, distances_among, find, find_fitted, within
from ._nearest import Nearest
from ._products import Threads
from ._requests import AMONG, Edges, Search, is_exact, is_named, require_features, require_samplable
from ._spaces import is_euclidean

__all__ = [
    "AMONG",
    "TIE",
    "BlockRows",
    "ClassRows",
    "DeviceClassRows",
    "DeviceRows",
    "Edges",
    "Nearest",
    "NoPlaceError",
    "Search",
    "Threads",
    "choose",
    "distances_among",
    "find",
    "find_fitted",
    "is_euclidean",
    "is_exact",
    "is_named",
    "nearest_there",
    "require_features",
    "require_room",
    "require_samplable",
    "within",
]
