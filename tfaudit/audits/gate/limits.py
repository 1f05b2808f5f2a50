"""Limits of a gate. A field of `Limits` is the only place where a limit is registered."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from tfaudit.errors import InputError, require
from tfaudit.extensions import Registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quantity:
    """The quantity that a limit bounds.

    `description` is one line with the unit of the limit, the help of the command-line flag; `title` is a short name for
    tables and charts. Values are multiplied by `scale` and printed in `number_format` with the printed unit. Limits
    from `minimum` to `maximum` are allowed, which `allowed` says in words.
    """

    description: str = ""
    title: str = ""
    number_format: str
    scale: float = 1.0
    minimum: float = 0.0
    maximum: float = math.inf
    allowed: str

    def text(self, value: float) -> str:
        """Return a value with its unit, "unknown" for NaN.

        Example:
            >>> QUANTITIES["flips"].text(0.0123), QUANTITIES["size_bytes"].text(1_250_000)
            ('1.23 %', '1.25 MB')
        """
        return "unknown" if math.isnan(value) else self.number_format.format(self.scale * value)

    def checked(self, name: str, limit: object) -> float:
        """Return a limit as a number; anything but a number in the allowed range raises an `InputError`."""
        require(_is_number(limit, self.minimum, self.maximum), name, limit, self.allowed)
        return float(limit)  # type: ignore[arg-type]

    def interval_text(self, low: float, high: float) -> str:
        """Return both ends of an interval in the unit and with the decimals of `text`; empty if they are NaN.

        Example:
            >>> QUANTITIES["flips"].interval_text(0.0014, 0.0088)
            '0.14 to 0.88 %'
        """
        if math.isnan(low):
            return ""
        return f"{self.text(low).partition(' ')[0]} to {self.text(high)}"


_POINTS = Quantity(
    number_format="{:z.2f} pp", maximum=100.0, allowed="percentage points in [0, 100]"
)
_SHARE = Quantity(number_format="{:.2f} %", scale=100.0, maximum=1.0, allowed="a share in [0, 1]")
_SHARE_OF_CLASSES = dataclasses.replace(_SHARE, number_format="{:.1f} %")

MANY_CLASSES = 50
"""Number of classes from which on the default limits are about their share, not about the worst."""

BOUND_PP = 5.0
"""Drop of a class's recall by which `share_beyond` counts classes if `worst_class_drop_pp` is not set."""


