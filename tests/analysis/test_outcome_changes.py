"""Changes of outcomes are those that the gate judges, and examples are those that fall beyond retraining."""

import itertools
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from tfaudit import InputError, Limits, Outcomes, compare_outcomes, gate, read_outcomes


@pytest.fixture
def groups():
    return pd.DataFrame({"topic": ["law", "art", "law", "sport"] * 60})


def test_the_table_has_the_losses_and_intervals_of_the_gate(rng, groups):
    before, after = (Outcomes(rng.random((3, 240)) < rate) for rate in (0.9, 0.8))
    frame = compare_outcomes(before, after, groups, permutations=0).frame().set_index("group")
    limits = Limits(overall_drop_pp=1, group_drop_pp=1)
    verdict = gate(before, after, limits, groups=groups)
    judged = verdict.groups.set_index("group")
    assert frame.index.tolist() == ["all examples", *judged.index]
    np.testing.assert_allclose(-frame["change_pp"].iloc[1:], judged["drop_pp"])
    np.testing.assert_allclose(-frame["change_low_pp"].iloc[1:], judged["high_pp"])
    np.testing.assert_allclose(frame["p_holm"].iloc[1:], judged["p_holm"])
    overall = verdict.frame().set_index("check").loc["overall_drop_pp"]
    assert frame["change_pp"].iloc[0] == pytest.approx(-overall["value"])


def test_examples_that_fall_are_counted_against_every_reassignment_of_members(rng):
    difficulty = rng.random(80)
    before, after = (rng.random((3, 80)) < difficulty * rate for rate in (1, 0.5))
    result = compare_outcomes(Outcomes(before), Outcomes(after), margin=0.5)
    everyone = np.concatenate([before, after]).astype(float)
    counts = []
    for chosen in itertools.combinations(range(6), 3):
        others = [i for i in range(6) if i not in chosen]
        fall = everyone[list(chosen)].sum(0) - everyone[others].sum(0)
        counts.append(int((fall >= 2).sum()))
    assert result.fallen.exact
    assert result.fallen.observed == counts[0] == result.summary()["fell"]
    assert result.fallen.mean == pytest.approx(np.mean(counts))
    assert result.fallen.p == pytest.approx(np.mean(np.array(counts) >= counts[0]))


def test_an_example_on_which_baseline_models_differ_comes_later():
    before = Outcomes([[1, 1, 0], [1, 0, 0]])
    after = Outcomes([[0.2, 0, 1], [0.2, 0, 1]])
    changed = compare_outcomes(before, after, margin=0.1, permutations=0).changed()
    assert changed["example"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(changed["retrained"], [0, 1, 0])
    np.testing.assert_allclose(changed["change"], [-0.8, -0.5, 1])


def test_errors_within_a_tolerance_are_right(tmp_path):
    (tmp_path / "a.csv").write_text("id,error\na,-0.5\nb,0.51\nc,0\n")
    found = read_outcomes(tmp_path / "a.csv", "error", tolerance=0.5)
    assert found.values.tolist() == [[1, 0, 1]]
    with pytest.raises(InputError, match=r"such as -0\.5 in column 'error', row 0, .*--tolerance"):
        read_outcomes(tmp_path / "a.csv", "error")
    with pytest.raises(InputError, match="tolerance: got -1, expected"):
        read_outcomes(tmp_path / "a.csv", "error", tolerance=-1)


@pytest.fixture
def files(tmp_path, rng):
    """The answers of a model before and after on forty questions; after, every fourth one is wrong."""
    paths = []
    for name, wrong in (("before", 40), ("after", 4)):
        rows = pd.DataFrame(
            {
                "id": [f"q{i}" for i in range(40)],
                "f1": [0.25 if i % wrong == 3 else 1.0 for i in range(40)],
                "topic": ["law", "art"] * 20,
                "question": [f"What is <b>{i}</b>?" for i in range(40)],
                "answer": [f"{name} {i}" if i % wrong == 3 else f"{i}" for i in range(40)],
            }
        )
        paths.append(tmp_path / f"{name}.csv")
        rows.to_csv(paths[-1], index=False)
    return [str(path) for path in paths]


@pytest.fixture
def audit(files, tfaudit):
    before, after = files
    sides = ("--baseline", before, "--compressed", after, "--outcome", "f1")
    return lambda *options: tfaudit("audit", *sides, *options)


def test_the_command_writes_a_page_with_the_texts_that_changed(audit, tmp_path):
    texts = ("--text", "question", "--text", "answer", "--group", "topic")
    code, printed, _ = audit(*texts, "--out", "out")
    assert code == 0
    printed = " ".join(printed.split())
    assert "9 of 40 examples fall, 0 rise. 10 examples have another answer." in printed
    assert "A loss is shown for 1 of 2 groups, the largest for topic: art" in printed
    page = (tmp_path / "out/report.html").read_text()
    assert "What is &lt;b&gt;7&lt;/b&gt;?" in page
    assert "after 7" in page
    assert "FAIL" in page
    table = pd.read_csv(tmp_path / "out/examples.csv")
    assert table["example"].tolist() == [f"q{i}" for i in range(7, 40, 4)]
    assert pd.read_csv(tmp_path / "out/groups.csv")["group"].tolist()[0] == "all examples"


def test_two_files_are_compared_without_a_verdict(files, tfaudit, tmp_path):
    """Each compressed file is a model of its own; examples, groups and the page are those of `tfaudit audit`."""
    before, after = files
    (tmp_path / "same").mkdir()
    shutil.copy(before, tmp_path / "same/after.csv")
    sides = ("--baseline", before, "--compressed", after, "--compressed", "same/after.csv")
    groups = pd.read_csv(before)[["id"]].assign(sex=["f", "m"] * 19 + ["x", "y"])
    groups.to_csv(tmp_path / "sex.csv", index=False)
    options = ("--groups", "sex.csv", "--min-group", 2, "--text", "answer", "--out", "out")
    code, printed, _ = tfaudit("compare", *sides, "--outcome", "f1", *options)
    assert code == 0
    printed = " ".join(printed.split())
    assert "after: Mean f1 goes from" in printed
    assert "after-2: Mean f1 goes from" in printed
    assert "A loss is shown for 1 of 3 groups, the largest for sex: m (19 examples)" in printed
    assert "pass" not in printed.lower()
    page = (tmp_path / "out/report.html").read_text()
    assert "after 7" in page
    assert "PASS" not in page
    table = pd.read_csv(tmp_path / "out/groups.csv")
    assert table["model"].value_counts().to_dict() == {"after": 4, "after-2": 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "data, outcome: got neither, expected"),
        (["--outcome", "f1", "--data", "digits"], "--data, --outcome: got both, expected"),
        (["--outcome", "f1", "--csv", "a.csv"], "--csv: got a.csv, expected no such option"),
        (["--outcome", "f1", "--limit", 5], "--limit: got 5, expected no such option"),
        (["--data", "digits", "--cluster", "topic"], "--cluster: got topic, expected no such"),
        (["--outcome", "f1", "--min-group", -1], "--min-group: got -1, expected 0 or more"),
        (["--outcome", "f1", "--compressed", "no.csv"], "compressed: got no.csv, which matches"),
    ],
)
def test_compare_takes_models_or_outcomes(files, tfaudit, refused, options, message):
    refused(tfaudit("compare", "--baseline", files[0], "--compressed", files[1], *options), message)


