"""What a fit will take, before it is begun: seconds and memory, from the shape of X alone.

The operations of each part of a fit are counted as the code does them, and divided by how many of their kind this machine
does a second, which is measured once a process. What depends on the data beyond its shape is assumed: see
:func:`estimate_cost`.
"""

from ._cost import Cost, estimate_cost

__all__ = ["Cost", "estimate_cost"]
