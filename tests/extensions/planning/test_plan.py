"""`tfaudit plan`: from guesses, and from a pilot study of populations or of single models."""

from pathlib import Path

import pytest

from tests.builders.studies import WRITERS, make_study


@pytest.fixture
def run(tfaudit):
    """`run(...)` returns what `tfaudit plan` prints."""

    def plan(*words):
        code, text, errors = tfaudit("plan", *words)
        assert (code, errors) == (0, "")
        return text

    return plan


def rows(text):
    """Cells of the table, by number of members."""
    table = text.split("───\n")[1].split("\n\n")[0]
    return {line.split()[0]: line.split()[1:] for line in table.splitlines()}


def test_guesses(run):
    asked = ("--members", 2, "--members", 10, "--images", 200)
    text = run("--paired", "--flips", 0.03, *asked, "--classes", 5, "--max-worst-class-drop", 4)
    words = "drop of worst class at most 4 pp; 5 classes, paired members, by guesses."
    assert words in " ".join(text.split())
    assert set(rows(text)) == {"2", "10"}
    first = " ".join(text.split("\n\n")[0].split())
    assert first.startswith("With 10 members on each side and ")
    assert first.endswith(" examples of each class, 4 of 5 models that lose nothing pass the gate.")
    assert int(rows(text)["2"][0]) < 5
    assert 100 < int(rows(text)["10"][-1]) < 1000
    text = run("--paired", "--flips", 0.03, "--half-width", 3, *asked)
    widths = text.split("Half-width")[1]
    assert int(rows(widths)["10"][-1]) < 200


def test_named_groups_have_a_plan_of_their_own(tmp_path, run, tfaudit, refused):
    asked = ("--paired", "--flips", 0.03, "--members", 10, "--images", 200, "--groups", 3)
    text = run(*asked, "--max-group-drop", "sex=2,skin=4")
    plans = text.split("Studies in which")
    assert "drop of worst group at most 2 pp; 3 groups of sex, paired" in " ".join(plans[1].split())
    assert "drop of worst group at most 4 pp; 3 groups of skin" in " ".join(plans[2].split())
    assert "class" not in text
    sex, skin = (int(rows(plan)["10"][-1]) for plan in plans[1:])
    assert skin < sex < 16 * skin
    flips = run(*asked, "--max-group-drop", 2, "--max-flips", 0.1)
    assert "Not simulated: flips." in flips
    assert "each class" not in flips
    both = run(*asked, "--max-worst-class-drop", 5, "--max-group-drop", 2)
    assert "examples of each class, 4 of 5" in " ".join(both.split())
    assert "examples of each group, 4 of 5" in " ".join(both.split())
    make_study(tmp_path / "study", groups=WRITERS)
    text = run("study", "--variant", "int8", "--max-group-drop", 60, "--members", 30)
    assert f"{WRITERS['series'].nunique()} groups of series, paired" in " ".join(text.split())
    assert "examples of each group of series, 4 of 5 models" in " ".join(text.split())
    make_study(tmp_path / "none")
    refused(tfaudit("plan", "none", "--max-group-drop", 3), "pilot: got a study without named")


def test_a_pilot_of_populations_and_of_single_models(tmp_path, run, tfaudit, refused):
    make_study(tmp_path / "study")
    asked = ("--max-overall-drop", 30, "--max-worst-class-drop", 60)
    text = run("study", "--variant", "int8", "--class", "dog & co", "--half-width", 9, *asked)
    assert "paired members, by fixed-point int8" in " ".join(text.split())
    assert "of the change of dog & co, points" in " ".join(text.split())
    assert len(rows(text)) == 6
    assert rows(text)["30"][-2] == "to"  # the interval of the promise
    make_study(tmp_path / "single", members=1)
    text = run("single", *asked)
    assert list(rows(text)) == ["1"]
    assert "about these two models alone" in " ".join(text.split())
    words = "--class: got 'owl', expected a class of the study"
    refused(tfaudit("plan", "study", "--class", "owl"), words)
    refused(tfaudit("plan", "study", "--variant", "int4"), "variant: got 'int4', expected")


@pytest.mark.slow
def test_the_documentation_prints_what_is_printed(run):
    page = (Path(__file__).parents[3] / "docs/shipping.md").read_text()
    block = page.split("    tfaudit plan --paired --flips .03\n\n")[1].split("\n\nWith ")[0]
    shown = run("--paired", "--flips", 0.03)
    assert block.split() == shown.split()
