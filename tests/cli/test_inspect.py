"""``lapwing inspect`` says what is in every kind of model."""

import json

import model_pipelines as p
import numpy as np
import pytest
from model_files import DEFAULT, SPECIAL, X, Y, named
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from lapwing import LPP
from lapwing.persistence import save

pytest.importorskip("typer")
from typer.testing import CliRunner

from lapwing.cli._app import app

MODELS = [
    *((model, X, Y) for model in DEFAULT + SPECIAL),
    *((model, p.data_for(model)[0], p.Y) for model in p.NUMERIC + p.FINAL + p.KEPT_ONLY),
    (p.by_kind(), p.MIXED, None),
    (OneHotEncoder(sparse_output=False), p.MIXED[:, 6:7], None),
    (Pipeline([("nothing", "passthrough"), ("lpp", LPP(2))]), X, Y),
    (Pipeline([("scaler", StandardScaler()), ("nothing", None)]), X, Y),
    (Pipeline([("lpp", LPP(2)), ("nothing", "passthrough")]), X, Y),
]


@pytest.mark.filterwarnings("ignore:the repulsion graph is empty:UserWarning")
@pytest.mark.parametrize(("model", "rows", "y"), MODELS, ids=named)
def test_every_model(model, rows, y, tmp_path):
    fitted = clone(model).fit(rows, y)
    save(fitted, tmp_path / "model")
    shown, facts = (CliRunner().invoke(app, ["inspect", str(tmp_path / "model"), *more]) for more in ([], ["--json"]))
    assert (shown.exit_code, facts.exit_code) == (0, 0), shown.output + facts.output
    facts = json.loads(facts.stdout)
    assert facts["method"] in shown.stdout
    assert facts["features"] == rows.shape[1]
    if hasattr(fitted, "transform"):
        assert facts["outputs"] == fitted.transform(rows)[0].size
    if facts["method"] == "TSA":
        modes = [P.tolist() for P in fitted.eigenvalues_]
        assert facts["eigenvalues"] == modes
        assert "; ".join(", ".join(f"{value:.4g}" for value in mode) for mode in modes) in shown.stdout


def test_steps_that_do_not_know_the_names_of_their_columns(tmp_path):
    model = make_pipeline(FunctionTransformer(), LPP(2)).fit(X)
    save(model, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    given, output = [str(tmp_path / "model"), str(tmp_path / "X.npy")], tmp_path / "Z.csv"
    done = CliRunner().invoke(app, ["transform", *given, "-o", str(output)])
    assert done.exit_code == 0, done.output
    assert "40 rows (" in done.output
    assert output.read_text().splitlines()[0] == "column 0,column 1"
    np.testing.assert_allclose(np.loadtxt(output, delimiter=",", skiprows=1), model.transform(X))
    shown = CliRunner().invoke(app, ["inspect", given[0], "--json"])
    assert json.loads(shown.stdout)["outputs"] is None
    assert CliRunner().invoke(app, ["inspect", given[0]]).exit_code == 0


def test_damaged_files_are_refused_in_one_line(file):
    """Never by an internal error, whichever byte of the header is hit."""
    data, rng = file.read_bytes(), np.random.RandomState(0)
    for place in [*range(10), *rng.randint(0, 1000, 20)]:
        for byte in (0, 0xFF, ord("["), data[place] ^ 1):
            file.write_bytes(data[:place] + bytes([byte]) + data[place + 1 :])
            done = CliRunner().invoke(app, ["inspect", str(file)])
            if done.exit_code == 0:
                continue  # what was hit means nothing
            assert done.exit_code == 1
            [line] = done.stderr.splitlines()
            assert line.startswith("lapwing: ")
            assert str(file) in line
            assert "internal error" not in line
