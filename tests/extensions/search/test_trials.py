"""What is known of some candidates says which others need not be tried."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.extensions.search.candidates import Candidate, Preparation, channel_pruning
from tfaudit.extensions.search.smallest_file import NO_FILE, NOT_TRIED
from tfaudit.extensions.search.trials import Trial, Trials, judged_in_turn
from tfaudit.predictions import Predictions
from tfaudit.study.remedies import REMEDIES
from tfaudit.study.variants import Pruned

HALF = channel_pruning(0.5, ["hidden"])
REMEDIED = [dataclasses.replace(HALF, remedy=name) for name in REMEDIES]
CHOICES = (
    {"last": True},
    {"percentile": 99.99},
    {"percentile": 99.999, "layers": SimpleNamespace(key="float=1")},
    {"quantization_aware": True},
)
TWICE = {"a": [0.018, 0.02], "b": [0.018, 0.02]}
as_it_is_and_pruned = pytest.mark.parametrize("pruned", [None, HALF], ids=["as it is", "pruned"])


def verdict_of(lost):
    """The gate's verdict on a model that loses some of 500 examples of a class, of which 5 % are allowed."""
    labels = np.repeat([0, 1], 500)
    found = labels.copy()
    found[:lost] = 1
    before, after = (Predictions.from_top1(labels, answers) for answers in (labels, found))
    return gate(before, after, Limits(worst_class_drop_pp=5))


def trials_of(files=(), models=()):
    """Trials of files by key, each the examples that it loses and its bytes; and of models before quantization."""
    trials = Trials()
    for key, (lost, size) in dict(files).items():
        verdict = verdict_of(lost)
        trials.by_key[key] = Trial(verdict.outcome, "", size, b"content", None, verdict)
    for pruned, lost in models:
        trials.judge_model(Preparation(pruned), verdict_of(lost))
    return trials


def test_sequences_hold_plain_files_in_order_and_others_that_pass_the_largest_first():
    files = {"small": (0, 1), "large": (0, 9), "fails": (300, 5), "middle": (0, 5)}
    trials = trials_of(files)
    assert trials.sequences((), (), ()) == ([], ["large", "middle", "small"])
    assert trials.sequences((), (), {"small", "fails"}) == ([], ["small", "large", "middle"])
    plain = trials.sequences(["fails", "large"], ["middle"], ())
    assert plain == (
        ["fails", "large"],
        ["small"],
    )  # no label decides which are plain, nor their order
    none = trials_of({"a": (300, 5), "b": (100, 4)})
    assert none.sequences((), (), ()) == ([], ["b"])  # the closest
    assert none.sequences((), ["a"], ()) == ([], [])


def test_plain_files_that_are_too_large_for_a_limit_are_not_judged():
    labels = np.repeat([0, 1], 500)
    same = Predictions.from_top1(labels, labels)
    trials = Trials()
    for key, size in {"large": 9, "small": 5}.items():
        verdict = gate(same, same, Limits(size_bytes=6), sizes=(20, size))
        trials.by_key[key] = Trial(verdict.outcome, "", size, b"content", None, verdict)
    assert trials.sequences(["large", "small"], (), ()) == (["small"], [])


@pytest.mark.parametrize(
    ("lost", "fallbacks", "expected"),
    [
        # without fallbacks
        ({}, None, {"a": [0.02], "b": [0.02], "c": [0.04]}),
        ({"b": 400}, None, {"a": [0.02], "b": [0.02], "c": [0.02]}),
        ({"a": 400}, None, {"a": [0.02], "c": [0.02]}),
        # fallbacks are judged only if something does not pass, and hand their level on
        ({}, "f", {"a": [0.018], "b": [0.018], "c": [0.038]}),
        ({"b": 400}, "f", {**TWICE, "c": [0.02, 0.02], "f": [0.002]}),
        ({"a": 400, "f": 400}, "fg", {"a": [0.018], "c": [0.02], "f": [0.002]}),
        ({"c": 400}, "", {**TWICE, "c": [0.038, 0.04]}),
    ],
)
def test_a_sequence_that_passes_hands_its_level_on(lost, fallbacks, expected):
    levels = {}

    def verdict(key, alpha):
        levels.setdefault(key, []).append(round(alpha, 6))
        return verdict_of(lost.get(key, 0))

    given = None if fallbacks is None else lambda: [*fallbacks]
    assert {*judged_in_turn("ab", "c", verdict, 0.04, given)} == {*levels}
    assert levels == expected


def test_fallbacks_are_judged_where_there_is_nothing_else():
    verdicts = judged_in_turn([], [], lambda key, alpha: (key, alpha), 0.04, lambda: [])
    assert not verdicts
    verdicts = judged_in_turn([], [], lambda *_: verdict_of(0), 0.04, lambda: ["f"])
    assert [*verdicts] == ["f"]


