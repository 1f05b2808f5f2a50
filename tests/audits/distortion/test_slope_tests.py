"""The hypotheses of [R] 7 against scipy.stats, in the layout of its tables 1 to 9."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tfaudit.audits.distortion.slope_tables import p_table
from tfaudit.audits.distortion.slope_tests import slope_tests
from tfaudit.errors import InputError

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


def sample(slopes=SLOPES, **chosen):
    for name, value in chosen.items():
        slopes = slopes[slopes[name] == value]
    return slopes["alpha"].to_numpy()


def test_tables_1_to_4_consecutive_levels():
    slopes = SLOPES[SLOPES["method"] == "magnitude"]
    tests = slope_tests(
        slopes.sample(frac=1, random_state=0).sort_values("model"),
        "level",
        paired=True,
        alternative="less",
    )
    table = p_table(tests, columns="model")
    assert list(table.index) == ["2 vs 4", "4 vs 10"]
    assert set(table.columns) == set(MODELS)
    for model, (first, second) in itertools.product(MODELS, ((2, 4), (4, 10))):
        reference = stats.ttest_rel(
            *(sample(slopes, model=model, level=level) for level in (first, second)),
            alternative="less",
        )
        assert table.loc[f"{first} vs {second}", model] == pytest.approx(
            min(2 * reference.pvalue, 1)
        )


@pytest.mark.parametrize("equal_var", [False, True])
def test_tables_5_and_6_sizes_of_a_model(equal_var):
    slopes = SLOPES[SLOPES["method"] == "undecayed"]
    tests = slope_tests(slopes, "model", paired=False, alternative="greater", equal_var=equal_var)
    table = p_table(tests, columns="level")
    assert list(table.index) == ["resnet20 vs resnet32", "resnet32 vs resnet110"]
    assert list(table.columns) == list(LEVELS)
    for level, (first, second) in itertools.product(LEVELS, itertools.pairwise(MODELS)):
        samples = (sample(slopes, model=model, level=level) for model in (first, second))
        reference = stats.ttest_ind(*samples, equal_var=equal_var, alternative="greater")
        assert table.loc[f"{first} vs {second}", level] == pytest.approx(
            min(2 * reference.pvalue, 1)
        )


def test_table_7_chosen_pairs_of_data_sets_whose_models_differ():
    slopes = pd.concat(
        [
            simulated(("mnist",), ("lenet",), ("magnitude",), 5),
            simulated(("cifar10",), ("resnet56",), ("magnitude",)),
        ]
    )
    options = {"paired": False, "alternative": "less", "pairs": [("mnist", "cifar10")]}
    assert slope_tests(
        slopes, "dataset", **options
    ).empty  # nothing is comparable while models are held fixed
    tests = slope_tests(slopes, "dataset", within=["level"], **options)
    assert list(tests["members_first"]) == [5] * 3
    assert list(tests["members_second"]) == [8] * 3
    for row in tests.itertuples():
        samples = (
            sample(slopes, dataset=dataset, level=row.level) for dataset in ("mnist", "cifar10")
        )
        assert row.p == pytest.approx(
            stats.ttest_ind(*samples, equal_var=False, alternative="less").pvalue
        )
        assert row.p_bonferroni == row.p  # one row in its column


def test_table_8_all_pairs_of_methods():
    slopes = SLOPES[SLOPES["model"] == "resnet32"]
    tests = slope_tests(slopes, "method", paired=True, pairs="all")
    table = p_table(tests, columns="level")
    assert list(table.index) == [
        "magnitude vs gradient",
        "magnitude vs undecayed",
        "gradient vs undecayed",
    ]
    for level, (first, second) in itertools.product(LEVELS, itertools.combinations(METHODS, 2)):
        reference = stats.ttest_rel(
            *(sample(slopes, method=method, level=level) for method in (first, second))
        )
        assert table.loc[f"{first} vs {second}", level] == pytest.approx(
            min(3 * reference.pvalue, 1)
        )


def test_table_9_two_methods_corrected_by_all_cells():
    tests = slope_tests(
        SLOPES, "method", paired=True, pairs=[("magnitude", "undecayed")], family="all"
    )
    table = p_table(tests, columns="model")
    assert table.index.name == "level"
    assert table.shape == (3, 3)
    for level, model in itertools.product(LEVELS, MODELS):
        samples = (
            sample(model=model, method=method, level=level) for method in ("magnitude", "undecayed")
        )
        assert table.loc[level, model] == pytest.approx(
            min(9 * stats.ttest_rel(*samples).pvalue, 1)
        )


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


def test_each_column_has_its_own_consecutive_levels():
    slopes = SLOPES[(SLOPES["model"] != "resnet32") | (SLOPES["level"] != 4)]
    tests = slope_tests(slopes, "level", paired=True)
    pairs = tests[tests["model"] == "resnet32"][["first", "second"]].drop_duplicates()
    assert pairs.to_numpy().tolist() == [[2, 10]]


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


def test_equal_slopes():
    slopes = pd.concat([SLOPES.query("level == 2").assign(level=level) for level in (2, 4)])
    for alternative, p in (("two-sided", 1), ("less", 0.5)):
        tests = slope_tests(slopes, "level", paired=True, alternative=alternative)
        assert set(tests["p"]) == {p}


@pytest.mark.slow
def test_under_the_null_a_column_errs_in_at_most_5_percent():
    """400 columns of 4 paired tests of equal means; standard error about 1 point."""
    rng = np.random.default_rng(0)
    index = itertools.product(range(400), (1, 2, 4, 10, 20), range(6))
    slopes = pd.DataFrame(index, columns=["model", "level", "member"])
    slopes["alpha"] = rng.normal(size=len(slopes))
    wrong = slope_tests(slopes, "level", paired=True).groupby("model")["p_bonferroni"].min() <= 0.05
    assert 0.015 < wrong.mean() < 0.08


@pytest.mark.parametrize(
    ("factor", "options", "message"),
    [
        ("size", {}, "factor: got 'size', expected dataset, model, method, level"),
        (
            "level",
            {"within": ["level"]},
            r"within: got \['level'\], expected names among dataset, model, method",
        ),
        ("level", {"family": "row"}, "family: got 'row', expected column or all"),
        (
            "level",
            {"pairs": "some"},
            "pairs: got 'some', expected consecutive, all or a list of pairs",
        ),
        ("level", {"pairs": [(2, 3)]}, r"pairs: got \(2, 3\), expected pairs of 2, 4, 10"),
        ("level", {"alternative": "more"}, "alternative: (got )?'more'"),
        (
            "level",
            {"within": ["model"]},
            "within: got model \\(at level 2, model resnet20 member 0 has several slopes\\)",
        ),
    ],
)
def test_bad_input(factor, options, message):
    with pytest.raises(InputError, match=message):
        slope_tests(SLOPES, factor, paired=True, **options)


def test_a_table_needs_a_factor_held_fixed():
    tests = slope_tests(SLOPES, "level", paired=True)
    with pytest.raises(
        InputError,
        match="columns: got 'level', expected a factor that the tests hold fixed \\(dataset, model, method",
    ):
        p_table(tests, columns="level")
