"""`tfaudit audit`: words of any shell, files of any framework, a table or a comparison, and a study where asked for."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders.populations import population
from tests.builders.refusals import refused_lines
from tests.builders.studies import make_study
from tfaudit import open_store
from tfaudit.audits.summary.summary import summary
from tfaudit.cli.sides import files_of, variants_of


@pytest.fixture(autouse=True)
def files(tfaudit):
    """Eleven members of top-1 classes before and after, in the working directory."""
    before, after = population(0, members=11), population(1, members=11, hurt=[3])
    np.save("y.npy", before.labels)
    for member in range(11):
        np.save(f"a{member}.npy", before.top1[member])
        np.save(f"b{member}.npy", after.top1[member])
    Path("d").mkdir()
    return before, after


@pytest.fixture
def run(tfaudit):
    """`run(...)` returns what `tfaudit audit` prints."""

    def audit(*words):
        code, text, errors = tfaudit("audit", *words)
        assert (code, errors) == (0, "")
        return text

    return audit


def every(letter):
    return [f"{letter}{member}.npy" for member in range(11)]


@pytest.mark.parametrize(
    "words",
    [
        ["--baseline", "a*.npy", "--compressed", "b*.npy"],
        ["--baseline", *sorted(every("a")), "--compressed", *every("b")],
        ["--compressed=b0.npy", *every("b")[1:], "--baseline=a*.npy"],
        [word for file in every("a") for word in ("--baseline", file)]
        + ["--compressed", "./b*.npy"],
    ],
)
def test_globs_expanded_or_not_and_repeated_options_are_the_same(run, words):
    assert run("--labels", "y.npy", *words) == run(
        "--labels", "y.npy", "--baseline", "a*.npy", "--compressed", "b*.npy"
    )


def test_the_table_is_that_of_the_summary(run, files):
    before, after = files
    row = summary({"dense": before, "int8": after}).frame().iloc[1]
    shown = run("--labels", "y.npy", "--baseline", "a*.npy", "--compressed", "int 8=b*.npy")
    assert shown.startswith("int 8 fails. Recall of class 3 falls from")  # the verdict comes first
    line = [line for line in shown.splitlines() if "int 8" in line][-1]
    assert f"{100 * row.top1:.2f}" in line
    assert f" {row.pies} " in line
    assert "11 members per variant" in shown


def test_a_study_prints_the_verdict_by_the_limits_of_a_file(tmp_path, run, tfaudit, refused):
    make_study(tmp_path / "study")
    shown = run("study")
    assert shown.startswith(
        "No variant passes: 1 fails, 1 cannot be judged. Do not ship magnitude 90 %: recall of"
    )
    assert shown.index("drop of worst class at most 5 pp") < shown.index("What compression forgets")
    (tmp_path / "gate.toml").write_text("[gate]\nworst_class_drop_pp = 60\n")
    shown = run("study", "--gate", "gate.toml")
    assert shown.startswith(
        "fixed-point int8 is the smallest that passes, with 33.3 % of the gzipped bytes"
    )
    assert "drop of worst class at most 60 pp" in shown
    for words, message in (
        (
            ["study", "--labels", "y.npy"],
            "labels: got y.npy, expected no such option with a study's directory",
        ),
        (["study", "--out", "d", "--paired"], "paired: got True, expected no such option with"),
        ([], "source: got none, expected a study's directory, or --labels or --outcome"),
        (["study", "--gate", "no.toml"], "--gate: got no.toml, which cannot be read"),
        # As `gate` calls it too.
        (["study", "--config", "no.toml"], "--gate: got no.toml, which cannot be read"),
    ):
        refused(tfaudit("audit", *words), message)


@pytest.mark.slow
def test_a_study_is_written_with_names_groups_and_report(run, tfaudit, refused):
    pd.DataFrame({"writer": ["w1", "w2"] * 100}).to_csv("g.csv", index=False)
    compressed = ("--compressed", "int 8=b0.npy", "b1.npy", "p=b2.npy")
    words = ("--labels", "y.npy", "--baseline", "a0.npy", "a1.npy", *compressed)
    shown = run(*words, "--groups", "g.csv", "--out", "d/mine", "--paired", "--alpha", 0.01)
    store = open_store("d/mine")
    assert [variant.title for variant in store.study.all_variants] == ["baseline", "int 8", "p"]
    assert [len(store.members(key)) for key in store.variants] == [2, 2, 1]
    assert [variant.parent for variant in store.study.variants] == ["dense", "dense"]
    assert store.study.name == "mine"
    assert store.examples().attrs["groups"] == ["writer"]
    assert "int 8" in Path("d/mine/report.html").read_text()
    assert "report.html" in shown
    other = ("--baseline", "a*.npy", "--compressed", "b*.npy", "--out", "d/mine")
    refused(
        tfaudit("audit", "--labels", "y.npy", *other),
        "holds another study: it has the variant int-8",
    )


def test_names_of_variants_and_paths_that_hold_equals_signs():
    Path("split=test").mkdir()
    for place in ("split=test/b.npy", "x=1.npy"):
        np.save(place, np.zeros(200, int))
    found = variants_of(
        ["split=test/*.npy", "x=1.npy", "int8=b1*.npy", "int8=b2.npy", "p=split=test/b.npy"]
    )
    assert {name: list(map(str, paths)) for name, paths in found.items()} == {
        "compressed": ["split=test/b.npy", "x=1.npy"],
        "int8": ["b1.npy", "b10.npy", "b2.npy"],
        "p": ["split=test/b.npy"],
    }


@refused_lines("""
    --compressed b0.npy --baseline no*.npy
        baseline: got no*.npy, which matches no file, expected files
    --baseline a0.npy --compressed q=no.npy
        compressed: got no.npy, which matches no file, expected
    --compressed b0.npy --baseline a0.npy a?.npy
        baseline: got a0.npy twice, expected each file once
    --baseline a0.npy --compressed b0.npy --permutations -1
        permutations: got -1, expected 0 or more
    --baseline a0.npy --compressed b0.npy --groups g.csv
        groups: got g.csv, expected --out DIR as well
