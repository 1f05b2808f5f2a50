"""Files of predictions as people and programs write them: the plan of each file, and its figures by scikit-learn."""

import dataclasses
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.special
from sklearn.metrics import accuracy_score, recall_score

from tests.builders.refusals import assert_refused
from tfaudit.readers.prediction_files import read_predictions

EXAMPLES = 90
NAMES = np.array(["cat", "dog", "elk"])


def made_up(classes: int) -> SimpleNamespace:
    """Labels and scores of a model that errs."""
    rng = np.random.default_rng(classes)
    y = np.arange(EXAMPLES) % classes
    logits = 1.5 * np.eye(classes)[y] + rng.normal(size=(EXAMPLES, classes))
    return SimpleNamespace(
        y=y,
        logits=logits,
        shares=scipy.special.softmax(logits, axis=1),
        top=logits.argmax(1),
        ids=rng.permutation(1000)[:EXAMPLES],
        files=np.array([f"{i:03d}.jpg" for i in rng.permutation(EXAMPLES)]),
        noise=rng.random(EXAMPLES),
        names=NAMES[:classes],
        order=rng.permutation(EXAMPLES),
    )


TWO, THREE, TWELVE = made_up(2), made_up(3), made_up(12)


def columns(names, values) -> dict[str, Any]:
    """Columns with these names."""
    return dict(zip(names, values.T, strict=True))


@dataclasses.dataclass(frozen=True)
class Layout:
    """One way to write predictions.

    Attributes:
        origin: who writes so.
        data: labels and scores.
        columns: columns of the file.
        plan: what they are read as.
        options: options of `read_predictions`.
        labels: columns of a file of labels; None if the predictions have them.
        classes: class list; empty without one.
        suffix: suffix of the file.
        index: whether pandas writes its index.
        left_out: numbers that a notice says are left out.
    """

    origin: str
    data: SimpleNamespace
    columns: dict[str, Any]
    plan: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    labels: dict[str, Any] | None = None
    classes: tuple[str, ...] = ()
    suffix: str = "csv"
    index: bool = False
    left_out: list[str] = dataclasses.field(default_factory=list)

    def write(self) -> dict[str, Any]:
        """Write the files; return the arguments of `read_predictions`."""
        frame = pd.DataFrame(self.columns)
        frame.index = pd.Index(self.data.order)
        path, labels = Path(f"p.{self.suffix}"), Path(f"p.{self.suffix}")
        (frame.to_csv if self.suffix == "csv" else frame.to_parquet)(path, index=self.index)
        if self.labels is not None:
            labels = Path("y.csv")
            pd.DataFrame(self.labels).to_csv(labels, index=False)
        arguments: dict[str, Any] = {"labels": labels, "files": [path], **self.options}
        if self.classes:
            Path("c.txt").write_text("\n".join(self.classes))
            arguments["classes"] = Path("c.txt")
        return arguments


