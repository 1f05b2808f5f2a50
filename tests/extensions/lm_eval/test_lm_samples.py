"""Samples of lm-evaluation-harness are outcomes whose documents are known in every run."""

import json

import pandas as pd
import pytest

from tfaudit import InputError, read_outcomes
from tfaudit.readers.outcome_files import OutcomeFiles, read_sides

TIME = "2026-01-02T03-04-05.000006"


def sample(text, acc, *, doc_id=0, filter="none", prompt="p", **more):
    """A line as lm-evaluation-harness writes it."""
    return {
        "doc_id": doc_id,
        "doc": {"question": text},
        "filter": filter,
        "metrics": ["acc", *more],
        "doc_hash": f"{text:0<64}",
        "prompt_hash": prompt,
        "target_hash": "t",
        "acc": acc,
        **more,
    }


def write_run(folder, tasks, time=TIME, results=None):
    folder.mkdir(exist_ok=True)
    for task, lines in tasks.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"samples_{task}_{time}.jsonl").write_text(text, encoding="utf-8")
    if results:
        (folder / f"results_{time}.json").write_text(json.dumps(results))
    return folder


def test_documents_of_a_language_model_are_joined_by_task_hash_and_occurrence(tmp_path):
    """`doc_id` is wrong, two documents are equal, and a text holds the line separator of Unicode."""
    first = [sample("a\u2028", 1.0), sample("b", 0, doc_id=9), sample("b", 1, doc_id=4)]
    before = write_run(tmp_path / "before", {"sums": first, "words": [sample("a\u2028", 1)]})
    turned = [sample("b", 1), sample("a\u2028", 0), sample("b", 0)]
    after = write_run(tmp_path / "after", {"words": [sample("a\u2028", 1)], "sums": turned})
    sides = read_sides(OutcomeFiles(outcome="acc"), [before], {"small": [after]})
    assert sides.groups["task"].tolist() == ["sums"] * 3 + ["words"]
    assert sides.baseline.values.tolist() == [[1, 0, 1, 1]]
    assert sides.compressed["small"].values.tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("lines", "settings", "message"),
    [
        (
            [sample("a", 1), sample("a", 0, filter="strict")],
            {},
            "filters none, strict, expected --filter",
        ),
        ([sample("a", 1)], {"outcome": "f1"}, r"no task with the metric f1 \(sums: acc\)"),
        ([sample("a", 1, f1=[1, 0])], {"outcome": "f1"}, "f1 of a pair or list"),
        (
            [sample("a", 1, ppl=-3.5)],
            {"outcome": "ppl"},
            "ppl of -3.5 in line 1, expected a metric in",
        ),
        ([{**sample("a", 1), "metrics": []}], {}, r"no task with the metric acc \(sums: none\)"),
        ([{"doc_id": 0, "acc": 1}], {}, "documents without doc_hash, expected samples of lm-eval"),
        ([sample("a", 1, prompt="other")], {}, "1 of 1 examples with another prompt_hash"),
        ([sample("z", 1)], {}, "1 examples, 0 of them among the 1 of"),
    ],
)
def test_what_a_run_leaves_open_is_asked_for(tmp_path, lines, settings, message):
    before = write_run(tmp_path / "before", {"sums": [sample("a", 1, f1=0.5, ppl=0.5)]})
    if "outcome" in settings:
        before = write_run(tmp_path / "before", {"sums": lines})
    after = write_run(tmp_path / "after", {"sums": lines})
    with pytest.raises(InputError, match=message):
        read_sides(OutcomeFiles(**{"outcome": "acc", **settings}), [before], {"small": [after]})


def test_runs_of_one_folder_are_never_merged(tmp_path):
    later = TIME.replace("2026", "2027")
    write_run(tmp_path, {"sums": [sample("a", 1)]}, results={})
    write_run(tmp_path, {"sums": [sample("a", 0)]}, later, results={"date": 1})
    with pytest.raises(InputError, match=f"got runs of {TIME}, {later}, expected one run; name"):
        read_outcomes(tmp_path, "acc")
    assert read_outcomes(tmp_path / f"results_{later}.json", "acc").values.tolist() == [[0]]


def test_samples_that_differ_from_the_results_are_refused(tmp_path):
    lines = {"sums": [sample("a", 1), sample("b", 0)]}
    counted = {"n-samples": {"sums": {"effective": 3}}}
    with pytest.raises(InputError, match="got 2 documents, expected 3, as the results say"):
        read_outcomes(write_run(tmp_path / "a", lines, results=counted), "acc")
    averaged = {"results": {"sums": {"acc,none": 0.75}}}
    with pytest.raises(InputError, match=r"a mean acc of 0\.5, expected 0\.75"):
        read_outcomes(write_run(tmp_path / "b", lines, results=averaged), "acc")
    assert (
        read_outcomes(
            write_run(tmp_path / "c", lines, results={"results": {"sums": {"acc,none": 0.5}}}),
            "acc",
        ).num_examples
        == 2
    )


@pytest.mark.data
def test_true_counts_of_real_runs(real_data):
    """Files of lm-evaluation-harness 0.4.13 before and after pruning; counts by another program."""
    folder = real_data / "lm-samples"
    counts = pd.read_csv(folder / "counts.csv")
    for metric, filter in (("acc", None), ("acc_norm", None), ("exact_match", "strict-match")):
        source = OutcomeFiles(outcome=metric, filter=filter)
        sides = read_sides(source, [folder / "before"], {"small": [folder / "after"]})
        before, after = sides.baseline.values[0], sides.compressed["small"].values[0]
        for task, rows in sides.groups.groupby("task").indices.items():
            known = counts[(counts["task"] == task) & (counts["metric"] == metric)]
            known = known[known["filter"] == (filter or "none")].iloc[0]
            lost = int(((before == 1) & (after == 0))[rows].sum())
            won = int(((before == 0) & (after == 1))[rows].sum())
            assert (len(rows), lost, won) == (known["n"], known["lost"], known["gained"])
        if metric == "acc":
            answers = [sides.texts[side]["answer"] for side in ("", "small")]
            assert (answers[0] != answers[1]).sum() == 110