""")
def test_bad_input_is_one_line(tfaudit, refused, words, message):
    refused(tfaudit("audit", "--labels", "y.npy", *words), message)


def test_the_gate_and_the_audit_take_a_column_of_clusters(tfaudit, refused):
    """Sixty copies of one lost image in a thousand: over images the loss is certain, over clusters it is one."""
    labels = np.repeat([0, 1], 500)
    after = labels.copy()
    after[:60] = 1
    films = np.r_[np.zeros(60, int), np.arange(1, 941)]
    pd.DataFrame({"label": labels, "film": films}).to_csv("labels.csv", index=False)
    np.save("a.npy", labels), np.save("b.npy", after)
    words = ("--labels", "labels.csv", "--baseline", "a.npy", "--compressed", "b.npy")
    limit = ("--max-overall-drop", 3)
    code, text, _ = tfaudit("gate", *words, *limit)
    assert (code, "clusters" in text) == (1, False)
    code, text, _ = tfaudit("gate", *words, *limit, "--cluster", "film", "--json", "v.json")
    assert code == 2
    assert "Intervals are over 941 clusters of the 1,000 examples" in " ".join(text.split())
    assert "941 clusters" in Path("v.json").read_text()
    code, text, _ = tfaudit("audit", *words, "--cluster", "film", "--out", "study")
    assert code == 0
    assert len(np.unique(open_store("study").predictions("dense").clusters)) == 941
    refused(tfaudit("gate", "study", *limit, "--cluster", "film"), "cluster: got film")


def test_files_of_a_glob_come_in_natural_order():
    assert list(map(str, files_of(["a*.npy"], "baseline"))) == every("a")