LAYOUTS = [
    Layout(
        "Aequitas: one score, and attributes of people",
        TWO,
        dict(entity_id=TWO.ids, score=TWO.shares[:, 1], label_value=TWO.y, sex=NAMES[TWO.y]),
        "id 'entity_id'; label 'label_value'; score of class 1 'score'; left out 'sex' (text)",
        dict(id_name="entity_id", label_column="label_value"),
    ),
    Layout(
        "OpenML: the class, and a column of digits per class",
        TWELVE,
        {"class": TWELVE.y, **columns(map(str, range(12)), TWELVE.shares)},
        "label 'class'; score of class 0 '0', 1 '1', 2 '2', 3 '3', 4 '4' and 7 more",
        dict(label_column="class"),
    ),
    Layout(
        "OpenML: a run",
        THREE,
        {
            **dict(repeat=0, fold=0, row_id=THREE.ids, prediction=NAMES[THREE.top]),
            **dict(truth=NAMES[THREE.y]),
            **columns([f"confidence.{name}" for name in NAMES], THREE.shares),
        },
        "id 'row_id'; label 'truth'; prediction 'prediction'; left out 'repeat', 'fold', 'confidence.cat', "
        "'confidence.dog', 'confidence.elk' (beside 'prediction')",
        dict(id_name="row_id"),
    ),
    Layout(
        "scikit-learn: predict_proba with the names of the classes, and the index of the test set",
        THREE,
        {**columns(NAMES, THREE.shares), "label": NAMES[THREE.y]},
        "label 'label'; score of class cat 'cat', dog 'dog', elk 'elk'; left out 'Unnamed: 0' (index)",
        index=True,
    ),
    Layout(
        "scikit-learn: predict_proba of a shuffled frame in Parquet",
        THREE,
        columns(map(str, range(3)), THREE.shares),
        "score of class 0 '0', 1 '1', 2 '2'; left out '__index_level_0__' (index)",
        labels=dict(label=THREE.y),
        suffix="parquet",
        index=True,
    ),
    Layout(
        "automlbenchmark#212: columns in the order of text, 10 before 2",
        TWELVE,
        {
            **columns(
                [f"prediction_{i}" for i in sorted(range(12), key=str)],
                TWELVE.shares[:, sorted(range(12), key=str)],
            ),
            "truth": TWELVE.y,
        },
        "label 'truth'; score of class 0 'prediction_0', 1 'prediction_1', 2 'prediction_2', 3 'prediction_3', "
        "4 'prediction_4' and 7 more",
    ),
    Layout(
        "Kaggle: a submission of classes",
        TWELVE,
        dict(ImageId=TWELVE.ids, Label=TWELVE.top),
        "id 'ImageId'; prediction 'Label'",
        dict(id_name="ImageId", prediction_column="Label", label_column="digit"),
        labels=dict(digit=TWELVE.y[::-1], ImageId=TWELVE.ids[::-1]),
    ),
    Layout(
        "Kaggle: a submission of probabilities",
        TWO,
        dict(id=TWO.ids, target=TWO.shares[:, 1]),
        "id 'id'; score of class 1 'target'",
        dict(prediction_column="target"),
        labels=dict(id=TWO.ids, label=TWO.y),
    ),
    Layout(
        "Kaggle: a submission of a column per class, and a list of classes",
        THREE,
        {"image": THREE.files, **columns(NAMES[[2, 0, 1]], THREE.shares[:, [2, 0, 1]])},
        "id 'image'; score of class elk 'elk', cat 'cat', dog 'dog'",
        dict(id_name="image"),
        labels=dict(image=THREE.files[::-1], label=THREE.y[::-1]),
        classes=tuple(NAMES),
    ),
    Layout(
        "H2O: the prediction by its own threshold, p0 and p1",
        TWO,
        dict(predict=TWO.top, p0=TWO.shares[:, 0], p1=TWO.shares[:, 1]),
        "prediction 'predict'; left out 'p0', 'p1' (beside 'predict')",
        labels=dict(label=TWO.y),
    ),
    Layout(
        "H2O: its probabilities, stated",
        TWO,
        dict(predict=1 - TWO.top, p0=TWO.shares[:, 0], p1=TWO.shares[:, 1]),
        "score of class 0 'p0', 1 'p1'; left out 'predict' (unlike 'p?')",
        dict(prediction_column="p?"),
        labels=dict(label=TWO.y),
    ),
    Layout(
        "tidymodels: .pred_NAME, with R's names of rows",
        THREE,
        {
            "": range(1, EXAMPLES + 1),
            **columns([f".pred_{name}" for name in NAMES], THREE.shares),
            "truth": NAMES[THREE.y],
        },
        "label 'truth'; score of class cat '.pred_cat', dog '.pred_dog', elk '.pred_elk'; "
        "left out 'Unnamed: 0' (index)",
    ),
    Layout(
        "R: a matrix as a data frame, classes counted from 1",
        THREE,
        {**columns(["V1", "V2", "V3"], THREE.logits), "label": THREE.y + 1},
        "label 'label'; score of class 1 'V1', 2 'V2', 3 'V3'",
    ),
    Layout(
        "two of ten digits, whose numbers are the names of the columns",
        TWO,
        {"digit": np.array([3, 8])[TWO.y], **columns(["3", "8"], TWO.shares)},
        "label 'digit'; score of class 3 '3', 8 '8'",
        dict(label_column="digit"),
    ),
    Layout(
        "KNIME: P (species=NAME)",
        THREE,
        {
            **columns([f"P (species={name})" for name in NAMES], THREE.shares),
            "species": NAMES[THREE.y],
        },
        "label 'species'; score of class cat 'P (species=cat)', dog 'P (species=dog)', elk 'P (species=elk)'",
        dict(label_column="species"),
    ),
    Layout(
        "Weka: actual, predicted, and the probability of the predicted class",
        THREE,
        {
            "inst#": range(1, EXAMPLES + 1),
            **dict(actual=[f"{i + 1}:{NAMES[i]}" for i in THREE.y]),
            **dict(predicted=[f"{i + 1}:{NAMES[i]}" for i in THREE.top]),
            **dict(prediction=THREE.shares.max(1)),
        },
        "label 'actual'; prediction 'predicted'; left out 'inst#', 'prediction' (beside 'predicted')",
        dict(prediction_column="predicted"),
    ),
    Layout(
        "Weights & Biases: a table with guess, truth and a score per digit",
        TWELVE,
        {
            **dict(id=TWELVE.ids, image=TWELVE.files, guess=TWELVE.top, truth=TWELVE.y),
            **columns([f"score_{i}" for i in range(12)], TWELVE.logits),
        },
        "id 'id'; label 'truth'; prediction 'guess'; left out 'image', 'score_0', 'score_1', 'score_2', 'score_3' "
        "and 8 more (beside 'guess')",
    ),
    Layout(
        "Weights & Biases: an evaluation table",
        THREE,
        dict(
            image_id=THREE.files,
            true_label=NAMES[THREE.y],
            predicted_label=NAMES[THREE.top],
            confidence=THREE.shares.max(1),
            correct=THREE.y == THREE.top,
        ),
        "label 'true_label'; prediction 'predicted_label'; left out 'image_id', 'confidence', 'correct' "
        "(beside 'predicted_label')",
    ),
    Layout(
        "MLflow: features, target and outputs",
        TWO,
        {"age": TWO.ids, "f1": TWO.noise, "target": TWO.y, "outputs": TWO.top},
        "label 'target'; prediction 'outputs'; left out 'age', 'f1' (beside 'outputs')",
        dict(prediction_column="outputs"),
    ),
    Layout(
        "a training loop: logits, the loss, and labels that are text",
        THREE,
        {"label": NAMES[THREE.y], **columns(NAMES, THREE.logits), "loss": THREE.noise},
        "label 'label'; score of class cat 'cat', dog 'dog', elk 'elk'; no score 'loss' (no class of c.txt)",
        classes=tuple(NAMES),
        left_out=["loss"],
    ),
    Layout(
        "a training loop: probabilities beside the epoch, which sum to 1 without it",
        THREE,
        {"epoch": 3, **columns(NAMES, THREE.shares), "label": NAMES[THREE.y]},
        "label 'label'; score of class cat 'cat', dog 'dog', elk 'elk'; no score 'epoch' (rows sum to 1 without it)",
        left_out=["epoch"],
    ),
    Layout(
        "PyTorch: numbered logits, the file and the loss",
        TWELVE,
        {
            "file": TWELVE.files,
            **columns([f"logit {i}" for i in range(12)], TWELVE.logits),
            "loss": TWELVE.noise,
        },
        "score of class 0 'logit 0', 1 'logit 1', 2 'logit 2', 3 'logit 3', 4 'logit 4' and 7 more; "
        "no score 'loss' (named unlike the scores); left out 'file' (text)",
        labels=dict(label=TWELVE.y),
        left_out=["loss"],
    ),
    Layout(
        "Keras: a sigmoid, whose largest value is a hair above 1",
        TWO,
        dict(probability=np.where(TWO.shares[:, 1] > 0.9, 1.0000001, TWO.shares[:, 1])),
        "score of class 1 'probability'",
        labels=dict(label=TWO.y),
    ),
    Layout(
        "Hugging Face: a pipeline's label and its score",
        TWO,
        dict(label=NAMES[TWO.top], score=TWO.shares.max(1)),
        "prediction 'label'; left out 'score' (beside 'label')",
        dict(label_column="label", prediction_column="label"),
        labels=dict(label=NAMES[TWO.y]),
    ),
    Layout(
        "Ludwig: a probability per class between a prefix and the name, and that of the predicted class",
        THREE,
        {
            **columns([f"pet_probabilities_{name}" for name in NAMES], THREE.shares),
            **dict(pet_probability=THREE.shares.max(1), pet=NAMES[THREE.y]),
        },
        "label 'pet'; score of class cat 'pet_probabilities_cat', dog 'pet_probabilities_dog', "
        "elk 'pet_probabilities_elk'; no score 'pet_probability' (rows sum to 1 without it)",
        dict(label_column="pet"),
        left_out=["pet_probability"],
    ),
    Layout(
        "AutoGluon: a column per class that is a number",
        THREE,
        {"rowid": THREE.ids, **columns(["0", "1", "2"], THREE.shares)},
        "id 'rowid'; score of class 0 '0', 1 '1', 2 '2'",
        dict(id_name="rowid"),
        labels=dict(rowid=THREE.ids[::-1], label=THREE.y[::-1]),
    ),
    Layout(
        "fastai: the classes of the vocabulary, one without examples",
        THREE,
        {
            **columns(
                [*NAMES, "owl"], np.column_stack([0.9 * THREE.shares, np.full(EXAMPLES, 0.1)])
            ),
            "label": NAMES[THREE.y],
        },
        "label 'label'; score of class cat 'cat', dog 'dog', elk 'elk', owl 'owl'",
    ),
    Layout(
        "a file of classes alone, as Ultralytics and others are asked for",
        THREE,
        {"filename": THREE.files, "class": NAMES[THREE.top]},
        "id 'filename'; prediction 'class'",
        dict(id_name="filename"),
        labels=dict(filename=THREE.files[::-1], label=NAMES[THREE.y][::-1]),
    ),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.origin.partition(":")[0])
