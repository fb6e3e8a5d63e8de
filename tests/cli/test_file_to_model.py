"""Six kinds of data as a new user has them, from file to shipped model: each line that is printed is run as it is printed.

The files are not edited. `compare` prints the commands that fit and project; its report holds a program, which must print the
number that stands in the table; the model goes to ONNX and gives the same rows there.
"""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from messy import customers
from sklearn.datasets import load_digits, load_wine
from test_cli import run

from lapwing.persistence import load
from lapwing.tables import Table, read, write

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore::lapwing.comparison.LeakWarning"),  # programs of reports give it again
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def followed(*arguments):
    """Compare, then run every printed command and the program of the report; returns what compare said and its choice."""
    result = run("compare", *arguments, "-j", 1)
    lines = [line for line in result.stderr.splitlines() if line.startswith("  lapwing ")]
    assert [line.split()[1] for line in lines] == ["fit", "transform"]
    for line in lines:
        run(*shlex.split(line)[1:])
    page = Path("report.html").read_text()
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.S)[1])
    program = content["code"][content["choice"]["method"]]
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, names)  # as a user would paste it
    expected = re.search(r"print\(.*# (\d\.\d{4})", program)[1]
    assert printed.getvalue().strip().endswith(expected)
    assert content["choice"]["mean"] == pytest.approx(float(expected), abs=6e-5)
    return result.stderr, content["choice"], names


def exported(*inputs):
    """The model's ONNX on inputs, beside what transform wrote."""
    runtime = pytest.importorskip("onnxruntime")
    said = run("export", "model.lapwing", "-o", "model.onnx").stderr
    session = runtime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = [part.name for part in session.get_inputs()]
    return said, session.run(None, dict(zip(names, inputs, strict=True)))


def test_a_table_of_customers():
    customers("customers.csv", 240, comma=True, unknown=0.05)
    given = Path("customers.csv").read_bytes()
    said, choice, names = followed(
        "customers.csv", "--label", "churned", "--cv", 3, "-m", "lda,lpp-classes,pca", "-d", "1,3"
    )
    assert "3 text columns one-hot encoded, 2 dates as numbers" in said
    assert choice["mean"] > 0.6  # the mean over classes of always "no" is 0.5
    Z = read("projected.csv", label="churned").X
    assert Z.shape == (240, choice["dimension"])
    np.testing.assert_allclose(np.asarray(names["Z"]), Z, atol=1e-9)  # the program learns what fit learns
    said, _ = exported_customers()
    assert 'columns of S: ["plan", "region", "device"]' in said
    assert '"signup": "days since 1970-01-01, NaN where missing"' in said
    assert '"plan": "text, \'\' where missing"' in said
    run("fit", "customers.csv", "--label", "churned", "-m", "lda", "-d", 1, "--predict")
    run("transform", "model.lapwing", "customers.csv", "--label", "churned", "--id", "customer_id", "-o", "p.csv")
    rows = [line.replace('"', "").split(",") for line in Path("p.csv").read_text().splitlines()]
    assert rows[0] == ["customer_id", "churned", "prediction", "probability of yes"]
    assert rows[1][0] == "C10000"
    assert {predicted for _, _, predicted, _ in rows[1:]} == {"no", "yes"}  # never a blank
    assert all((float(share) > 0.5) == (predicted == "yes") for _, _, predicted, share in rows[1:])
    assert Path("customers.csv").read_bytes() == given


def exported_customers():
    table = read("customers.csv", label="churned", mixed=True)
    model = load("model.lapwing")
    typed = model[0].to_frame(table.X)
    text = ["plan", "region", "device"]
    numbers, words = typed.drop(columns=text).to_numpy(np.float32), typed[text].to_numpy(object)
    said, (Y,) = exported(numbers, words)
    np.testing.assert_allclose(Y, model.transform(table.X), atol=1e-2)
    return said, Y


