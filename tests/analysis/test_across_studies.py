"""Several studies have a name each, or are refused."""

import pytest

from tests.builders.studies import make_study
from tfaudit.analysis.across_studies import named_studies
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.study.variants import Pruned


def test_studies_of_one_recipe_are_told_apart_by_model_and_data_set(store, tmp_path):
    settings = {"name": "grid", "variants": (Pruned(0.5),)}
    studies = [
        make_study(tmp_path / model, model=model, **settings) for model in ("lenet_r", "lenet_p")
    ]
    grid = [StudyAudit.read(store, permutations=0) for store in studies]
    assert [*named_studies(grid).items()] == [
        ("lenet_r on digits", grid[0]),
        ("lenet_p on digits", grid[1]),
    ]
    among_others = named_studies([*grid, StudyAudit.read(store)])
    name = store.study.name
    assert [*among_others] == ["grid, lenet_r on digits", "grid, lenet_p on digits", name]
    with pytest.raises(
        InputError,
        match="two called lenet_r on digits, expected studies of different names, models",
    ):
        named_studies([grid[0], grid[0]])
    with pytest.raises(InputError, match="studies: got 1, expected two or more"):
        named_studies(grid[:1])
