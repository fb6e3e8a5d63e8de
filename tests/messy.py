"""A table as people have it: text, dates, gaps, an identifier, prose, and few positives."""

import csv
from datetime import date, timedelta

import numpy as np

MARKS = ["", "NA", "N/A", "NaN", "null", "?"]
COLUMNS = ("age", "income", "visits", "plan", "region", "device", "signup", "last_seen")


def customers(path, n, comma=False, unknown=0.0, seed=0):
    """Write the table; with ``comma`` as a German spreadsheet does. Returns the path, and how many values are missing."""
    rng = np.random.RandomState(seed)
    churned = rng.rand(n) < 0.15
    start = date(2021, 1, 1)
    rows, gaps = [], 0
    for i in range(n):
        signup = start + timedelta(days=int(rng.randint(0, 900)))
        row = {
            "customer_id": f"C{10_000 + i}",
            "age": int(rng.randint(18, 80)),
            "income": round(float(rng.lognormal(10 - 0.5 * churned[i], 0.4)), 2),
            "visits": int(rng.poisson(3 if churned[i] else 9)),
            "plan": rng.choice(["basic", "plus", "pro"], p=[0.7, 0.2, 0.1] if churned[i] else [0.3, 0.4, 0.3]),
            "region": rng.choice(["north", "south", "east", "west"]),
            "device": rng.choice(["phone", "desktop"]),
            "signup": signup,
            "last_seen": signup + timedelta(days=int(rng.randint(1, 200 if churned[i] else 600))),
            "comment": " ".join(rng.choice(["good", "slow", "support", "price", "again", "never"], 12)) + f" ({i})",
            "churned": "yes" if churned[i] else "no",
        }
        for name in COLUMNS:
            if rng.rand() < 0.02:
                row[name], gaps = str(rng.choice(MARKS)), gaps + 1
        if rng.rand() < unknown:
            row["churned"] = ""
        rows.append({name: _written(value, comma) for name, value in row.items()})
    with open(path, "w", newline="", encoding="utf-8-sig" if comma else "utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";" if comma else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path, gaps


def _written(value, comma):
    if isinstance(value, date):
        return value.strftime("%d.%m.%Y") if comma else value.isoformat()
    return str(value).replace(".", ",") if comma and isinstance(value, float) else str(value)
