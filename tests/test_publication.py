"""What is published beside the code: its metadata agree, and workflows call what there is."""

import re
import tomllib
from pathlib import Path

import pytest
import release

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
BIB = (ROOT / "docs" / "paper.bib").read_text()


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def test_one_version():
    assert CITATION["version"] == PROJECT["version"]
    assert tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text())["project"]["version"] == PROJECT["version"]
    assert yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())["context"]["version"] == PROJECT["version"]
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]


def test_the_five_papers_are_cited():
    titles = {reference["title"].lower() for reference in CITATION["references"]}
    assert len(titles) == 5
    pages = (ROOT / "docs" / "methods.md").read_text().lower().replace("\n", " ")
    assert all(title in pages for title in titles)
    assert all(title in BIB.lower().replace("{", "").replace("}", "") for title in titles)


def test_the_paper_cites_what_its_bibliography_has():
    text = (ROOT / "docs" / "paper.md").read_text()
    assert set(re.findall(r"@(\w+)", text)) == set(re.findall(r"^@\w+\{(\w+),", BIB, re.M))


def test_workflows():
    assert set(WORKFLOWS) == {"ci", "release"}
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert job["timeout-minutes"] <= 120


def test_workflows_call_what_there_is():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    called = [command for workflow in WORKFLOWS.values() for command in commands(workflow)]
    made = {words[-1] for words in map(str.split, called) if words[0] == "make"}
    assert made == {"dist", "test-oldest"}
    assert made <= targets
    assert ".ci/run" in called


def test_the_matrix():
    matrix = WORKFLOWS["ci"]["jobs"]["newest"]["strategy"]["matrix"]
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"][0] == PROJECT["requires-python"].removeprefix(">=")
    tried = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)}
    assert tried <= set(matrix["python"])


def test_the_release_needs_no_secret():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "secrets." not in text
    publish = WORKFLOWS["release"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "build"


def test_actions_are_pinned_by_hash():
    used = [
        step["uses"]
        for flow in WORKFLOWS.values()
        for job in flow["jobs"].values()
        for step in job["steps"]
        if "uses" in step
    ]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used), used


def test_a_release_writes_the_version_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    for name in release.PLACES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    release.write_version("7.8.9", "2031-02-03")
    for name, pattern in release.PLACES.items():
        before, after = ((folder / name).read_text().splitlines() for folder in (ROOT, tmp_path))
        (changed,) = (line for line, old in zip(after, before, strict=True) if line != old)
        assert re.search(pattern, changed)[1] == ("7.8.9 (2031-02-03)" if name == "CHANGELOG.md" else "7.8.9")


@pytest.mark.parametrize("version", ["", "v1.0.0", "1.0", "1.0.0 "])
def test_what_is_no_version_is_not_released(version):
    with pytest.raises(SystemExit, match=r"must be a version, as in make release VERSION=0\.1\.0"):
        release.main(version)


def test_make_calls_files_that_are_there():
    for path in re.findall(r"(?:tests|benchmarks)/\w+\.py", (ROOT / "Makefile").read_text()):
        assert (ROOT / path).is_file(), path


def test_integrations_are_run_and_bring_no_packages_for_graphics_cards():
    assert "make integrations" in (ROOT / ".ci" / "run").read_text().splitlines()
    lists = sorted((ROOT / "integrations").glob("*/requirements.txt"))
    assert lists
    for path in lists:
        asked = re.findall(r"^[^\s#]+", path.read_text(), re.M)
        assert any(not script.name.startswith("_") for script in path.parent.glob("*.py")), path
        assert "torch==2.13.0" in asked or not {"torch", "sentence-transformers"} & set(asked), path
