"""Conditions: names of splits, benchmark sets by name, and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.refusals import assert_refused
from tfaudit import InputError
from tfaudit.datasets.corruptions.registry import CORRUPTIONS
from tfaudit.study.conditions import Condition, all_conditions, benchmark_condition


@pytest.mark.parametrize(
    ("name", "condition", "split"),
    [
        ("cifar10_corrupted/shot_noise_5", ("cifar10_corrupted/shot_noise", 5), "cifar10_corrupted.shot_noise-5"),
        ("imagenet2012_corrupted/fog_1", ("imagenet2012_corrupted/fog", 1), "imagenet2012_corrupted.fog-1"),
        ("mnist_corrupted/dotted_line", ("mnist_corrupted/dotted_line", 0), "mnist_corrupted.dotted_line"),
        ("imagenet_v2/threshold-0.7", ("imagenet_v2/threshold-0.7", 0), "imagenet_v2.threshold-0.7"),
        ("imagenet_a", ("imagenet_a", 0), "imagenet_a"),
        ("imagenet_a/restricted", ("imagenet_a/restricted", 0), "imagenet_a.restricted"),
        ("mock:imagenet_r", ("mock:imagenet_r", 0), "mock.imagenet_r"),
    ],
)  # fmt: skip
def test_benchmark_sets_by_name(name, condition, split):
    benchmark = benchmark_condition(name)
    assert benchmark == condition
    assert benchmark.split == split
    assert not benchmark.is_computed
    assert benchmark.dataset == name


@given(
    st.sampled_from([*CORRUPTIONS]),
    st.sampled_from([*CORRUPTIONS]),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_every_condition_has_its_own_split_which_is_a_file_name(first, second, low, high):
    conditions = all_conditions(
        [first], [low], [f"cifar10_corrupted/{second}_{high}", "imagenet_a", "mnist_corrupted/fog"]
    )
    assert conditions[0].is_computed
    splits = [condition.split for condition in conditions]
    assert len(set(splits)) == len(splits) == 4
    assert all(re.fullmatch(r"[\w.\-]+", split) for split in splits)
    assert "test" not in splits


def test_every_severity_of_a_corruption_then_the_sets():
    conditions = all_conditions(["snow", "fog"], [5, 1], ["imagenet_a", "imagenet2012_corrupted/*"])
    assert conditions == (("snow", 5), ("snow", 1), ("fog", 5), ("fog", 1), ("imagenet_a", 0))


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (("fog", [1], []), "corruptions: got 'f', expected 'gaussian_noise"),
        ((["fog"], [6], []), "severities: got 6, expected 1, 2"),
        ((["fog"] * 2, [1], []), r"corruptions: got \['fog', 'fog'\], expected distinct"),
        (([], [1], ["imagenet_a"] * 2), "benchmarks: got .*, expected distinct values"),
        (([], [1], ["fog"]), "benchmarks: got 'fog', expected NAME, NAME/CONFIG"),
        (([], [1], ["/*"]), r"benchmarks: got '/\*', expected NAME/\*"),
        (([], [1], ["imagenet_v2:3.0.0"]), "benchmarks: got 'imagenet_v2:3.0.0', expected NAME"),
        (([], [1], ["cifar10_corrupted"]), "expected cifar10_corrupted/CORRUPTION_SEVERITY"),
        (([], [1], ["cifar10_corrupted/fog_6"]), "got 'cifar10_corrupted/fog_6', expected"),
    ],
)
def test_what_is_refused_is_one_line(conditions, message):
    assert_refused(message, all_conditions, *conditions)


def test_a_computed_corruption_has_no_data_set():
    with pytest.raises(InputError, match="condition: got 'fog 3', computed from the test set"):
        _ = Condition("fog", 3).dataset
