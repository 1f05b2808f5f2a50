"""What compression costs under corruption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from tfaudit.audit.robustness import Robustness, robustness, robustness_table
from tfaudit.audit.wording import listed
from tfaudit.conditions import Condition
from tfaudit.predictions import Predictions
from tfaudit.report.charts.class_corruptions import class_corruption_chart, largest_change
from tfaudit.report.charts.corruptions import relative_change_chart, severity_chart
from tfaudit.report.sections.corruption_tables import cells_table, corruptions_table, flips_table, means_table
from tfaudit.report.sections.material import Material
from tfaudit.report.sections.section import Figure, Section, Table, grid
from tfaudit.report.sections.strip import strip

__all__ = ["robustness_section"]


def robustness_section(material: Material) -> Section | None:
    """Every variant that was evaluated under the study's conditions, against the baseline."""
    variants = [key for key in material.compressed if any(material.evaluated(key, c) for c in material.conditions)]
    conditions = tuple(c for c in material.conditions if all(material.evaluated(key, c) for key in variants))
    if not variants or not conditions:
        return None
    baseline = _Conditions(material, material.audit.baseline, conditions)
    found = {
        key: robustness(
            baseline,
            _Conditions(material, key, conditions),
            clean=(material.baseline, material.compressed[key]),
            paired=material.study.variant(key).parent == material.audit.baseline,
            alpha=material.alpha,
        )
        for key in variants
    }
    titled = {material.titles[key]: each for key, each in found.items()}
    return Section(
        "robustness",
        "Robustness",
        "What compression costs where images are corrupted or from elsewhere, which corruptions and classes pay, and "
        "whether it is more than compression costs on clean images.",
        "[F] 4 and D, [HD]",
        tuple(_figures(material, found, titled)),
        tuple(_tables(material, titled)),
        (
            *_missing(material, variants, conditions),
            *_pairs(material, variants),
            *dict.fromkeys(n for each in found.values() for n in each.notes),
        ),
        strip(material, found, conditions),
    )


def _pairs(material: Material, variants: list[str]) -> list[str]:
    made = [material.titles[key] for key in variants if material.study.variant(key).parent == material.audit.baseline]
    if not made or material.baseline.num_members == 1:
        return []
    return [f"Members of {listed(made)} are tested in pairs with the baseline's members that they are made from."]


class _Conditions(Mapping[tuple[str, int], Predictions]):
    """Read when asked for and not kept, so that memory does not grow with the number of conditions."""

    def __init__(self, material: Material, key: str, conditions: tuple[Condition, ...]) -> None:
        self.store, self.key, self.conditions = material.store, key, conditions

    def __getitem__(self, condition: tuple[str, int]) -> Predictions:
        return self.store.predictions(self.key, Condition(*condition).split)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self.conditions)

    def __len__(self) -> int:
        return len(self.conditions)


def _figures(material: Material, found: Mapping[str, Robustness], titled: dict[str, Robustness]) -> Iterator[Figure]:
    first = next(iter(found.values()))
    for k in first.overall["k"]:
        yield Figure(
            f"robustness-relative-top{k}",
            relative_change_chart(titled, k=k),
            f"Change of top-{k} accuracy per corruption, relative to the baseline's, with intervals.",
            f"Relative change, top-{k}",
        )
    if (first.severities["severity"] > 0).any():
        yield Figure(
            "robustness-severity",
            severity_chart(titled, baseline=material.titles[material.audit.baseline]),
            "Accuracy over severity, a panel per corruption, a line per variant.",
            "Accuracy over severity",
        )
    reach = max(largest_change(each.classes) for each in found.values())  # one scale for all variants
    for key, each in found.items():
        if each.classes["difference_pp"].notna().any():
            yield Figure(
                f"robustness-classes-{key}",
                class_corruption_chart(each.classes, each.alpha, reach=reach),
                "Change of recall by class and corruption; a dot where it is significant.",
                f"{material.titles[key]}: classes by corruption",
            )


def _tables(material: Material, titled: dict[str, Robustness]) -> Iterator[Table]:
    first = next(iter(titled.values()))
    if first.overall["accuracy_before"].notna().all():
        yield means_table(titled, material.level)
    relative = robustness_table(titled).dropna(how="all")
    relative.columns = pd.Index([", ".join(names) for names in relative.columns])
    yield grid("Relative change of accuracy, % of the baseline's ([F] table 3)", relative, "+.2f")
    yield corruptions_table(titled, material.level)
    yield _severities(titled, material.titles[material.audit.baseline])
    yield from cells_table(titled)
    yield from flips_table(titled)


def _severities(titled: dict[str, Robustness], baseline: str) -> Table:
    tables = {title: each.severities.query("k == 1") for title, each in titled.items()}
    first = next(iter(tables.values()))
    accuracies = {
        baseline: first["accuracy_before"],
        **{title: each["accuracy_after"] for title, each in tables.items()},
    }
    names = first["corruption"] + first["severity"].map(lambda severity: f" {severity}" if severity else "")
    wide = 100 * pd.DataFrame({title: each.to_numpy() for title, each in accuracies.items()}, index=names)
    table = grid("Top-1 accuracy by severity, %", wide.rename_axis(index="condition"), ".2f")
    return Table(table.title, table.columns, folded=True)


def _missing(material: Material, variants: list[str], conditions: tuple[Condition, ...]) -> Iterator[str]:
    """What was asked for and is not there."""
    asked = material.study.corrupted_variants
    absent = [
        material.titles[key] for key in material.compressed if key not in variants and (asked is None or key in asked)
    ]
    if absent:
        yield f"Not evaluated under corruption: {listed(absent)}."
    gone = [condition.title for condition in material.study.conditions if condition not in conditions]
    if gone:
        yield f"Left out, for not every variant was evaluated there: {listed(gone)}."
    expected = min(material.study.corrupted_members or material.study.population, material.study.population)
    for key in (material.audit.baseline, *variants):
        counts = [material.evaluated(key, condition) for condition in conditions]
        members = material.populations[key].num_members
        few = sum(count < min(expected, members) for count in counts)
        if few:
            yield f"{material.titles[key]}: fewer than {expected} members under {few} of {len(conditions)} conditions."
        elif min(counts) < members:
            yield f"{material.titles[key]}: {min(counts)} of {members} members were evaluated."
