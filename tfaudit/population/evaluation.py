"""Evaluation of members under the conditions of a study."""

import contextlib
import functools
from collections.abc import Callable

from tfaudit.compress.litert.inference import predict_classifier
from tfaudit.datasets.benchmarks import Benchmark
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.errors import InputError
from tfaudit.population.condition_images import ConditionImages, condition_images
from tfaudit.population.plan import missing_evaluations
from tfaudit.population.stored_examples import load_test, preview_bytes
from tfaudit.population.stored_models import StoredModels
from tfaudit.population.transient_errors import is_transient
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition


class Evaluator:
    """Evaluates a study's members under its conditions, in one process.

    It reuses data, the images of the last condition and one model, yet predictions depend on the member's model
    and the condition alone. `test` is the test set; by default it is loaded.
    """

    def __init__(self, store: Store, test: Dataset | None = None) -> None:
        self._store = store
        self._test = load_test(store.study) if test is None else test
        store.require_same_data(test=Fingerprint.of(self._test))
        self._models = StoredModels(store, self._test)
        self._images = functools.lru_cache(maxsize=1)(self._new_images)

    def prepare(self, condition: Condition) -> None:
        """Compute or load the images, and store a benchmark set's examples; missing images raise `InputError`."""
        self._images(condition)

    def evaluate(self, condition: Condition, report: Callable[[int], None]) -> None:
        """Predict with every member whose evaluation is missing, store each at once, and report how many are left.

        A member that cannot be evaluated does not stop the others.

        Raises:
            OSError: the predictions cannot be written.
            RuntimeError: members could not be evaluated.
        """
        missing = missing_evaluations(self._store, condition)
        left = len(missing)
        k = min(self._store.study.top_k, self._test.num_classes)
        problems: list[tuple[str, Exception]] = []
        for variant, member in missing:
            try:
                inputs = self._images(condition)
                model = self._models.open(variant, member)
                ranked = predict_classifier(model, inputs.images, k=k, classes=inputs.classes)
            except Exception as problem:
                problems.append((f"{variant}/{member:03d}", problem))
                continue
            self._store.evaluations.save(variant, member, condition.split, ranked)
            left -= 1
            report(left)
        if problems:
            name, first = problems[0]
            # An error that may pass is taken as the cause, so that the job is tried again.
            cause = next((problem for _, problem in problems if is_transient(problem)), first)
            more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
            raise RuntimeError(f"{name}{more}: {first}") from cause

    def _new_images(self, condition: Condition) -> ConditionImages:
        self._images.cache_clear()  # first, since two sets of ImageNet's size may not fit
        inputs = condition_images(self._store.study, self._test, condition)
        if inputs.benchmark is not None:
            self._store_examples(condition, inputs.benchmark)
        return inputs

    def _store_examples(self, condition: Condition, benchmark: Benchmark) -> None:
        """Store id, label and groups of a set's examples, and their images unless the set corrupts a test set."""
        split = condition.split
        dataset = benchmark.dataset
        ids = dataset.example_ids.tolist()
        labels = benchmark.labels
        with contextlib.suppress(InputError):  # missing or damaged
            stored = self._store.examples(split, images=False, groups=False)
            if stored["example"].tolist() == ids and stored["label"].tolist() == labels.tolist():
                return
            self._store.evaluations.delete(split)  # its examples changed
        images = [b""] * len(ids) if condition.severity else preview_bytes(dataset)
        self._store.save_examples(
            split, labels, ids, self._test.class_names, images, dataset.groups
        )
