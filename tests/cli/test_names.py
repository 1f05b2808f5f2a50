"""Names with control characters on the command line: told in one line, then an audit, a report and charts."""

import numpy as np
import pandas as pd
import pytest

from tfaudit.store.store import open_store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default::tfaudit.errors.Notice"),
]


@pytest.fixture
def told(tfaudit):
    """`told(...)` runs a command, which tells what it must in single lines; returns standard output and error."""

    def run(*words):
        code, text, errors = tfaudit(*words)
        assert code == 0, errors
        assert all(line.startswith("tfaudit: ") for line in errors.splitlines()), errors
        return text, errors

    return run


def test_an_audit_of_files_a_report_and_every_chart(told, tmp_path):
    labels, random = np.arange(300) % 3, np.random.default_rng(0)
    ids = [f"image\x02{i}" for i in range(300)]
    names = np.array(["cat\a", "dog", "cow\x01"])
    pd.DataFrame({"id": ids, "label": names[labels]}).to_csv(tmp_path / "labels.csv", index=False)
    for file, share in (("before", 0.05), ("after", 0.3)):
        top1 = np.where(random.random(300) < share, (labels + 1) % 3, labels)
        pd.DataFrame({"id": ids, "prediction": names[top1]}).to_csv(
            tmp_path / f"{file}.csv", index=False
        )
    groups = pd.DataFrame({"id": ids, "wri\x1bter": np.array(["x\b", "y"])[np.arange(300) % 2]})
    groups.to_csv(tmp_path / "groups.csv", index=False)
    models = ("--baseline", "before.csv", "--compressed", "int8\a=after.csv")
    settings = ("--groups", "groups.csv", "--out", "st\audy", "--permutations", "0")
    out, errors = told("audit", "--labels", "labels.csv", *models, *settings)
    assert "\a" not in out + errors
    for name in (
        "'cat\\x07' as cat␇",
        "'int8\\x07' as int8␇",
        "'wri\\x1bter' as wri␛ter",
        "'st\\x07udy' as st␇udy",
    ):
        assert errors.count(name) >= 1
    assert "'image\\x020' as image␂0" in errors
    assert errors.count("groups.csv, id: characters") == 1
    assert "groups.csv: characters that are no text are replaced: 'image" not in errors
    page = (tmp_path / "st\audy/report.html").read_text()
    for name in ("cat␇", "int8␇", "wri␛ter", "x␈", "st␇udy"):
        assert name in page
    assert "left out" not in page
    assert open_store(tmp_path / "st\audy").examples()["example"][0] == "image␂0"
    _, errors = told("report", "st\audy", "--charts", "charts")
    assert errors == ""
    assert len(list((tmp_path / "charts").glob("*.png"))) > 5