def _is_number(value: object, least: float, most: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and least <= value <= most


def _limit(description: str, title: str, unit: Quantity) -> Any:
    quantity = dataclasses.replace(unit, description=description, title=title)
    return dataclasses.field(default=None, metadata={"quantity": quantity})


@dataclasses.dataclass(frozen=True)
class Limits:
    """The largest values that a gate allows; None leaves a quantity unchecked, and without any the defaults hold.

    A new limit is a field here, with its metadata, and a method of the same name in `Checks` of `checks.py`.
    The flags and TOML keys of `tfaudit gate`, tables and charts follow from them.

    The metadata of each field describes it. For populations, `flips` and `negative_flips` are means over pairs of
    members. `share_beyond` limits how many classes lose more than `worst_class_drop_pp` (5 points if that is not set),
    whichever they are; `corruption_drop_pp` holds for every corruption at every severity; `group_drop_pp` for every
    group of every column of groups, or as a mapping for those of the columns that it names, which `group_drops` then
    holds beside the largest of them; `slice_drop_pp` for every slice (`slices`). `min_baseline_accuracy`, a share, does
    not limit the compressed model: nothing is judged if the baseline is less accurate. `positive` names the positive
    class of two, for the limits that need one.

    Raises:
        InputError: a value that is not a number in the allowed range.

    Example:
        >>> Limits(worst_class_drop_pp=2).as_dict()
        {'worst_class_drop_pp': 2.0}
    """

    overall_drop_pp: float | None = _limit(
        "Drop of accuracy, or of the mean outcome, percentage points.", "overall drop", _POINTS
    )
    worst_class_drop_pp: float | None = _limit(
        "Drop of any class's recall, percentage points.", "drop of worst class", _POINTS
    )
    precision_drop_pp: float | None = _limit(
        "Drop of any class's precision, percentage points.", "drop of worst precision", _POINTS
    )
    f1_drop_pp: float | None = _limit(
        "Drop of the mean F1 of all classes, percentage points.", "drop of macro F1", _POINTS
    )
    sensitivity_drop_pp: float | None = _limit(
        "Drop of the recall of the positive class of two (--positive), percentage points.",
        "drop of sensitivity",
        _POINTS,
    )
    specificity_drop_pp: float | None = _limit(
        "Drop of the recall of the other class of two, percentage points.",
        "drop of specificity",
        _POINTS,
    )
    auroc_drop_pp: float | None = _limit(
        "Drop of the area under the ROC curve of two classes, percentage points.",
        "drop of ROC area",
        _POINTS,
    )
    average_precision_drop_pp: float | None = _limit(
        "Drop of the average precision of the positive class of two (--positive), percentage points.",
        "drop of average precision",
        _POINTS,
    )
    share_beyond: float | None = _limit(
        "Share of classes whose recall drops by more than the limit of the worst class "
        f"({BOUND_PP:g} points if that is not set), in [0, 1].",
        "classes beyond the drop",
        _SHARE_OF_CLASSES,
    )
    corruption_drop_pp: float | None = _limit(
        "Drop of accuracy under any corruption, against the baseline under the same corruption, percentage points.",
        "drop under corruption",
        _POINTS,
    )
    group_drop_pp: float | Mapping[str, float] | None = _limit(
        "Drop of accuracy of any named group, such as a writer or a sex, percentage points; or of the groups of some "
        "columns, as sex=2,skin=3.",
        "drop of worst group",
        _POINTS,
    )
    slice_drop_pp: float | None = _limit(
        "Drop of accuracy of any slice that is found by features of the baseline, percentage points.",
        "drop of worst slice",
        _POINTS,
    )
    mean_error_increase: float | None = _limit(
        "Increase of the mean of the errors that --outcome names, such as those of a regression, in their unit.",
        "increase of mean error",
        Quantity(
            number_format="{:z.4g}", allowed="a number of 0 or more, in the unit of the errors"
        ),
    )
    flips: float | None = _limit("Share of predictions that change, in [0, 1].", "flips", _SHARE)
    negative_flips: float | None = _limit(
        "Share of predictions that turn from right to wrong, in [0, 1].", "right to wrong", _SHARE
    )
    size_bytes: float | None = _limit(
        "Bytes of the compressed model's file.",
        "size on disk",
        Quantity(
            number_format="{:,.6g} MB",
            scale=1e-6,
            minimum=1.0,
            allowed="a number of bytes, 1 or more",
        ),
    )
    size_ratio: float | None = _limit(
        "Bytes of the compressed model's file divided by the baseline's.",
        "size on disk against baseline",
        Quantity(number_format="{:.1f} %", scale=100.0, allowed="compressed / baseline, 0 or more"),
    )
    latency_ms: float | None = _limit(
        "Milliseconds of one inference in LiteRT on one core of this machine, median.",
        "latency",
        Quantity(number_format="{:,.3g} ms", allowed="milliseconds, 0 or more"),
    )

    min_baseline_accuracy: float | None = None
    positive: str | None = None
    group_drops: tuple[tuple[str, float], ...] | None = None

    def __post_init__(self) -> None:
        least = self.min_baseline_accuracy
        share = least is None or _is_number(least, 0, 1)
        require(share, "min_baseline_accuracy", least, "a share in [0, 1]")
        is_name = self.positive is None or isinstance(self.positive, str)
        require(is_name, "positive", self.positive, "the name of a class")
        self._split_groups()
        for name, value in self.as_dict().items():
            object.__setattr__(self, name, QUANTITIES[name].checked(name, value))

    def _split_groups(self) -> None:
        """Keep limits of single columns of groups in `group_drops`, and the largest of them in `group_drop_pp`."""
        given, columns = self.group_drop_pp, self.group_drops
        if isinstance(given, Mapping):
            for name, value in given.items():
                known = _is_number(value, 0, 100)
                require(known, f"group_drop_pp, {name}", value, _POINTS.allowed)
            columns = tuple((str(name), float(value)) for name, value in given.items())
            require(bool(columns), "group_drop_pp", "no columns", "a limit for one or more")
        most = max(value for _, value in columns) if columns else None
        if isinstance(given, Mapping) or given is None:
            given = most
        object.__setattr__(self, "group_drop_pp", given)
        object.__setattr__(self, "group_drops", columns if given == most else None)

    def of_groups(self, names: Sequence[str]) -> list[float]:
        """Return the limit of every named group, infinite for those of columns without one.

        Example:
            >>> Limits(group_drop_pp={"sex": 2}).of_groups(["sex: female", "skin: V"])
            [2.0, inf]
        """
        if self.group_drops is None:
            return [cast("float", self.group_drop_pp)] * len(names)
        drops = self.group_drops
        return [
            next((limit for column, limit in drops if name.startswith(f"{column}: ")), math.inf)
            for name in names
        ]

    def __repr__(self) -> str:
        """Return what makes these limits: those that are set.

        >>> Limits(flips=0.1), Limits()
        (Limits(flips=0.1), Limits())
        """
        values = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return f"Limits({', '.join(f'{name}={value!r}' for name, value in values if value is not None)})"

    def for_classes(self, count: int) -> Limits:
        """Return these limits, or if none is set the defaults for a number of classes.

        With fewer than 50 classes, accuracy may drop by 1 point and the recall of any class by 5. With more, the few
        images of each class can seldom show that about every single class, so at most 5 % of the classes may lose more
        than 5 points. Of two classes, the precision of each may also drop by 5: one of them is often rare, and false
        alarms change neither its recall nor accuracy by much. Without classes (0), only the mean outcome is limited.

        Example:
            >>> Limits().for_classes(2).as_dict()
            {'overall_drop_pp': 1.0, 'worst_class_drop_pp': 5.0, 'precision_drop_pp': 5.0}
            >>> Limits().for_classes(10).in_words()
            'overall drop at most 1 pp, drop of worst class at most 5 pp'
            >>> Limits().for_classes(1000).in_words()
            'overall drop at most 1 pp, classes beyond the drop of 5 pp at most 5 %'
            >>> Limits(flips=0.01).for_classes(1000).in_words()
            'flips at most 1 %'
        """
        if self.as_dict():
            return self
        if not count:
            return dataclasses.replace(self, overall_drop_pp=1)
        many = count >= MANY_CLASSES
        of_classes: dict[str, Any] = (
            {"share_beyond": 0.05} if many else {"worst_class_drop_pp": BOUND_PP}
        )
        if count == 2:
            of_classes["precision_drop_pp"] = BOUND_PP
        return dataclasses.replace(self, overall_drop_pp=1, **of_classes)

    def in_words(self) -> str:
        """Return the limits that are set, in one line.

        Example:
            >>> Limits(overall_drop_pp=1, worst_class_drop_pp=5).in_words()
            'overall drop at most 1 pp, drop of worst class at most 5 pp'
        """
        drop = {"share_beyond": f" of {self.bound_pp:g} pp"}
        values = {
            name: _short(QUANTITIES[name].text(value)) for name, value in self.as_dict().items()
        }
        if self.group_drops:
            values["group_drop_pp"] = ", ".join(
                f"{value:g} pp ({name})" for name, value in self.group_drops
            )
        return ", ".join(
            f"{QUANTITIES[name].title}{drop.get(name, '')} at most {value}"
            for name, value in values.items()
        )

    def require_only(self, what: str, names: Sequence[str]) -> None:
        """Raise an `InputError`, which names the flag, for a limit that some data do not have.

        Args:
            what: the data, such as "outcomes".
            names: names of the limits that they have.
        """
        for name, limit in self.as_dict().items():
            if name not in names:
                expected = f"a limit on {what}, {' or '.join(map(flag_of, names))}"
                raise InputError(flag_of(name), f"{limit:g}", expected)

    @property
    def judge_classes(self) -> bool:
        """Return whether a limit is about single classes.

        >>> Limits(overall_drop_pp=1, flips=0.1).judge_classes
        False
        """
        return self.worst_class_drop_pp is not None or self.share_beyond is not None

    @property
    def bound_pp(self) -> float:
        """Drop of recall by which `share_beyond` counts classes, percentage points."""
        return BOUND_PP if self.worst_class_drop_pp is None else self.worst_class_drop_pp

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> Limits:
        """Return limits by name, such as the `[gate]` table of a TOML file.

        Raises:
            InputError: an unknown name, a limit that is no longer one, or limits that `Limits` rejects.

        Example:
            >>> Limits.from_mapping({"flips": 0.02}).flips
            0.02
        """
        known = [field.name for field in dataclasses.fields(cls) if field.name != "group_drops"]
        for name, value in settings.items():
            if name in REMOVED:
                raise InputError(name, repr(value), removed(name, *CLASS_LIMITS))
            require(name in known, "limits", name, f"names among {', '.join(known)}")
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """Return everything that is set, by name, as `from_mapping` takes it.

        >>> Limits(flips=0.5, positive="yes").settings()
        {'flips': 0.5, 'positive': 'yes'}
        """
        settings = {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }
        if self.group_drops:
            settings["group_drop_pp"] = dict(settings.pop("group_drops"))
        return settings

    def as_dict(self) -> dict[str, float]:
        """Return the limits that are set, by name, in the order of the checks."""
        return {name: value for name in QUANTITIES if (value := getattr(self, name)) is not None}

    def as_flags(self) -> list[str]:
        """Return the limits that are set as flags of the command line, each with its value.

        Example:
            >>> Limits(worst_class_drop_pp=2, min_baseline_accuracy=0.5).as_flags()
            ['--max-worst-class-drop 2', '--min-baseline-accuracy 0.5']
        """
        texts = {
            name: ",".join(f"{column}={limit:.12g}" for column, limit in value.items())
            if isinstance(value, Mapping)
            else value
            if name == "positive"
            else f"{value:.12g}"
            for name, value in self.settings().items()
        }
        return [f"{flag_of(name)} {shlex.quote(text)}" for name, text in texts.items()]


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        field.name: field.metadata["quantity"]
        for field in dataclasses.fields(Limits)
        if field.metadata
    }
)
"""The quantity of each limit, by name."""