def test_embeddings_with_few_labels():
    """Rows of unknown label train, and a label file beside a matrix means the same as a column."""
    digits = load_digits()
    X = (digits.data @ np.linalg.qr(np.random.RandomState(0).randn(64, 64))[0]).astype(np.float32)[:300]
    y = np.where(np.random.RandomState(1).rand(300) < 0.2, digits.target[:300].astype(str), "")
    ids = np.array([f"doc{i}" for i in range(300)])
    write("e.parquet", [Table(X, y, ids, [f"e{j}" for j in range(64)])], label="topic", id="doc")
    common = ("--cv", 2, "-m", "pca,lpp-classes,lda", "-d", "5,9")
    said, choice, _ = followed("e.parquet", "--label", "topic", "--id", "doc", *common)
    assert f"{(y == '').sum()} unknown" in said
    first = np.array(read("projected.csv", label="topic", id="doc").X)
    assert exported(X)[1][0] == pytest.approx(first, abs=1e-3)
    np.save("e.npy", X)
    Path("topics.txt").write_text("\n".join(y) + "\n")
    _, same, _ = followed("e.npy", "--label", "topics.txt", *common)
    assert same == choice
    np.testing.assert_allclose(read("projected.csv", label="topics.txt").X, first, atol=1e-5)


def test_a_folder_of_images(folder):
    from PIL import Image

    digits = load_digits(n_class=3)
    for i, (image, target) in enumerate(zip(digits.images[:90], digits.target[:90], strict=True)):
        (folder / "digits" / f"digit {target}").mkdir(parents=True, exist_ok=True)
        Image.fromarray((image * 15).astype(np.uint8)).save(folder / "digits" / f"digit {target}" / f"{i}.png")
    said, choice, _ = followed("digits", "--cv", 2, "-m", "pca,mmc,lpp-classes", "-d", "2,5")
    assert "90 rows, 64 features, 3 classes" in said
    assert "standardised" not in said  # pixels have one unit
    assert choice["mean"] > 0.95
    table = read("projected.csv", label="label", id="id")
    assert sorted(set(table.y)) == ["digit 0", "digit 1", "digit 2"]
    assert table.ids[0].endswith(".png")


def test_raw_wine():
    frame = load_wine()
    names = ["cultivar", *frame.feature_names]
    rows = [",".join(map(str, [target + 1, *row])) for target, row in zip(frame.target, frame.data, strict=True)]
    Path("wine.csv").write_text("\n".join([",".join(names), *rows]))
    said, choice, _ = followed("wine.csv", "--label", "cultivar", "--cv", 3, "-m", "pca,lda,lpp-classes,mmc")
    assert "columns standardised" in said
    assert choice["dimension"] == 2
    assert choice["mean"] > 0.95
    Z = read("projected.csv", label="cultivar").X
    assert exported(frame.data.astype(np.float32))[1][0] == pytest.approx(Z, abs=1e-3)
    run("fit", "wine.csv", "--label", "cultivar", "-d", "auto", "--predict")
    run("transform", "model.lapwing", "wine.csv", "-o", "p.csv")
    predicted = np.array([int(line.split(",")[0]) for line in Path("p.csv").read_text().splitlines()[1:]])
    assert (predicted == frame.target + 1).mean() == 1.0
    _, (label, _) = exported(frame.data.astype(np.float32))
    assert (label == predicted).all()


def test_messages_with_labels():
    """A column of sentences is offered by name, and goes through its words into the model and into ONNX."""
    rng = np.random.RandomState(0)
    words = {
        "ham": ["home", "tonight", "call", "me", "train", "late", "thanks", "love", "dinner", "a"],
        "spam": ["win", "a", "free", "prize", "now", "claim", "cash", "reward", "call", "urgent", "offer"],
    }
    kinds = rng.choice(["ham", "spam"], 240, p=[0.7, 0.3])
    texts = [" ".join(rng.choice(words[kind] + words["ham"][:6], 11)).capitalize() + "!" for kind in kinds]
    rows = [f'{kind},"{text}",{len(text)}' for kind, text in zip(kinds, texts, strict=True)]
    Path("messages.csv").write_text("\n".join(["label,message,length", *rows]))
    assert "--text message uses it" in run("fit", "messages.csv", "--label", "label").stderr
    said, choice, _ = followed(
        "messages.csv", "--label", "label", "--text", "message", "--cv", 2, "-m", "pca,lda,lpp-classes", "-d", "1,5"
    )
    assert "1 column of sentences by their words" in said
    assert choice["mean"] > 0.97
    model, table = load("model.lapwing"), read("messages.csv", label="label", mixed=True)
    typed = model[0].to_frame(table.X)
    assert typed["message"][0] == texts[0].lower().replace(" a ", " ").rstrip("!")
    inputs = typed[["length"]].to_numpy(np.float32), typed[["message"]].to_numpy(object)
    said, (Y,) = exported(*inputs)
    np.testing.assert_allclose(Y, read("projected.csv", label="label").X, atol=1e-3)
    assert '"message": "words of two letters or more in lower case, with one blank between them"' in said
    Path("odd.csv").write_text("a,b\n" + "\n".join(f"x{i} y{i},{i}" for i in range(20)))
    assert "'a': no word stands in two rows, so it is no text" in run("fit", "odd.csv", "--text", "a", code=1).stderr


