"""`tfaudit plan`: from guesses, and from a pilot study of populations or of single models."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.builders.studies import make_study
from tfaudit.cli.console import app
from tfaudit.errors import InputError


def run(*words):
    done = CliRunner().invoke(app, ["plan", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def rows(text):
    """Cells of the table, by number of members."""
    table = text.split("───\n")[1].split("\n\n")[0]
    return {line.split()[0]: line.split()[1:] for line in table.splitlines()}


def test_guesses():
    text = run(
        "--paired",
        "--flips",
        0.03,
        "--half-width",
        3,
        "--members",
        2,
        "--members",
        10,
        "--images",
        200,
    )
    assert "paired members, by guesses." in " ".join(text.split())
    assert set(rows(text)) == {"2", "10"}
    assert rows(text)["2"][-1] == "none"
    assert int(rows(text)["10"][-1]) < 200
    assert "the gate passes a class that loses nothing at a limit of 4.3 points" in " ".join(
        text.split()
    )


def test_a_pilot_of_populations_and_of_single_models(tmp_path):
    make_study(tmp_path / "study")
    text = run(tmp_path / "study", "--variant", "int8", "--class", "dog & co")
    assert "paired members, by fixed-point int8" in " ".join(text.split())
    assert len(rows(text)) == 6
    make_study(tmp_path / "single", members=1)
    text = run(tmp_path / "single")
    assert list(rows(text)) == ["1"]
    assert "holds for these two models alone" in " ".join(text.split())
    with pytest.raises(InputError, match="class_name: got 'owl', expected a class of the study"):
        run(tmp_path / "study", "--class", "owl")
    with pytest.raises(InputError, match="variant: got 'int4', expected"):
        run(tmp_path / "study", "--variant", "int4")


def test_the_documentation_prints_what_is_printed():
    page = (Path(__file__).parents[2] / "docs/shipping.md").read_text()
    block = page.split("    tfaudit plan --paired --flips .03 --half-width 3\n\n")[1].split(
        "\n\n`images"
    )[0]
    shown = run("--paired", "--flips", 0.03, "--half-width", 3)
    assert block.split() == shown.split()
