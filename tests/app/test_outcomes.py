"""The page of compared outcomes: what `tfaudit audit --outcome --out` printed and wrote."""

import json

import pandas as pd
import pytest

from tests.builders.pages import words


def draw(directory):
    from tfaudit.app.viewer import view

    view([directory, "{}"])


@pytest.fixture
def page(run_page):
    """Draws the page of a folder."""
    return lambda directory, **query: run_page(draw, (str(directory),), query)


@pytest.fixture
def written(tmp_path, tfaudit):
    """Two compressed models, of which one loses every fourth answer on one topic."""
    rows = pd.DataFrame(
        {
            "id": [f"q{i}" for i in range(80)],
            "f1": 1.0,
            "topic": ["law", "art"] * 40,
            "question": [f"=What is *{i}* <b>?" for i in range(80)],
        }
    )
    rows.to_csv(tmp_path / "before.csv", index=False)
    rows.to_csv(tmp_path / "same.csv", index=False)
    rows.loc[1::4, "f1"] = 0.25
    rows.to_csv(tmp_path / "int8.csv", index=False)
    sides = ("--baseline", "before.csv", "--compressed", "int8=int8.csv", "same=same.csv")
    options = ("--outcome", "f1", "--group", "topic", "--text", "question", "--out", "out")
    code, _, _ = tfaudit("audit", *sides, *options)
    assert code == 0
    return tmp_path / "out"


def test_the_page_shows_verdict_groups_and_examples(page, written):
    app = page(written)
    text = words(app)
    assert "FAIL" in text
    assert "20 of 80 examples fall" in text
    assert "A loss is shown for 1 of 2 groups, the largest for topic: art (40 examples)" in text
    assert app.title[0].value == "What compression changes in f1"
    groups, examples = (table.value for table in app.dataframe)
    assert groups["group"].tolist() == ["all examples", "topic: art", "topic: law"]
    assert groups["before"].tolist() == [1, 1, 1]
    assert examples["question"].iloc[0] == "=What is *1* <b>?"
    assert examples["example"].tolist() == [f"q{i}" for i in range(1, 80, 4)]
    assert len(app.get("vega_lite_chart")) == 1
    assert not app.sidebar.children  # no page of a study


def test_another_model_is_chosen(page, written):
    app = page(written, variant="same")
    assert "0 of 80 examples fall, 0 rise" in words(app)
    assert len(app.dataframe) == 1  # no example changes


def test_a_comparison_has_no_verdict(page, written, tfaudit):
    sides = ("--baseline", "before.csv", "--compressed", "int8.csv")
    assert (
        tfaudit("compare", *sides, "--outcome", "f1", "--group", "topic", "--out", "pair")[0] == 0
    )
    text = words(page("pair"))
    assert "20 of 80 examples fall" in text
    assert "FAIL" not in text


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("alpha"),
        lambda content: content["models"]["int8"].pop("groups"),
        lambda content: content.update(models=[]),
    ],
)
def test_a_damaged_folder_is_one_line(page, written, change):
    file = written / "outcomes.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    assert "whose outcomes.json is damaged" in page(written).error[0].value.replace("\\", "")


def test_the_command_opens_what_the_page_shows(written, monkeypatch, tfaudit, refused):
    started = []
    monkeypatch.setattr("os.execv", lambda program, words: started.append(words))
    assert tfaudit("view", "out")[0] == 0
    assert json.loads(started[0][-1])["directory"] == str(written)
    (written / "outcomes.json").unlink()
    refused(tfaudit("view", "out"), "got out, which holds no study")
