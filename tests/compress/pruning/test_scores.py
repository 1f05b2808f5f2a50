from pathlib import Path

from numpy.testing import assert_array_equal

from tfaudit.compress.pruning.scores import GRANULARITIES, draws_for

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "pruning.md"


def test_draws_depend_on_seed_and_position_alone():
    first = draws_for(0, (50,), 7)
    assert_array_equal(first, draws_for(0, (50,), 7))
    assert (first != draws_for(1, (50,), 7)).any()
    assert (first != draws_for(0, (50,), 8)).any()
    assert ((first >= 0) & (first < 1)).all()


def test_the_documentation_lists_every_method():
    rows = [line for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| `")]
    for granularity, methods in GRANULARITIES.items():
        listed = " ".join(row for row in rows if f"{granularity}s" in row.split("|")[2])
        assert not {method for method in methods if f"`{method}`" not in listed}, granularity
