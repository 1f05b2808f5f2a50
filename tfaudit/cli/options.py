"""Options that several subcommands share: their help texts, and the objects that hold their values."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tfaudit.cli.completion import one_of
from tfaudit.cli.outputs import output_folder
from tfaudit.errors import InputError, require, require_least
from tfaudit.models.pretrained import PREPROCESSING

if TYPE_CHECKING:
    from tfaudit.readers.column_plan import StatedColumns
    from tfaudit.readers.outcome_files import OutcomeFiles
    from tfaudit.readers.prediction_files import PredictionFiles

IMAGES, PREDICTIONS, OUTCOMES = "Images", "Tables and arrays", "Outcomes of examples"
"""Panels of the help."""


def option(
    text: str,
    *names: str,
    panel: str | None = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """Return an option with its help text, for `Annotated`; by default it has the parameter's name.

    `complete` takes the beginning of a value and returns the values that a shell offers, as in `completion`.
    """
    return typer.Option(*names, help=text, rich_help_panel=panel, autocompletion=complete)


@dataclasses.dataclass(frozen=True)
class Group:
    """Options that a command takes as one argument, for `Annotated`.

    Attributes:
        make: function that takes the options by name and returns the argument.
        parameters: parameters of the command, one per option.
    """

    make: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]

    @classmethod
    def of_fields(cls, kind: type, *without: str) -> Group:
        """Return the annotated fields of a dataclass as options, without some of them."""
        hints = get_type_hints(kind, include_extras=True)
        return cls(
            kind,
            tuple(
                _parameter(field.name, hints[field.name], field.default)
                for field in dataclasses.fields(kind)
                if field.name not in without
            ),
        )

    @classmethod
    def of_options(cls, kind: type, **options: Any) -> Group:
        """Return some fields of a dataclass as options, with the types and the defaults of the fields."""
        hints = get_type_hints(kind)
        defaults = {field.name: field.default for field in dataclasses.fields(kind)}
        return cls(
            kind,
            tuple(
                _parameter(name, Annotated[hints[name], one], defaults[name])
                for name, one in options.items()
            ),
        )

    @classmethod
    def of_names(cls, kind: Any, hints: Mapping[str, Any]) -> Group:
        """Return options of one kind by name, None by default; the argument is a dictionary."""
        return cls(
            dict,
            tuple(_parameter(name, Annotated[kind | None, hint]) for name, hint in hints.items()),
        )


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def with_options_of_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command as Typer takes it, with the options of every `Group` in place of its argument."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Group] = {}
    signature = inspect.signature(function, eval_str=True)
    for parameter in signature.parameters.values():
        metadata = getattr(parameter.annotation, "__metadata__", [None])
        if isinstance(metadata[0], Group):
            groups[parameter.name] = metadata[0]
            parameters += metadata[0].parameters
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(function)
    def command(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group.make(
                **{one.name: values.pop(one.name) for one in group.parameters}
            )
        function(**values)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def refuse(where: str, **options: object) -> None:
    """Raise an `InputError` for the first option that is given although a command does not take it there.

    Example:
        >>> refuse("with --rehearse", smoke=False, step_seconds=0.5)
        Traceback (most recent call last):
        tfaudit.errors.InputError: step_seconds: got 0.5, expected no such option with --rehearse
    """
    for name, value in options.items():
        if value:
            raise InputError(name, str(value), f"no such option {where}")


def changed(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass of options that have another value than by default."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    usual = {field.name: field.default for field in dataclasses.fields(options)}
    return {name: value for name, value in values.items() if value != usual[name]}


Directory = Annotated[Path, typer.Argument(help="Directory of a study that `tfaudit run` made.")]
ALPHA = option("Significance level; confidence intervals have level 1 - alpha.")
Alpha = Annotated[float, ALPHA]
StudyAlpha = Annotated[
    float | None,
    option(
        "Significance level; confidence intervals have level 1 - alpha. By default that of the study, or .05.",
        "--alpha",
    ),
]
Permutations = Annotated[
    int, option("Random reassignments of members in permutation tests; 0 for no such tests.")
]
StudyOut = Annotated[
    Path | None,
    output_folder("Write a study, or a folder of outcomes, with its report.html here.", "--out"),
]
ScoresAre = Annotated[
    str,
    option(
        "Kind of the scores: probabilities, logits, or auto, which tells by their values.",
        "--scores-are",
        complete=one_of("stats.ranking:SCORE_KINDS"),
    ),
]
ClassNames = Annotated[
    Path | None, option("File of class names in the order of the outputs: one per line, or JSON.")
]

_of_images = functools.partial(option, panel=IMAGES)
_of_predictions = functools.partial(option, panel=PREDICTIONS)
_of_outcomes = functools.partial(option, panel=OUTCOMES)

SkipUnreadable = Annotated[
    int, _of_images("Number of unreadable images that may be left out; they are listed.")
]
IdColumn = Annotated[
    str | None,
    _of_predictions(
        "Column of the example ids; by default `example`, `example_id` or `id`.", "--id"
    ),
]
ClusterColumn = Annotated[
    str | None,
    _of_predictions(
        "Column, or array, of --labels, or of the outcomes, that names the cluster of an example, such as its film; "
        "by default `cluster`."
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutcomeOptions:
    """How files of outcomes are read: scores in [0, 1] of examples, in place of predictions of classes."""

    outcome: Annotated[
        str | None,
        _of_outcomes("Column of scores in [0, 1], 1 the best; or metric of lm_eval, such as acc."),
    ] = None
    filter: Annotated[
        str | None, _of_outcomes("Filter of lm_eval, if its samples have several.")
    ] = None
    common: Annotated[
        bool, _of_outcomes("Judge only the examples that all files hold.", "--common")
    ] = False
    tolerance: Annotated[
        float | None,
        _of_outcomes("The column holds errors; they are right up to this size, wrong beyond it."),
    ] = None
    margin: Annotated[
        float | None,
        _of_outcomes(
            "Change beyond which an example is listed, in [0, 1); by default 0, .5 for several models."
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        _of_outcomes(
            "Column of texts to show, such as a prompt; repeatable. Those of lm_eval are known."
        ),
    ] = None

    def source(
        self, id_name: str | None, cluster: str | None, *, errors: bool = False
    ) -> OutcomeFiles:
        """Return how the files are read."""
        from tfaudit.readers.outcome_files import OutcomeFiles

        return OutcomeFiles(
            outcome=self.outcome or "",
            id_name=id_name,
            cluster=cluster,
            filter=self.filter,
            common=self.common,
            tolerance=self.tolerance,
            texts=tuple(self.text or ()),
            errors=errors,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """How files of predictions are read, and how their members belong together."""

    labels: Annotated[
        Path | None,
        _of_predictions("True classes: .npy, .npz, or .csv or .parquet with a column `label`."),
    ] = None
    id: IdColumn = None
    label_column: Annotated[
        str | None, _of_predictions("Column, or array, of the true classes; by default `label`.")
    ] = None
    prediction_column: Annotated[
        str | None,
        _of_predictions(
            "Column, or array, of the predictions, by default `prediction`; or a pattern such as 'prob_*' that matches "
            "the columns of scores."
        ),
    ] = None
    cluster: ClusterColumn = None
    scale: Annotated[
        float | None,
        _of_predictions("Scale of the output, for raw integer scores of a quantized model."),
    ] = None
    zero_point: Annotated[
        int | None, _of_predictions("Zero point of the same output; 0 by default.")
    ] = None
    paired: Annotated[
        bool,
        _of_predictions(
            "Each compressed model was made from the baseline model with its number, not trained from scratch.",
            "--paired",
        ),
    ] = False
    verbose: Annotated[
        bool,
        _of_predictions("Print what each column of the files is read as.", "--verbose", "-v"),
    ] = False

    @property
    def stated(self) -> StatedColumns:
        """The columns that the user names."""
        from tfaudit.readers.column_plan import StatedColumns

        return StatedColumns(self.id, self.label_column, self.cluster, self.prediction_column)

    def source(self, labels: Path, classes: Path | None, scores_are: str) -> PredictionFiles:
        """Return what reads the files."""
        from tfaudit.readers.prediction_files import PredictionFiles
        from tfaudit.readers.raw_scores import stated_scale

        return PredictionFiles(
            labels=labels,
            classes=classes,
            id_name=self.id,
            scores_are=scores_are,
            label_column=self.label_column,
            prediction_column=self.prediction_column,
            cluster=self.cluster,
            scale=stated_scale(self.scale, self.zero_point),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageOptions:
    """How labelled images are read and put through models.

    Attributes:
        split: split of a data set, or of a folder with splits.
        image_size: pixels to which the shorter side is scaled; without `crop` the central square is kept. By default
            images from a folder are scaled to the size that the models take.
        crop: pixels of the central square that is cropped after any scaling.
        preprocess: how the models expect pixels, as in `tfaudit.models.pretrained`.
        baseline_preprocess: how the baseline expects them; `preprocess` by default.
        classes: file of class names, one per line or a JSON list, in the order of the models' outputs; for data that
            hold only some of the classes or sort them differently.
        batch_size: images per batch.
        recursive: whether to look into folders within the class folders, as in `labelled_images`.
        skip_unreadable: number of unreadable images to skip, as in `labelled_images`.
        examples: CSV file whose column `example` holds the ids of the only images to use.
        output: names of the outputs of models with several, as in `outputs_of`.
        signature: name of the signature of flatbuffers with several, as in `predict`.
        scores_are: kind of the models' outputs, for models that do not show it, as in `predict`.
        kernels: what runs the operators of .tflite files, as in `predict`.
        limit: largest number of images; all by default.

    Raises:
        InputError: a value that is not allowed.
    """

    split: Annotated[str, _of_images("Split of a data set, or of a folder that has splits.")] = (
        "test"
    )
    image_size: Annotated[
        int | None,
        _of_images("Scale the shorter side to this many pixels and crop the central square."),
    ] = None
    crop: Annotated[
        int | None, _of_images("Crop the central square of this many pixels, after any scaling.")
    ] = None
    preprocess: Annotated[
        str,
        _of_images(
            "Pixels that models expect: none (0 to 255), unit (0 to 1), or tf, caffe, torch as in Keras.",
            complete=one_of("models.pretrained:PREPROCESSING"),
        ),
    ] = "none"
    baseline_preprocess: Annotated[
        str | None,
        _of_images(
            "Pixels that the baseline expects; by default the same as --preprocess.",
            complete=one_of("models.pretrained:PREPROCESSING"),
        ),
    ] = None
    classes: ClassNames = None
    batch_size: Annotated[int, _of_images("Number of images per batch of predictions.")] = 32
    recursive: Annotated[
        bool,
        _of_images("Also look for images in subfolders of the class folders.", "--recursive"),
    ] = False
    skip_unreadable: SkipUnreadable = 0
    examples: Annotated[
        Path | None,
        _of_images(
            "CSV file with the ids of the images to judge in a column `example`; all images by default."
        ),
    ] = None
    output: Annotated[
        list[str] | None,
        _of_images(
            "Name of the output to judge, for models with several; given twice, the baseline's and that of all others.",
            "--output",
        ),
    ] = None
    signature: Annotated[
        str | None, _of_images("Name of the signature to run, for .tflite files with several.")
    ] = None
    scores_are: ScoresAre = "auto"
    kernels: Annotated[
        str,
        _of_images(
            "Kernels that run .tflite files: default, plain (without XNNPACK), or reference, as on microcontrollers.",
            complete=one_of("study.quantization:KERNELS"),
        ),
    ] = "default"
    limit: Annotated[int | None, _of_images("Maximum number of images; all by default.")] = None

    def __post_init__(self) -> None:
        require_least(1, batch_size=self.batch_size)
        require_least(0, skip_unreadable=self.skip_unreadable)
        known = f"one of {', '.join(PREPROCESSING)}"
        for name, mode in (
            ("preprocess", self.preprocess),
            ("baseline_preprocess", self.baseline_preprocess or "none"),
        ):
            require(mode in PREPROCESSING, name, mode, known)
