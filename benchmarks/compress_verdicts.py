"""What searches of `tfaudit compress` find: share that pass, size, and the loss on images that no search had.

    python -m benchmarks.compress_verdicts [DATA ...] [--splits 100] [--data-dir DIR]

A small network is trained on each data set. Each split draws the images of a search at random from the test images,
divides them into a selection part and a held-out part, and applies every rule of `passing_files` to the same files,
without and with those that need training data. The loss is that on the test images that the search did not draw; a pass
is wrong if it exceeds a limit there.

The candidates are those of a search without remedies, slow kinds and layers in float by cost. Each is made once, when a
split first needs it, from training images, so that it depends on no test image. It is predicted once on all of them.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import keras
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.first_screens import printed
from tests.builders.simulated_searches import passing_files
from tfaudit import Limits, Predictions, load_dataset
from tfaudit.audits.gate.gate import Verdict, gate
from tfaudit.audits.gate.measurements import measure
from tfaudit.compress.calibration_data import CALIBRATION_IMAGES
from tfaudit.compress.keras_archive import weight_bytes
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.representative import representative_part
from tfaudit.extensions.search.candidate_models import CandidateMaker
from tfaudit.extensions.search.candidate_store import BASELINE, CandidateStore
from tfaudit.extensions.search.candidates import Candidate, Preparation
from tfaudit.extensions.search.search_inputs import Parts, SearchInputs, SourceModel
from tfaudit.extensions.search.search_settings import SearchSettings
from tfaudit.extensions.search.smallest_file import NO_FILE, NOT_TRIED
from tfaudit.extensions.search.trials import Trial, Trials
from tfaudit.models.registry import build_model
from tfaudit.study.quantization import KINDS

DEFAULT, LOOSE = ((1, 5), (2, 12))
NETWORKS = {
    "digits": ("digits_convnet", 30, 0.7, [(4, 25)]),
    "fashion_mnist": ("lenet_r", 4, 0.5, [DEFAULT, LOOSE]),
    "cifar10": ("cifar_convnet", 6, 0.5, [DEFAULT, LOOSE]),
}
"""Architecture, epochs of training, share of the test images that a search has; and limits on the drop of accuracy and
of any class's recall, points."""

TRAINED, TUNED = 12_000, 4000
"""Most training images of a network, and of its pruned candidates."""


def network(name: str, train: Dataset, epochs: int) -> keras.Model:
    """Return a trained network."""
    keras.utils.set_random_seed(0)
    model = build_model(name, train.image_shape, train.num_classes)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(train.images, train.labels, batch_size=128, epochs=epochs, verbose=0)
    return model


class Files:
    """The files of all candidates of a model, and their predictions on the test images.

    Args:
        path: the model.
        folder: where trained candidates are stored.
        train: training images.
        test: test images.
    """

    def __init__(self, path: Path, folder: Path, train: Dataset, test: Dataset) -> None:
        source = SourceModel(path)
        calibration = representative_part(train, CALIBRATION_IMAGES, 0)
        self.test, self._settings = test, SearchSettings(batch_size=500)
        inputs = SearchInputs(source, Parts(test, test, test, calibration, train), self._settings)
        self.plan = [
            one
            for one in inputs.plan
            if not (KINDS[one.kind].slow or one.layers or (one.pruned and one.pruned.remedies))
        ]
        self.plain = [one.key for one in self.plan if one.is_plain]
        self.fallbacks = [one.key for one in self.plan if one.is_fallback]
        store = CandidateStore(folder, inputs)
        self._maker = CandidateMaker(inputs, store, is_over=lambda: False)
        self.baseline_bytes = weight_bytes(path)[0]
        before = self._settings.ranked(source.forward, test)
        store.save(BASELINE, before, self.baseline_bytes)
        self._ranked = {BASELINE: before}
        self._sizes: dict[str, int] = {}

    def size(self, candidate: Candidate) -> int:
        """Return the bytes of a candidate's file, 0 if there is none; make it if needed."""
        if candidate.key not in self._sizes:
            try:
                content = self._maker.flatbuffer(candidate)
                file = self._settings.file(content)
                self._ranked[candidate.key] = self._settings.ranked(file, self.test)
                self._sizes[candidate.key] = len(content)
            except ConversionError:
                self._sizes[candidate.key] = 0
        return self._sizes[candidate.key]

    def bytes_of(self, key: str) -> int:
        """Return the bytes of a candidate's file that was made."""
        return self._sizes[key]

    def model(self, preparation: Preparation) -> str:
        """Return the key of the predictions of a model before it is quantized; train it if needed."""
        key = preparation.key or BASELINE
        if key not in self._ranked:
            self._ranked[key] = self._maker.predictions(preparation).member(0)
        return key

    def verdict(self, key: str, rows: np.ndarray, limits: Limits, alpha: float = 0.05) -> Verdict:
        """Return the gate's verdict on a file or model, on some rows of the test images."""
        return gate(*self.sides(key, rows), limits, alpha=alpha)

    def sides(self, key: str, rows: np.ndarray) -> tuple[Predictions, Predictions]:
        """Return the predictions of the model and of a file or model on some rows of the test images."""
        part = self.test.select(rows, split="test")
        before, after = (
            Predictions.on(part, self._ranked[one].take(rows)) for one in (BASELINE, key)
        )
        return before, after

    @property
    def accuracy(self) -> float:
        """Accuracy of the model on the test images, a share."""
        return float(Predictions.on(self.test, self._ranked[BASELINE]).accuracy()[0])


