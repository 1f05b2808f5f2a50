"""CSV files: what a spreadsheet would run is text, and all else is as it was."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from tfaudit.outlets.csv_files import FORMULA, csv_bytes
from tfaudit.readers.prediction_files import read_predictions


def cells(content):
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


@pytest.mark.parametrize("beginning", FORMULA)
def test_no_cell_and_no_heading_begins_like_a_formula(beginning):
    hostile = f"{beginning}cmd|' /C calc'!A0"
    table = pd.DataFrame(
        {hostile: [hostile, "cat"], "b": pd.Categorical([hostile, "dog"]), "c": [None, hostile]}
    )
    for row in cells(csv_bytes(table)):
        assert not any(cell.startswith(FORMULA) for cell in row)
    assert cells(csv_bytes(table))[1][0] == f"'{hostile}"


def test_numbers_and_other_text_stay(rng):
    table = pd.DataFrame(
        {
            "float": rng.standard_normal(50),
            "integer": rng.integers(-9, 9, 50),
            "missing": np.where(np.arange(50) % 2, np.nan, -1.0),
            "nullable": pd.array([pd.NA, -3] * 25, "Int64"),
            "flag": np.arange(50) % 3 == 0,
            "text": ["-1", "+2.5e-3", "a=b", "", "two\nlines"] * 10,
        }
    )
    assert csv_bytes(table) == table.to_csv(index=False, lineterminator="\r\n").encode()


def test_what_it_wrote_is_read_as_predictions(tmp_path):
    labels = pd.DataFrame({"id": ["=a", "-b", "@c", "-4"], "label": ["+x", "y", "+x", "y"]})
    answers = labels[::-1].rename(columns={"label": "prediction"})
    (tmp_path / "labels.csv").write_bytes(csv_bytes(labels))
    (tmp_path / "answers.csv").write_bytes(csv_bytes(answers))
    predictions = read_predictions(tmp_path / "labels.csv", [tmp_path / "answers.csv"])
    assert (predictions.top1 == predictions.labels).all()
