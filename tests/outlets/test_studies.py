"""The report of several studies: what it prints and writes, and what it refuses."""

import pytest
from typer.testing import CliRunner

from tests.builders.studies import make_study
from tfaudit.cli import app
from tfaudit.errors import InputError
from tfaudit.study.variants import Pruned

LEVELS = (Pruned(0.5), Pruned(0.9))


@pytest.mark.slow
def test_several_studies_are_compared_and_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "<b>two"):
        make_study(tmp_path / name.strip("<b>"), name=name, variants=LEVELS)
    done = CliRunner().invoke(app, ["report", "one", "two"], catch_exceptions=False)
    assert done.exit_code == 0
    page = (tmp_path / "studies.html").read_text()
    for title in ("([R] table 10)", "([R] tables 5-7)", "([R] tables 1-4)", "([R] table 11)"):
        assert title in page
        assert title in done.output.replace("\n", " ")
    assert "&lt;b&gt;two" in page
    assert "<b>two" not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--charts", "x"], "charts: got x, expected no such option with several studies"),
        (["--gate", "g.toml"], "gate: got g.toml, expected no such option"),
    ],
)
def test_options_of_a_single_study(options, message):
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(app, ["report", "one", "two", *options], catch_exceptions=False)