def tried(files: Files, rows: np.ndarray, limits: Limits, *, trained: bool) -> Trials:
    """Return the trials of a search with these rows as selection part: it leaves out what need not be tried."""
    trials = Trials()
    for candidate in files.plan:
        if trained or not candidate.preparation.key:
            trials.by_key[candidate.key] = _trial(trials, files, candidate, rows, limits)
    return trials


def _trial(
    trials: Trials, files: Files, candidate: Candidate, rows: np.ndarray, limits: Limits
) -> Trial:
    if reason := trials.needless(candidate):
        return Trial(NOT_TRIED, reason)
    preparation = candidate.preparation
    if not trials.is_judged(preparation):
        model = files.model(preparation)
        trials.judge_model(preparation, files.verdict(model, rows, limits))
    if reason := trials.float_failure(preparation):
        return Trial(NOT_TRIED, reason)
    size = files.size(candidate)
    if not size:
        return Trial(NO_FILE, "TensorFlow Lite makes no file.")
    if reason := trials.too_large(candidate, size):
        return Trial(NOT_TRIED, reason, size)
    verdict = files.verdict(candidate.key, rows, limits)
    return Trial(verdict.outcome, "", size, verdict=verdict)


def searches(
    files: Files, share: float, limits: Limits, seed: int, *, trained: bool
) -> list[dict[str, object]]:
    """Return what each rule finds with a random share of the test images, of which half are held out."""
    labels = files.test.labels
    asked, others = train_test_split(
        np.arange(len(labels)), train_size=share, random_state=seed, stratify=labels
    )
    selection, held_out = train_test_split(
        asked, test_size=0.5, random_state=seed, stratify=labels[asked]
    )
    trials = tried(files, selection, limits, trained=trained)

    def verdict(key: str, on_all: bool, alpha: float) -> Verdict:
        if key in files.fallbacks:  # the trials left it out if a smaller file passes
            files.size(next(one for one in files.plan if one.key == key))
        return files.verdict(key, asked if on_all else held_out, limits, alpha)

    found = []
    for rule, key in passing_files(trials, files.plain, verdict, files.fallbacks).items():
        row: dict[str, object] = {"limits": limits.in_words(), "trained": trained, "judged": rule}
        size = files.baseline_bytes if key is None else files.bytes_of(key)
        row |= {"passes, %": 100.0 * (key is not None), "kB or the model's": size / 1e3}
        if key is not None:
            truth = measure(*files.sides(key, others))
            loss, worst = float(truth.overall.loss[0]), float(truth.classes.loss.max())
            over = loss > limits.overall_drop_pp or worst > limits.worst_class_drop_pp
            plain = key in {*files.plain, *files.fallbacks}
            row |= {"not plain, %": 100.0 * (not plain), "kB": size / 1e3}
            row |= {"loss": loss, "of the worst class": worst, "wrong, %": 100.0 * over}
        found.append(row)
    return found


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="*", default=list(NETWORKS))
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--data-dir")
    options = parser.parse_args()
    for name in options.datasets:
        architecture, epochs, share, drops = NETWORKS[name]
        train, test = (
            load_dataset(name, split, data_dir=options.data_dir) for split in ("train", "test")
        )
        train = train.take(TRAINED)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.keras"
            network(architecture, train, epochs).save(path)
            files = Files(path, Path(folder), train.take(TUNED), test)
            print(f"{name}: {100 * files.accuracy:.1f} %, {files.baseline_bytes / 1e3:.1f} kB\n")
            for overall, worst in drops:
                limits = Limits(overall_drop_pp=overall, worst_class_drop_pp=worst)
                found = [
                    row
                    for trained in (False, True)
                    for seed in range(options.splits)
                    for row in searches(files, share, limits, seed, trained=trained)
                ]
                groups = pd.DataFrame(found).groupby(["limits", "trained", "judged"], sort=False)
                printed(groups.mean().reset_index())


if __name__ == "__main__":
    main()
