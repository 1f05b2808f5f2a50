"""The recommendation of a study: which file to ship, what it costs, and what to do where nothing passes."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.analysis.study_audit import FACTS, StudyAudit
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.gate.checks import FAIL
from tfaudit.audits.gate.gate import MISSING, Verdict
from tfaudit.audits.gate.limits import MORE_THAN_PREDICTIONS, Limits, quantity_of
from tfaudit.audits.robustness.condition_rates import level_in_words
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.errors import bytes_in_words
from tfaudit.extensions import PUBLIC_NAMES
from tfaudit.stats.ratios import member_mean
from tfaudit.store.files import file_seal


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """What every outlet says first about a study.

    Attributes:
        variant: key of the variant to ship, or where nothing passes of the one that comes closest.
        headline: what to do, in a few words.
        ship: whether it is to be shipped.
        facts: name and text of each fact: the file, the member, sizes, every limit, corruptions, latency.
        command: what to run next.
        path: the file to ship, if the directory of the study holds it.
    """

    variant: str
    headline: str
    ship: bool
    facts: tuple[tuple[str, str], ...]
    command: str
    path: Path | None

    @property
    def text(self) -> str:
        """The whole recommendation as plain text, a line per fact."""
        lines = [self.headline, *(f"{name}: {text}" for name, text in self.facts)]
        return "\n".join([*lines, f"next: {self.command}"])


def recommendation(study_audit: StudyAudit, verdict: StudyVerdict) -> Recommendation | None:
    """Return what to do with a study; None if no variant can be judged.

    The file to ship is the member whose accuracy is nearest to the mean of its population, since the
    verdict judges that mean. The best member on these images need not be the best on others.

    Args:
        study_audit: the study and its audits.
        verdict: its verdict under the limits that apply.
    """
    key = verdict.lead
    if key is None:
        return None
    data = study_audit.data
    ship = key == verdict.best
    title = data.titles[key]
    judged = verdict.verdicts[key]
    audited = study_audit.variant(key)
    nearest = int(np.abs(audited.top1 - audited.top1.mean()).argmin())
    member = data.members[key][nearest]
    path = _file(study_audit, key, member)
    damage = data.store.damage(key, member)
    where = _where(path, data.records[key][member], damage)
    facts = [("file", where)]
    if len(audited.top1) > 1:
        why = f"its accuracy, {100 * audited.top1[nearest]:.1f} %, is nearest to the mean"
        facts.append(("member", f"{member}, one of {len(audited.top1)}: {why}"))
    if sizes := _sizes(
        data.records[key][member], data.means(key, FACTS), data.means(BASELINE, FACTS)
    ):
        facts.append(("size", sizes))
    for check in judged.checks:
        binds = "" if ship or check is not judged.gravest else ", the limit that binds"
        facts.append((f"{quantity_of(check.name).title}{binds}", check.reason))
    if key in verdict.alone:
        facts.append(("correction", f"It passes uncorrected; {verdict.among} this may be chance."))
    if corrupted := _under_corruption(study_audit, key):
        facts.append(("under corruption", corrupted))
    if (milliseconds := study_audit.latency("ms").get(key)) is not None:
        latency = f"{milliseconds:.3g} ms an example on the machine that measured it"
        facts.append(("latency", latency))
    return Recommendation(
        variant=key,
        headline=f"Ship {title}." if ship else f"Ship nothing yet: {title} comes closest.",
        ship=ship,
        facts=tuple(facts),
        command=_next_command(study_audit, key, judged, verdict.limits, ship=ship),
        path=path if ship and where == str(path) and _is_within(path, data) else None,
    )


def _number(record: Mapping[Any, Any], name: str) -> float:
    value = record.get(name)
    return float("nan") if value is None else float(value)


def _file(study_audit: StudyAudit, key: str, member: int) -> Path | None:
    """Return the model file of a member, in the study or where it was imported from; None if it is not there."""
    store = study_audit.data.store
    record = study_audit.data.records[key][member]
    names = [store.member_path(key, member, name) for name in ("model.tflite", "model.keras")]
    paths = [store.directory / name for name in (*names, *filter(None, [record.get("file")]))]
    return next((path for path in paths if path.is_file()), None)


def _where(path: Path | None, record: Mapping[str, Any], damage: str) -> str:
    """Return where a model file is, or why it cannot be taken."""
    if damage:
        return f"missing or damaged; `tfaudit run` makes it again ({damage})"
    if path is None:
        imported = record.get("file")
        return (
            f"{imported}, which is missing"
            if imported
            else "not in this study, which holds predictions only"
        )
    if record.get("file_sha256") not in (None, file_seal(path)):
        return f"{path}, which has changed since it was judged"
    return str(path)


def _is_within(path: Path | None, data: StudyData) -> bool:
    return path is not None and path.resolve().is_relative_to(data.store.directory.resolve())


def _sizes(record: Mapping[str, Any], mean: pd.Series, baseline: pd.Series) -> str:
    """Return the size of a member on disk and gzipped, each with the mean share of the baseline's; empty if unknown.

    The shares are those of the headline and of all tables; files of other members differ by a few gzipped bytes.
    """
    parts = []
    for name, place in (("bytes", "on disk"), ("gzipped_bytes", "gzipped")):
        size = _number(record, name)
        if size >= 0 and baseline[name] > 0:
            share = 100 * mean[name] / baseline[name]
            whole = bytes_in_words(baseline[name])
            parts.append(f"{bytes_in_words(size)} {place} ({share:.1f} % of {whole})")
    return ", ".join(parts)


def _under_corruption(study_audit: StudyAudit, key: str) -> str:
    """Return how the variant and the baseline do under the corruption that costs the variant most; may be empty."""
    if key not in study_audit.data.corrupted_keys:
        return ""
    rows = study_audit.robustness(key).severity_frame()
    rows = rows[(rows["k"] == 1) & rows["change_pp"].notna()]
    if rows.empty:
        return ""
    row = rows.nsmallest(1, "change_pp").iloc[0]
    clean = 100 * member_mean(study_audit.variant(BASELINE).top1)
    place = level_in_words((row["corruption"], row["severity"]))
    before = 100 * row["accuracy_before"]
    moves = "falls" if before < clean else "rises"
    return (
        f"in {place} accuracy is {100 * row['accuracy_after']:.1f} %; the baseline itself "
        f"{moves} from {clean:.1f} to {before:.1f} %"
    )


def _next_command(
    study_audit: StudyAudit, key: str, verdict: Verdict, limits: Limits, *, ship: bool
) -> str:
    """Return the command that searches for a file that passes, plans more data, or shows every check of the variant.

    Every command takes the limits that it is printed with.
    """
    data = study_audit.data
    directory = shlex.quote(str(data.store.directory))
    name = shlex.quote(data.study.names[key])
    command = f"tfaudit gate {directory} --variant {name}"
    further = [f"--alpha {data.alpha:g}"] if data.alpha != 0.05 else []
    binding = verdict.gravest
    most_images = study_audit.measurements(key).classes.examples.max()
    model = _file(study_audit, BASELINE, data.members[BASELINE][0])
    searched = dataclasses.replace(limits, **dict.fromkeys(MORE_THAN_PREDICTIONS))
    plannable = PUBLIC_NAMES.get("audits.plannable", lambda limits: [])
    judged = limits.for_classes(data.baseline.num_classes)
    can_plan = data.group_columns or binding.name != "group_drop_pp"
    if binding.name == MISSING:
        further.append(f"--allow-missing {binding.value:.0f}")
    elif verdict.outcome == FAIL:
        if model is not None and data.study.training is not None and searched.as_dict():
            dataset = shlex.quote(str(data.study.dataset))
            command = f"tfaudit compress {shlex.quote(str(model))} --data {dataset}"
            limits = searched
    elif not ship and can_plan and binding.name in plannable(judged) and most_images > 1:
        command = f"tfaudit plan {directory} --variant {name}"
    return " ".join([command, *limits.as_flags(), *further])
