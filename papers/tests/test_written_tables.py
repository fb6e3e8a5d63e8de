"""The tables in the pages: what stands there is what the classes declare and what the kept results say."""

import runpy
from pathlib import Path

import guide
import pytest
from kept_summaries import collected_once

from lapwing_papers.experiments import Summary, Task

ROOT = Path(__file__).parents[2]
TABLES = runpy.run_path(str(ROOT / "docs" / "tables.py"))
TABLES["written"].__globals__["collected"] = collected_once


@pytest.mark.parametrize("page", TABLES["PAGES"])
def test_pages_are_up_to_date(page):
    found, expected = TABLES["written"](page)
    assert found == expected, f"{page} is stale; write it again: python docs/tables.py"


def made_up(task, scores):
    """Every method of the task, the later the better, on two sets and two splits."""
    experiment = guide.experiments()[f"guide-{task}"]
    methods = list(TABLES["rows"].__globals__["RIVALS"][experiment.name])
    results = {
        Task(condition, seed): {
            method: dict.fromkeys(scores, 50.0 + number + seed) for number, method in enumerate(methods)
        }
        for condition in [*experiment.conditions][:2]
        for seed in (0, 1)
    }
    return Summary(experiment, results)


@pytest.fixture
def copy(tmp_path):
    """docs/tables.py over pages of its own, with results of two tasks."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tables.py").write_text((ROOT / "docs" / "tables.py").read_text("utf-8"), "utf-8")
    for page in TABLES["TABLES"]:
        marks = [".. written by docs/tables.py", ".. end of docs/tables.py"] if page.endswith("rst") else None
        marks = marks or ["<!-- written by docs/tables.py -->", "<!-- end of docs/tables.py -->"]
        (tmp_path / page).write_text("before\n\n" + "\nstale\n".join(marks) + "\n\nafter\n")
    compared = "<!-- comparison: {}written by docs/tables.py -->\n<!-- end of comparison -->\n"
    tasks = ("labelled, ", "few-labels, ", "unseen, ", "new-sets, ")
    (tmp_path / "docs" / "comparison.md").write_text("\nbetween\n".join(compared.format(task) for task in tasks))
    (tmp_path / "README.md").write_text(compared.format(""))
    for part, page in (("speed", "speed"), ("few", "measured-tasks")):
        marks = f"<!-- measured: {part}, written by docs/tables.py -->\n<!-- end of measured -->\n"
        (tmp_path / "docs" / f"{page}.md").write_text(marks)
    for page, sentence, _ in TABLES["QUOTED"]:
        with (tmp_path / page).open("a") as file:
            file.write(sentence.replace("{}", "0.0").replace(" and ", "\nand ") + "\n")
    module = runpy.run_path(str(tmp_path / "docs" / "tables.py"))
    known = {"labelled": made_up("labelled", ("accuracy", "mAP")), "unseen": made_up("unseen", ("mAP",))}
    of_papers = ["58", "1,000", "700", "200", "50", "50"]
    module["written"].__globals__.update(summaries=lambda: known, draw=lambda: None, of_papers=lambda: of_papers)
    return module, tmp_path


def test_a_stale_page_is_noticed_and_mended(copy):
    module, folder = copy
    for page in module["PAGES"]:
        found, expected = module["written"](page)
        assert found != expected, page
    module["main"]([])
    for page in module["PAGES"]:
        found, expected = module["written"](page)
        assert found == expected, page
    assert "| `LPP` |" in (folder / "docs" / "methods.md").read_text()
    assert "before" in (folder / "docs" / "methods.md").read_text()


def test_tables_of_a_task(copy):
    module, folder = copy
    module["main"]([])
    page = (folder / "docs" / "comparison.md").read_text()
    assert "| SVC, tuned | yes | 70.5 | the strongest rival |" in page
    assert "| **LPP, as it comes** | yes |" in page
    assert page.count("between") == 3
    assert "of other classes" in page
    few = page[page.index("few-labels") : page.index("unseen, ")]
    assert "|" not in few  # nothing is known of it


def test_defaults_beside_their_tuned_counterparts(copy):
    module, folder = copy
    module["main"]([])
    page = (folder / "docs" / "comparison.md").read_text()
    line = "| all labels | accuracy | LPP, as it comes − shrinkage LDA, tuned | +5.0 ± 0.0 (2) |"
    assert line in page


def test_one_line_per_task_beside_the_strongest_rival(copy):
    module, folder = copy
    module["main"]([])
    page = (folder / "README.md").read_text()
    line = "| all labels: accuracy | LPP, as it comes: 58.5 | SVC, tuned: 70.5 | -12.0 ± 0.0 (2) |  |"
    assert line in page


def test_numbers_within_a_sentence_are_those_of_the_results(copy):
    module, folder = copy
    module["main"]([])
    page = (folder / "docs" / "guide.md").read_text()
    assert page == "the {term}`mean average precision` is 59.5 %,\nand 58.5 % with the linear map\n"
    (folder / "docs" / "guide.md").write_text(page * 2)
    with pytest.raises(ValueError, match=r"guide\.md has 2 sentences like"):
        module["written"]("docs/guide.md")


def test_a_page_must_have_its_place(copy):
    module, folder = copy
    (folder / "docs" / "methods.md").write_text("no table")
    with pytest.raises(ValueError, match=r"methods\.md has 0 places"):
        module["written"]("docs/methods.md")
