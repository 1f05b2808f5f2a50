"""The hypotheses of [R] 7 against scipy.stats, in the layout of its tables 1 to 9."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tfaudit.extensions.distortion.slope_tables import p_table
from tfaudit.extensions.distortion.slope_tests import slope_tests

MODELS, METHODS, LEVELS = (
    ("resnet20", "resnet32", "resnet110"),
    ("magnitude", "gradient", "undecayed"),
    (2, 4, 10),
)


def simulated(datasets=("cifar10",), models=MODELS, methods=METHODS, members=8):
    """Slopes that grow with the level, share the noise of their dense parent, and shrink with the model."""
    rng = np.random.default_rng(5)
    rows = []
    for dataset, (i, model) in itertools.product(datasets, enumerate(models)):
        parents = rng.normal(size=members)
        for (j, method), level in itertools.product(enumerate(methods), LEVELS):
            alphas = (
                1
                + 0.03 * level
                - 0.03 * i
                + 0.01 * j
                + 0.1 * parents
                + 0.05 * rng.normal(size=members)
            )
            rows += [
                (dataset, model, method, level, member, alpha)
                for member, alpha in enumerate(alphas)
            ]
    return pd.DataFrame(rows, columns=["dataset", "model", "method", "level", "member", "alpha"])


SLOPES = simulated()
CONSECUTIVE = [*itertools.pairwise(MODELS)]
EVERY_TWO = [*itertools.combinations(METHODS, 2)]


def p_value(first, second, *, paired, alternative="two-sided", **_):
    if paired:
        return stats.ttest_rel(first, second, alternative=alternative).pvalue
    return stats.ttest_ind(first, second, equal_var=False, alternative=alternative).pvalue


def sample(slopes=SLOPES, **chosen):
    for name, value in chosen.items():
        slopes = slopes[slopes[name] == value]
    return slopes["alpha"].to_numpy()


@pytest.mark.parametrize(
    ("chosen", "factor", "options", "columns", "pairs"),
    [
        # [R] tables 1 to 4: consecutive levels; 5 and 6: sizes of a model; 8: all pairs of methods.
        ({"method": "magnitude"}, "level", {"paired": True}, "model", [(2, 4), (4, 10)]),
        ({"method": "undecayed"}, "model", {"paired": False}, "level", CONSECUTIVE),
        ({"model": "resnet32"}, "method", {"paired": True, "pairs": "all"}, "level", EVERY_TWO),
    ],
)
@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_tables_of_the_paper(chosen, factor, options, columns, pairs, alternative):
    slopes = SLOPES[(SLOPES[list(chosen)] == list(chosen.values())).all(axis=1)]
    shuffled = slopes.sample(frac=1, random_state=0) if factor == "level" else slopes
    table = p_table(
        slope_tests(shuffled, factor, alternative=alternative, **options), columns=columns
    )
    assert list(table.index) == [f"{first} vs {second}" for first, second in pairs]
    assert set(table.columns) == set(SLOPES[columns])
    for column, (first, second) in itertools.product(table.columns, pairs):
        sides = [sample(slopes, **{columns: column, factor: side}) for side in (first, second)]
        reference = p_value(*sides, alternative=alternative, **options)
        expected = min(len(pairs) * reference, 1)
        assert table.loc[f"{first} vs {second}", column] == pytest.approx(expected)


def test_table_7_chosen_pairs_of_data_sets_whose_models_differ():
    small = simulated(("mnist",), ("lenet",), ("magnitude",), 5)
    slopes = pd.concat([small, simulated(("cifar10",), ("resnet56",), ("magnitude",))])
    options = {"paired": False, "alternative": "less", "pairs": [("mnist", "cifar10")]}
    # Nothing is comparable while models are held fixed.
    assert slope_tests(slopes, "dataset", **options).empty
    tests = slope_tests(slopes, "dataset", within=["level"], **options)
    assert tests[["members_first", "members_second"]].to_numpy().tolist() == [[5, 8]] * 3
    for row in tests.itertuples():
        sides = [sample(slopes, dataset=name, level=row.level) for name in ("mnist", "cifar10")]
        assert row.p == pytest.approx(p_value(*sides, **options))
        assert row.p_bonferroni == row.p  # one row in its column


def test_table_9_two_methods_corrected_by_all_cells():
    pair = ("magnitude", "undecayed")
    tests = slope_tests(SLOPES, "method", paired=True, pairs=[pair], family="all")
    table = p_table(tests, columns="model")
    assert table.index.name == "level"
    assert table.shape == (3, 3)
    for level, model in itertools.product(LEVELS, MODELS):
        sides = [sample(model=model, method=method, level=level) for method in pair]
        assert table.loc[level, model] == pytest.approx(min(9 * p_value(*sides, paired=True), 1))


def test_pairs_are_matched_by_member_and_the_unmatched_left_out():
    slopes = SLOPES.query("model == 'resnet20' and method == 'magnitude' and level < 10")
    missing = slopes.drop(slopes.query("level == 4 and member == 3").index).sample(
        frac=1, random_state=1
    )
    (row,) = slope_tests(missing, "level", paired=True).itertuples()
    first, second = (np.delete(sample(slopes, level=level), 3) for level in (2, 4))
    assert (row.members_first, row.members_second) == (7, 7)
    assert row.p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert (row.mean_first, row.difference) == pytest.approx(
        (first.mean(), (first - second).mean())
    )


def test_tests_that_cannot_be_made_are_nan_and_do_not_count():
    slopes = SLOPES.query("model == 'resnet20' and method == 'magnitude'").copy()
    slopes.loc[(slopes["level"] == 10) & (slopes["member"] == 0), "alpha"] = np.nan
    tests = slope_tests(slopes, "level", paired=True)
    assert list(tests["p"].isna()) == [False, True]
    assert tests["p_bonferroni"][0] == tests["p"][0]
    assert (
        slope_tests(slopes[slopes["member"] == 1], "level", paired=True)["p_bonferroni"]
        .isna()
        .all()
    )