def test_series_as_rows():
    """One series in each row, one moment in each column, of different phase: a bump early or late, or none."""
    rng, t = np.random.RandomState(0), np.linspace(0, 1, 40)
    y = rng.randint(0, 3, 150)
    bumps = np.array([0.25, 0.75, 2.0])[y] + 0.04 * rng.randn(150)
    X = np.exp(-100 * (t - bumps[:, None]) ** 2) + 0.3 * rng.randn(150, 40)
    kinds = np.array(["early", "late", "none"])[y]
    write("series.csv", [Table(X, kinds, feature_names=[f"t{j}" for j in range(40)])], label="kind")
    said, choice, _ = followed("series.csv", "--label", "kind", "--cv", 3, "-m", "pca,lda,lpp-classes", "-d", "1,2")
    assert "150 rows, 40 features, 3 classes" in said
    assert choice["mean"] > 0.9
    assert exported(X.astype(np.float32))[1][0] == pytest.approx(read("projected.csv", label="kind").X, abs=1e-3)


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        ("a,b,y\n1,2,x\n2,1,z\n", ("--label", "why"), "label='why': no such column; it has columns 'a', 'b', 'y'"),
        ("a,b,y\n1,2,\n2,1,\n3,4,\n4,4,\n", ("--label", "y"), "all labels are missing"),
        ("a,b,y\n1,2,x\n2,1,x\n3,4,x\n4,4,x\n", ("--label", "y"), "one class only (x)"),
        ("", (), "the file is empty"),
        ("a,b\n", (), "no rows of data"),
        ("id\n1\n2\n3\n4\n", (), "no column is left to project: 'id' (names the rows)"),
        ("a,a\n1,2\n2,1\n", (), "column 'a' more than once"),
        (
            "a,g,y\n1,p,x\n2,q,z\n3,p,x\n4,q,z\n",
            ("--label", "y", "--group", "g", "--cv", "2"),
            "2 groups or more of each class: 'x' has 1, 'z' has 1",
        ),
        ("a,g,y\n1,p,x\n2,q,z\n3,p,x\n4,q,z\n", ("--label", "y", "--group", "g"), "2 groups or more of each class"),
        ("a,d\n1,2024-01-31\n2,31.01.2024\n", (), "dates are written in more than one way"),
    ],
)
def test_mistakes_are_one_line(content, arguments, said):
    Path("data.csv").write_text(content)
    *_, last = run("compare", "data.csv", *arguments, code=1).stderr.splitlines()
    assert last.startswith("lapwing: ")
    assert said in last


def test_the_label_may_not_divide_the_rows():
    Path("data.csv").write_text("a,y\n1,x\n2,z\n")
    said = run("compare", "data.csv", "--label", "y", "--group", "y", code=2).stderr
    assert "one column divides the rows" in said


def test_minus_one_in_a_file():
    """-1 and 1 are two classes; beside others -1 is unknown, and it is said."""
    rng = np.random.RandomState(0)
    rows = [(rng.randn(3) + side, side) for side in (-1, 1) for _ in range(20)]
    text = "\n".join(["a,b,c,y", *(",".join(map(str, [*x, side])) for x, side in rows)])
    Path("data.csv").write_text(text)
    said, _, names = followed("data.csv", "--label", "y", "--cv", 2, "-m", "pca,lda", "-d", "1")
    assert "labels -1 and 1 are read as two classes, 0 and 1" in said
    assert set(names["y"].tolist()) == {0, 1}
    Path("data.csv").write_text(text + "\n0,0,0,2\n1,1,0,2")
    assert "the label -1 stands for an unknown class" in run("fit", "data.csv", "--label", "y").stderr


def test_quotes_and_lines_in_text():
    cells = ['"he said ""no"", then\nleft"', '"a, b"', "plain"]
    rows = [f"{i},{cells[i % 3]},{'pq'[i % 2]}" for i in range(30)]
    Path("data.csv").write_text("\n".join(["a,note,y", *rows]))
    assert "1 text column one-hot encoded" in run("fit", "data.csv", "--label", "y").stderr
    run("transform", "model.lapwing", "data.csv", "-o", "z.csv")
    assert len(read("z.csv")) == 30
