"""One condition: its images once, then every member that has not seen them."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tfaudit.compress.litert.inference import predict
from tfaudit.datasets.benchmarks import Benchmark
from tfaudit.errors import InputError
from tfaudit.population.condition_images import ConditionImages, condition_images
from tfaudit.population.plan import missing_evaluations
from tfaudit.population.stored_examples import load_test, pngs
from tfaudit.population.stored_models import StoredModels
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition

__all__ = ["Evaluator"]


class Evaluator:
    """Predicts under the conditions of a study with its members, in one process.

    Data, the images of the last condition and one traced model are kept; what a member answers depends on its model and
    the condition alone.

    Args:
        store: holds the members, and takes the predictions.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._test = load_test(store.study)
        self._models = StoredModels(store)
        self._images = functools.lru_cache(maxsize=1)(self._new_images)

    def prepare(self, condition: Condition) -> None:
        """Makes the images, and stores the examples of a benchmark set.

        Raises:
            InputError: the images cannot be had.
        """
        self._images(condition)

    def make(self, condition: Condition, tell: Callable[[int], None]) -> None:
        """Predicts with every member that is missing under the condition, and stores each answer as it is there.

        A member that cannot be evaluated does not keep the others from it.

        Args:
            condition: one of the study's.
            tell: is told how many are left, after each.

        Raises:
            OSError: the predictions cannot be written.
            RuntimeError: members could not be evaluated.
        """
        missing = missing_evaluations(self._store, condition)
        left = len(missing)
        problems: list[tuple[str, Exception]] = []
        for variant, member in missing:
            try:
                ranked = self._predicted(condition, variant, member)
            except Exception as problem:
                problems.append((f"{variant}/{member:03d}", problem))
                continue
            self._store.evaluations.save(variant, member, condition.split, ranked)
            left -= 1
            tell(left)
        if problems:
            (name, first), others = problems[0], len(problems) - 1
            raise RuntimeError(f"{name}{f' and {others} more' * bool(others)}: {first}") from first

    def _predicted(self, condition: Condition, variant: str, member: int) -> RankedClasses:
        shown, k = self._images(condition), min(self._store.study.top_k, self._test.num_classes)
        return predict(self._models.open(variant, member), shown.images, k=k, classes=shown.classes)

    def _new_images(self, condition: Condition) -> ConditionImages:
        self._images.cache_clear()  # before the next ones are made: two sets of ImageNet's size need not fit
        shown = condition_images(self._store.study, self._test, condition)
        if shown.benchmark is not None:
            self._store_examples(condition, shown.benchmark)
        return shown

    def _store_examples(self, condition: Condition, benchmark: Benchmark) -> None:
        """Stores id, label and groups of a set's examples; their images only where they are not one test set anew."""
        split, ids = condition.split, benchmark.dataset.example_ids.tolist()
        try:
            there = self._store.examples(split, images=False, groups=False)
            if there["example"].tolist() == ids and there["label"].tolist() == benchmark.labels.tolist():
                return
            self._store.evaluations.forget(split)  # they are of other examples
        except InputError:  # missing or damaged
            pass
        images = [b""] * len(ids) if condition.severity else pngs(benchmark.dataset)
        self._store.save_examples(
            split, benchmark.labels, ids, self._test.class_names, images, benchmark.dataset.groups
        )