MORE_THAN_PREDICTIONS = (
    "corruption_drop_pp",
    "group_drop_pp",
    "slice_drop_pp",
    "mean_error_increase",
)
"""Limits that need corrupted images, groups, features or errors; of them a search for a file has groups alone."""

OF_OUTCOMES = "outcomes", ("overall_drop_pp", "group_drop_pp")
OF_ERRORS = "errors", ("mean_error_increase",)
"""Data without classes, and the limits on them."""

OF_TWO_CLASSES = (
    "sensitivity_drop_pp",
    "specificity_drop_pp",
    "auroc_drop_pp",
    "average_precision_drop_pp",
)
"""Limits that are defined for two classes alone."""

FILE_LIMITS = ("size_bytes", "size_ratio", "latency_ms")
"""Limits on the file itself, whatever it predicts."""

DEFAULT_LIMITS = Limits()
"""The limits if the user sets none; they depend on the number of classes."""

FLAGS: Mapping[str, str] = MappingProxyType(
    {name: f"max_{name.removesuffix('_pp')}" for name in QUANTITIES}
)
"""Name of each limit's flag of `tfaudit gate` and parameter of the viewer's URL, by name of the limit."""


REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "harmed_share": "reports count the classes that lost recall",
        "intensification": "reports show the slope under recall distortion",
    }
)
"""Former limits, by name, and where their quantity is shown."""