def test_the_page_needs_no_charts(audit, tmp_path, monkeypatch):
    monkeypatch.setattr("tfaudit.outlets.outcome_pages.can_draw", lambda: False)
    assert audit("--group", "topic", "--out", "out")[0] == 0
    page = (tmp_path / "out/report.html").read_text()
    assert "<svg" not in page
    assert "topic: art" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--labels", "y.npy"], "source: got both"),
        (["--classes", "names.txt"], "--classes: got names.txt, expected no such option"),
        (["--text", "prompt"], "expected a column prompt, as --text says"),
        (["--margin", "1"], "--margin: got 1.0, expected a change in [0, 1)"),
        (["--group", "sex"], "--group: got 'sex', expected columns among"),
    ],
)
def test_what_outcomes_do_not_have_is_refused(audit, refused, options, message):
    refused(audit(*options), message)


def test_a_column_of_groups_has_a_limit_of_its_own(tmp_path, tfaudit, refused):
    lost = np.arange(2000) % 20 == 0  # 10 % of the even examples
    before, after = Outcomes(np.ones(2000)), Outcomes(~lost)
    groups = pd.DataFrame({"sex": np.arange(2000) % 2, "age": np.arange(2000) % 5})

    def judged(**columns):
        limits = Limits(group_drop_pp=columns)
        assert Limits.from_mapping(limits.settings()) == limits
        return gate(before, after, limits, groups=groups)

    failing = judged(sex=6, age=35)
    assert (failing.outcome, failing.checks[0].subject) == ("fail", "sex: 0")
    assert (failing.checks[0].limit, failing.checks[0].value) == (6, pytest.approx(10))
    assert judged(sex=14, age=35).outcome == "pass"
    assert judged(sex=14).groups["limit_pp"].tolist() == [14, 14, *[np.inf] * 5]
    assert judged(skin=14).outcome == "cannot judge"
    text = Limits(group_drop_pp={"sex": 6, "age": 35}).in_words()
    assert text == "drop of worst group at most 6 pp (sex), 35 pp (age)"
    table = groups.assign(right=1.0)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.assign(right=1.0 * ~lost).to_csv(tmp_path / "b.csv", index=False)
    sides = ("gate", "--baseline", "a.csv", "--compressed", "b.csv", "--outcome", "right")
    limits = ("--max-group-drop", "sex=6,age=35")
    code, printed, _ = tfaudit(*sides, *limits, "--json", "v.json")
    assert code == 1
    assert "mean outcome lost, pp" in printed
    (verdict,) = json.loads((tmp_path / "v.json").read_text())["verdicts"].values()
    assert [row["outcome"] for row in verdict["groups"]] == ["fail"] + ["pass"] * 6
    refused(tfaudit(*sides, "--max-group-drop", "sex=x"), "--max-group-drop: got sex=x, expected")
