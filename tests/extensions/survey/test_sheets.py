"""The sheets of a human study, its section and its chart."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.builders.populations import pies_of
from tests.builders.refusals import assert_refused
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.cli import app
from tfaudit.extensions.survey.sheets import survey_files


@pytest.fixture(scope="module")
def study_audit(store):
    return StudyAudit.read(store, permutations=0)


def test_a_human_study_is_blind_and_its_key_gives_the_answers_their_meaning(
    store, study_audit, tmp_path
):
    files = survey_files(study_audit, ["int8"])
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    key, sheet, labels = (pd.read_csv(tmp_path / f"{n}.csv") for n in ("key", "sheet", "labels"))
    pies = np.flatnonzero(pies_of(store.predictions("dense"), store.predictions("int8")))
    assert set(key.loc[key["is_pie"] == 1, "example"]) <= set(pies)
    assert 2 * key["is_pie"].sum() == len(key)
    assert not {"label_2", "label_3", "example", "is_pie"} & set(sheet)
    assert sorted(sheet["image"]) == sorted(
        name.removeprefix("images/") for name in files if name.startswith("images/")
    )
    for image, example in key[["image", "example"]].itertuples(index=False):
        assert files[f"images/{image}"] == store.images("test", [example])[0]
    both = sheet.merge(labels[["image", "fine_grained"]], on="image")
    asked = pd.read_csv(tmp_path / "questions.csv")["column"]
    answered = both.assign(rater="ann", **dict.fromkeys(asked, 1))
    answered.drop(columns="label_1").to_csv(tmp_path / "answers.csv", index=False)
    done = CliRunner().invoke(
        app, ["report", str(store.directory), "--answers", str(tmp_path / "answers.csv")]
    )
    assert done.exit_code == 0, done.output
    assert (
        "What do people see in the changed images?" in (store.directory / "report.html").read_text()
    )


def test_a_human_study_is_of_one_variant(study_audit):
    assert_refused(
        r"--variant: got magnitude-0\.9, int8, expected one variant", survey_files, study_audit
    )