CLASS_LIMITS = ("worst_class_drop_pp", "share_beyond")
"""Limits on the recall of classes, which take the place of the removed ones."""


def removed(name: str, *instead: str) -> str:
    """Return what is expected in place of a removed limit.

    Example:
        >>> removed("harmed_share", *CLASS_LIMITS)
        'worst_class_drop_pp or share_beyond, as this limit was removed; reports count the classes that lost recall'
    """
    return f"{' or '.join(instead)}, as this limit was removed; {REMOVED[name]}"


def flag_of(name: str) -> str:
    """Return the flag of a limit, as it is typed.

    Example:
        >>> flag_of("worst_class_drop_pp"), flag_of("min_baseline_accuracy")
        ('--max-worst-class-drop', '--min-baseline-accuracy')
    """
    flag = f"max_{name}" if name in REMOVED else FLAGS.get(name, name)
    return "--" + flag.replace("_", "-")


_OF_SET_UPS: Mapping[str, Quantity] = MappingProxyType(
    {
        "baseline_accuracy": dataclasses.replace(
            _SHARE, description="Accuracy of the baseline.", title="accuracy of baseline"
        ),
        "class_order": dataclasses.replace(
            _SHARE, description="Accuracy in this order of classes.", title="order of classes"
        ),
        "output_order": dataclasses.replace(
            _SHARE, description="Accuracy in this order of outputs.", title="order of outputs"
        ),
        "missing_members": Quantity(
            description="Members of a study that may be missing.",
            title="missing members",
            number_format="{:.0f}",
            allowed="a number of members, 0 or more",
        ),
    }
)


_OF_CHECKS: Mapping[str, Quantity] = Registry("quantities", {**QUANTITIES, **_OF_SET_UPS})


def quantity_of(check: str) -> Quantity:
    """Return the quantity that a check measures, by its name: a limit's, a requirement's on the study, an extension's.

    Example:
        >>> quantity_of("flips").title, quantity_of("missing_members").title
        ('flips', 'missing members')
    """
    return _OF_CHECKS[check]


def _short(text: str) -> str:
    """Return a value with its unit, without trailing zeros."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}".strip()
