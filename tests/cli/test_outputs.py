"""What commands are asked to write: apart from each other and from what they read, checked before any work."""

import json

import numpy as np
import pytest

from tests.builders.refusals import refused_lines
from tfaudit.cli.console import out

JUDGE = ("gate", "--labels", "y.npy", "--baseline", "a*.npy", "--compressed", "int8=b.npy")


@pytest.fixture(scope="module")
def files():
    labels = np.arange(200) % 2
    return {"y.npy": labels, "a.npy": labels, "b.npy": np.where(labels, 1, labels)}


@pytest.fixture
def place(tmp_path, files):
    for name, array in files.items():
        np.save(tmp_path / name, array)
    (tmp_path / "study").mkdir()
    (tmp_path / "study/study.json").write_text("{}")
    (tmp_path / "same.npy").hardlink_to(tmp_path / "a.npy")
    (tmp_path / "link.npy").symlink_to("b.npy")
    (tmp_path / "pipe").symlink_to("/dev/stdout")
    return tmp_path


@refused_lines("""
    gate --labels y.npy --baseline a*.npy --compressed int8=b.npy --json x --junit ./study/../x
        --junit, --json: got
    gate --labels y.npy --baseline a*.npy --compressed int8=b.npy --json - --junit pipe
        --junit, --json: got
    gate --labels y.npy --baseline a*.npy --compressed int8=b.npy --json same.npy
        --json, --baseline: got same.npy for both
    gate --labels y.npy --baseline a*.npy --compressed int8=b.npy --json link.npy
        --json, --compressed: got link.npy for both
    gate --labels y.npy --baseline a*.npy --compressed int8=b.npy --json study
        --json: got study, which is a folder
    gate --labels y.npy --baseline a*.npy --compressed int8=b.npy --json new/x
        --json: got new/x, whose folder
    gate study --json study/study.json
        --json: got study/study.json, a part of
    gate study --json study/members/x
        --json: got study/members/x, whose folder
    report study --markdown study/report.html
        report, --markdown: got study/
    report study --pdf --out x.pdf
        --out, --pdf: got x.pdf for both
    export study --format csv --out study
        --out, directory: got study
    run digits --out y.npy/x
        --out: got y.npy/x, which cannot be written
    prepare x --from study --data-dir study
        --data-dir, --from: got study
""")
def test_what_has_no_place_of_its_own_is_refused(tfaudit, refused, place, words, message):
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    refused(tfaudit(*words), message)
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_results_on_standard_output_are_alone_there(tfaudit, place):
    for name in ("-", "pipe"):
        code, text, people = tfaudit(*JUDGE, "--json", name, "--markdown", "/dev/null")
        assert code in (0, 1, 2)
        assert json.loads(text)["verdicts"]["int8"]["exit_code"] == code
        assert "int8" in people
    assert out.file is not None
    assert (place / "pipe").is_symlink()