@pytest.mark.parametrize(
    ("quantized", "pruned", "reason"),
    [
        (0, None, "channel-0.5-int8 passes without a remedy."),
        (30, None, ""),
        (None, 40, ""),
        (None, 200, "channel-0.5-int8 is too far from passing."),
        (None, None, "channel-0.5-int8 was not tried."),
    ],
)
def test_remedies_are_tried_where_the_control_fails_by_little(quantized, pruned, reason):
    files = {} if quantized is None else {"channel-0.5-int8": (quantized, 9)}
    trials = trials_of(files, [] if pruned is None else [(HALF, pruned)])
    assert Candidate("int8", HALF).control is None
    for remedied in REMEDIED:
        assert trials.needless(Candidate("int8", remedied)) == reason


@pytest.mark.parametrize(
    ("control", "remedied", "fails"),
    [
        (None, None, False),
        (0, None, False),
        (25, None, False),  # cannot judge
        (45, None, False),  # a remedy may repair it
        (45, 45, True),
        (45, 25, False),
        (400, None, True),  # no remedy was worth a try
    ],
)
def test_what_is_pruned_more_than_what_fails_with_every_remedy_is_left_out(
    control, remedied, fails
):
    known = [(HALF, control), *((one, remedied) for one in REMEDIED)]
    trials = trials_of(models=[(pruned, lost) for pruned, lost in known if lost is not None])
    most = channel_pruning(0.9, ["hidden"])
    reason = "channel-0.5 already fails before it is quantized." if fails else ""
    assert trials.needless(Candidate("int8", most)) == reason
    gentle = (HALF, channel_pruning(0.35, ["hidden"]), Pruned(0.95, treatment="finetune"), None)
    assert not any(trials.needless(Candidate("float16", pruned)) for pruned in gentle)
    for level in (0.8, 0.65):  # the gentlest counts, whatever the order
        trials.judge_model(Preparation(channel_pruning(level, ["hidden"])), verdict_of(400))
    assert trials.needless(Candidate("int8", most)).startswith(
        "channel-0.5 already fails" if fails else "channel-0.65 already fails"
    )


@pytest.mark.parametrize(
    ("quantized", "unquantized", "reason"),
    [
        (0, 0, "passes without a remedy."),
        (30, 0, ""),
        (300, 0, ""),  # int8 alone may ruin a model that passes
        (300, 40, "Its model does not pass before it is quantized."),
        (None, 0, "was not tried."),
        ("no file", 0, "has no file."),
    ],
)
@as_it_is_and_pruned
def test_choices_of_int8_are_tried_where_int8_is_what_fails(quantized, unquantized, reason, pruned):
    control = Candidate("int8", pruned)
    files = {control.key: (quantized, 9)} if isinstance(quantized, int) else {}
    trials = trials_of(files, [(pruned, unquantized)])
    if quantized == "no file":
        trials.by_key[control.key] = Trial(NO_FILE, "It cannot be converted.")
    for choice in CHOICES:
        candidate = dataclasses.replace(control, **choice)
        assert candidate.control == control
        found = trials.needless(candidate)
        assert found.endswith(reason)
        assert bool(found) == bool(reason)
        assert trials.is_open(candidate) == (not reason or reason == "was not tried.")


@pytest.mark.parametrize(
    "candidate",
    [Candidate("int8", estimate=3.0, **choice) for choice in CHOICES]
    + [Candidate("int8", pruned, estimate=3.0) for pruned in REMEDIED],
    ids=lambda candidate: candidate.key,
)
def test_choices_and_remedies_make_no_file_smaller_than_their_controls(candidate):
    for size, reason in ((5, "Not smaller than dynamic_range, which passes."), (3, "")):
        trials = trials_of({candidate.control.key: (30, size), "dynamic_range": (0, 4)})
        assert trials.needless(candidate) == reason
        # also where the control was left out for its size
        trials.by_key[candidate.control.key] = Trial(NOT_TRIED, reason, size)
        assert (trials.needless(candidate) == reason) == bool(reason)
        assert trials.is_open(candidate) == (not reason)


def test_files_in_floats_are_tried_where_no_plain_file_passes():
    fallback = Candidate("float16", estimate=1.0)
    assert trials_of({"int8": (0, 9)}).needless(fallback) == "Not smaller than int8, which passes."
    assert not trials_of({"int8": (300, 9)}).needless(fallback)


def test_the_smallest_that_passes_is_chosen_else_the_one_closest_to_passing():
    trials = trials_of({"a": (0, 9), "b": (0, 4), "c": (30, 1)})
    assert trials.smallest() == "b"
    trials = trials_of({"a": (300, 9), "b": (40, 4), "c": (200, 1)})
    assert (trials.smallest(), trials.closest()) == (None, "b")
