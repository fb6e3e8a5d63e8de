"""What was measured, as tables: means over sets, paired differences, wins and losses."""

from __future__ import annotations

MISSING = "LMNN is missing."


def differences(summary):
    return {}


dots = None
standing = None