def test_a_layout_is_read_as_planned_with_the_figures_of_scikit_learn(layout):
    arguments = layout.write()
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        predictions = read_predictions(**arguments)
    truth, top = layout.data.y, layout.data.top
    assert predictions.read_as[1].startswith(f"p.{layout.suffix}: {layout.plan} (")
    assert predictions.accuracy() == [accuracy_score(truth, top)]
    recall = predictions.recall()[0]
    expected = np.sort(recall_score(truth, top, average=None))
    np.testing.assert_allclose(np.sort(recall[np.isfinite(recall)]), expected)
    assert [str(notice.message).split("'")[1] for notice in notices] == layout.left_out


def of(data, **further):
    """Scores of three classes in columns of their names, and further columns."""
    return {**columns(NAMES, data), **further}


SHUFFLED = THREE.order
ASKED = {
    "a column `class` that may be the label": (
        {"class": TWELVE.y, **columns(map(str, range(12)), TWELVE.logits)},
        dict(labels=dict(label=TWELVE.y)),
        "got column 'class', which may hold labels or predictions, expected --label-column class if they are labels",
    ),
    "a column `class` that is stated as the prediction and is the label": (
        {"class": TWELVE.y, **columns(map(str, range(12)), TWELVE.logits)},
        dict(labels=dict(label=TWELVE.y), prediction_column="class"),
        "got column 'class', which holds the labels of y.csv in every row, expected predictions",
    ),
    "logits beside the loss, of labels that are text": (
        of(THREE.logits, label=THREE.names[THREE.y], loss=THREE.noise),
        {},
        "got columns 'loss' beside the scores of 'cat', 'dog', 'elk', expected only classes of p.csv, or --classes",
    ),
    "logits beside the loss, of labels that are numbers": (
        of(THREE.logits, label=THREE.y, loss=THREE.noise),
        {},
        "got columns of numbers 'cat', 'dog', 'elk' and 1 more for labels 0 to 2, expected one column of scores per",
    ),
    "an id and a score, neither stated": (
        dict(entity_id=TWO.ids, score=TWO.shares[:, 1], label=TWO.y),
        {},
        "got columns of numbers 'entity_id', 'score' for labels 0 to 1, expected one column of scores per class",
    ),
    "the probability of the predicted class, named as that of class 1": (
        dict(score=TWO.shares.max(1), label=TWO.y),
        {},
        "got no value below .5 in column 'score', expected a column of predicted classes, if it holds their",
    ),
    "one score of classes that are text": (
        dict(score=TWO.shares[:, 1], label=NAMES[TWO.y]),
        {},
        "got one score for classes 'cat', 'dog', expected a class list whose second class it is of (--classes FILE)",
    ),
    "distances, whose least is the best": (
        {**columns([f"distance_{i}" for i in range(3)], -THREE.logits), "label": THREE.y},
        {},
        "got columns of numbers 'distance_0', 'distance_1', 'distance_2' for labels 0 to 2, expected one column of",
    ),
    "the two classes of a margin": (
        dict(score=TWO.logits[:, 1], label=2 * TWO.y - 1),
        {},
        "got class -1, expected classes from 0; 0 for -1 if it is the negative class of two",
    ),
    "the best scores with their classes": (
        {
            **columns([f"index_{i}" for i in range(3)], np.argsort(-THREE.shares)),
            **columns([f"prob_{i}" for i in range(3)], -np.sort(-THREE.shares)),
            "label": THREE.y,
        },
        {},
        "got columns 'prob_*' beside 'index_*', expected the scores of all classes, not the best ones",
    ),
    "the best scores alone": (
        {**columns([f"prob_{i}" for i in range(3)], -np.sort(-THREE.shares)), "label": THREE.y},
        {},
        "got columns 'prob_*' that fall from the first to the last in every row, expected the scores of all classes",
    ),
    "logits and probabilities": (
        {
            **columns([f"logit_{i}" for i in range(3)], THREE.logits),
            **columns([f"prob_{i}" for i in range(3)], THREE.shares),
            "label": THREE.y,
        },
        {},
        "got several columns per class, 'logit_*', 'prob_*', expected one of them, stated with --prediction-column",
    ),
    "columns counted from 1 and labels from 0": (
        {**columns(["p1", "p2", "p3"], THREE.shares), "label": THREE.y},
        {},
        "got columns 'p*' numbered 1 to 3 for labels 0 to 2, expected all numbers from 0, or --classes FILE",
    ),
    "a class without a column": (
        {**columns(["p0", "p1", "p3"], THREE.logits), "label": THREE.y},
        {},
        "got columns 'p*' numbered 0 to 3 for labels 0 to 2, expected all numbers from 0",
    ),
    "features beside nothing that is a score": (
        {
            **columns([f"pixel{i}" for i in range(3)], THREE.logits),
            "sum": THREE.noise,
            "label": THREE.y,
        },
        {},
        "got columns of numbers 'pixel0', 'pixel1', 'pixel2' and 1 more for labels 0 to 2, expected one column of",
    ),
    "numbered features beside a score": (
        {
            **columns([f"c{i}" for i in range(12)], TWELVE.logits),
            "score": TWELVE.noise,
            "label": TWELVE.y % 2,
        },
        {},
        "got columns 'score' beside the scores of '0', '1', '2' and 9 more, expected only classes of p.csv, or",
    ),
    "percentages in one column": (
        dict(score=100 * TWO.shares[:, 1], label=TWO.y),
        {},
        "got one score per example, ",
    ),
    "a pipeline's label, the predicted one, read as the true one": (
        dict(label=NAMES[TWO.top], score=TWO.shares.max(1)),
        dict(labels=dict(label=NAMES[TWO.y]), classes=("cat", "dog")),
        "got no value below .5 in column 'score', expected a column of predicted classes, if it holds their",
    ),
    "labels of its own in another order": (
        dict(label=THREE.y[SHUFFLED], prediction=THREE.top[SHUFFLED]),
        dict(labels=dict(label=THREE.y)),
        "expected the same order of rows, or a column of example ids in both files (--id)",
    ),
    "labels of its own in another order, and names of files": (
        dict(file=THREE.files[SHUFFLED], label=THREE.y[SHUFFLED], prediction=THREE.top[SHUFFLED]),
        dict(labels=dict(file=THREE.files, label=THREE.y)),
        "got the values of column 'file' in another order than in y.csv, expected the same order of rows, or --id file",
    ),
    "text of other labels in another order": (
        dict(
            label=np.array(["0: cat", "1: dog", "2: elk"])[THREE.y[SHUFFLED]],
            prediction=THREE.top[SHUFFLED],
        ),
        dict(labels=dict(label=THREE.y)),
        "got labels in column 'label' that differ from those of y.csv in ",
    ),
    "the label stated as the prediction of the same file": (
        dict(label=THREE.y),
        dict(label_column="label", prediction_column="label"),
        "got column 'label', which holds the labels, expected predictions, in another column or another file",
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_nothing_proves_is_asked(case):
    written, options, message = ASKED[case]
    options = dict(options)
    layout = Layout(
        case,
        THREE,
        written,
        "",
        labels=options.pop("labels", None),
        classes=options.pop("classes", ()),
    )
    assert_refused(re.escape(message), read_predictions, **layout.write(), **options)
