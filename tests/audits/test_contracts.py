"""What every comparison of two populations keeps to: order plays no part, results are frozen, bad input is one line."""

import dataclasses
import functools
import inspect

import numpy as np
import pandas as pd
import pytest

from tests.builders.extension_contracts import contributed
from tests.builders.populations import LIMITS, population
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.readers.prediction_files import read_predictions
from tfaudit.store.store import open_store

GATE = functools.partial(gate, limits=LIMITS)


def by_class(audit, before, after, **options):
    """An audit of a column of the examples, here their classes."""
    column = before.labels if audit is not attributes else pd.DataFrame({"class": before.labels})
    return audit(before, after, column, **options)


AUDITS = [
    (class_impact, 6),
    (exemplars, 6),
    (functools.partial(chance, permutations=1000), 6),
    (flip_rates, 6),
    (functools.partial(by_class, groups), 6),
    (functools.partial(by_class, attributes), 6),
    (GATE, 6),
    (GATE, 1),
    (compare, 1),
    *contributed("COMPARISONS"),
]
NO_CLAIM = {
    "cannot tell",
    "no change",
    "as average",
    "consistent with chance",
    "",
    "pass",
    "cannot judge",
}
every_audit = pytest.mark.parametrize(("audit", "members"), AUDITS)


def pair(members, **options):
    return population(1, members=members), population(2, members=members, hurt=[3], **options)


def table(result):
    """The table of a result in an order that is not that of the examples, nor of the members."""
    frame = result.frame().drop(columns="index", errors="ignore")
    keys = [name for name in ("example", "member") if name in frame]
    return frame.sort_values(keys, kind="stable", ignore_index=True) if keys else frame


@every_audit
def test_the_order_of_the_examples_plays_no_part(audit, members, rng):
    order = rng.permutation(200)
    shuffled = (
        Predictions(
            p.labels[order], p.ranked[:, order], p.probabilities[:, order], example_ids=order
        )
        for p in pair(members)
    )
    again, plain = audit(*shuffled), audit(*pair(members))
    pd.testing.assert_frame_equal(table(again), table(plain), rtol=1e-9)
    if not isinstance(audit, functools.partial):
        summaries = (pd.Series(result.summary()) for result in (again, plain))
        pd.testing.assert_series_equal(*summaries, rtol=1e-9)


@every_audit
def test_the_order_of_the_members_plays_no_part(audit, members, rng):
    order = rng.permutation(members)
    shuffled = (
        Predictions(p.labels, p.ranked[order], p.probabilities[order], members=order)
        for p in pair(members)
    )
    named = (
        Predictions(p.labels, p.ranked, p.probabilities, members=range(members))
        for p in pair(members)
    )
    pd.testing.assert_frame_equal(table(audit(*shuffled)), table(audit(*named)), rtol=1e-6)


@every_audit
def test_a_population_does_not_differ_from_itself(audit, members):
    before, _ = pair(members)
    same = Predictions(before.labels, before.ranked, before.probabilities, parents=before.members)
    frame = audit(before, same).frame()
    for name in frame.filter(regex="verdict|outcome"):
        assert set(frame[name].dropna()) <= NO_CLAIM, name
    for name in frame.columns[frame.columns.str.match("(change|shift|negative_share)(_pp)?$")]:
        assert not frame[name].fillna(0).any(), name


@pytest.mark.parametrize(
    "audit",
    [
        functools.partial(by_class, groups),
        flip_rates,
        *contributed("OF_ONE_AND_SEVERAL"),
    ],
)
def test_one_model_against_several_is_described_and_not_tested(audit):
    one, several = population(1, members=1), population(2, hurt=[3])
    result = audit(one, several)
    frame = result.frame()
    tested = frame.filter(regex=r"^(change|negative|gap_change)_(p(_holm|_bh)?|(low|high)(_pp)?)$")
    assert tested.isna().all(axis=None)
    assert len(tested.columns) > 1
    assert set(frame["verdict"].dropna()) <= {"cannot tell", ""}
    assert "1 against 6 members" in result.notes[0]


@every_audit
def test_results_are_frozen(audit, members):
    result = audit(*pair(members))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.notes = ()


def test_a_result_of_a_thousand_classes_fits_a_screen():
    labels = np.repeat(np.arange(1000), 5)
    worse = np.where(labels < 3, 999, labels)
    sides = (Predictions.from_top1(labels, predicted) for predicted in (labels, worse))
    head, columns, *rows = str(compare(*sides)).splitlines()
    assert head.startswith(
        "PairComparison: examples 5000, accuracy_before 1, accuracy_after 0.997,"
    )
    assert columns.split()[:3] == ["class", "change_pp", "verdict"]
    assert [row.split()[:2] for row in rows[:4]] == [
        ["0", "-100"],
        ["1", "-100"],
        ["2", "-100"],
        ["3", "0"],
    ]
    assert rows[20].startswith("(20 of 1,000 rows, ")
    assert len(rows) < 28


@every_audit
def test_other_examples_and_levels_are_refused(audit, members):
    before, after = pair(members)
    with pytest.raises(InputError, match="compressed: got 100 examples, expected 200"):
        audit(before, population(2, members=members, examples=100))
    if "alpha" in inspect.signature(audit).parameters:
        with pytest.raises(InputError, match=r"alpha: got 5, expected a level in \(0, 1\)"):
            audit(before, after, alpha=5)


ONE = population(1, members=1)
WRONG_TYPES = {
    **dict(contributed("REFUSALS")),
    "gate": (
        lambda: gate(ONE, ONE, {"overall_drop_pp": 1}),
        "limits: got dict, expected tfaudit.Limits",
    ),
    "slices": (
        lambda: gate(ONE, ONE, slices=[1]),
        "slices: got list, expected the result of tfaudit",
    ),
    "looks": (lambda: gate(ONE, ONE, looks=None), "looks: got None, expected 1 to 1,000"),
    "alpha": (lambda: compare(ONE, ONE, alpha="5 %"), "alpha: got '5 %', expected a level in"),
    "margin": (
        lambda: compare(ONE, ONE, margin_pp=None),
        "margin_pp: got None, expected percentage",
    ),
    "centering": (
        lambda: class_impact(ONE, ONE, centering=np.ones(2)),
        "centering: got array.* expected 'member'",
    ),
    "compare": (
        lambda: compare(ONE, np.ones(200)),
        "compressed: got ndarray, expected tfaudit.Pred",
    ),
    "permutations": (
        lambda: chance(ONE, ONE, permutations=None),
        "permutations: got None, expected a",
    ),
    "robustness": (
        lambda: robustness(ONE, ONE),
        "baseline: got Predictions, expected Predictions by",
    ),
    "names": (
        lambda: Predictions.from_top1([0], [0], class_names=5),
        "class_names: got int, expected",
    ),
    "ids": (
        lambda: Predictions.from_top1([0], [0], example_ids=ONE),
        r"example_ids: got shape \(\)",
    ),
    "store": (lambda: open_store(None), "directory: got None, expected a path"),
    "labels": (lambda: read_predictions(None, []), "labels: got None, expected a path"),
    "files": (
        lambda: read_predictions("labels.csv", 5),
        "files: got int, expected a path, or a list",
    ),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_other_types_are_refused_in_one_line(name):
    call, message = WRONG_TYPES[name]
    with pytest.raises(InputError, match=f"^{message}"):
        call()
