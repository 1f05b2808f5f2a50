"""The results of a study in sentences that claim no more than the figures support."""

import dataclasses

from tfaudit.audit.chance import Chance
from tfaudit.audit.classes import ClassImpact
from tfaudit.audit.exemplars import Exemplars
from tfaudit.audit.summary import Summary


@dataclasses.dataclass(frozen=True)
class Headline:
    """The results of one variant.

    Attributes:
        variant: key.
        title: of the variant.
        accuracy: the change of mean top-1 accuracy.
        classes: the classes that are harmed or favoured; empty if no class was tested.
        images: how many images change their modal label, compared with the number expected by chance.
    """

    variant: str
    title: str
    accuracy: str
    classes: str
    images: str


def headlines(audit: Summary) -> list[Headline]:
    """Return one headline per compressed variant."""
    rows = {row["variant"]: row for row in audit.frame().to_dict("records")}
    dense = rows[audit.baseline]["top1"]
    return [
        Headline(
            key,
            rows[key]["title"],
            _accuracy(100 * rows[key]["top1"], 100 * dense),
            _classes(audit, key),
            _images(exemplars, audit.chances.get(key)),
        )
        for key, exemplars in audit.exemplars.items()
    ]


def _accuracy(now: float, before: float) -> str:
    change = now - before
    if abs(change) < 0.05:
        return f"Mean top-1 accuracy stays within 0.05 points ({before:.2f}\u00a0% → {now:.2f}\u00a0%)."
    verb = "falls" if change < 0 else "rises"
    return f"Mean top-1 accuracy {verb} by {abs(change):.1f} points ({before:.1f}\u00a0% → {now:.1f}\u00a0%)."


def _classes(audit: Summary, key: str) -> str:
    if key not in audit.impacts:
        return ""
    counts = audit.impacts[key].summary()
    if not counts["significant"]:
        return f"There is no evidence that any of {counts['tested']} classes changes differently from the rest."
    chance = f"{counts['expected_by_chance']:.2g} of {counts['tested']} would differ by chance alone"
    if counts["significant"] <= counts["expected_by_chance"] and not counts["significant_holm"]:
        count = f"{counts['significant']} of {counts['tested']} classes"
        return f"{count} test as significant, no more than by chance: {chance}."
    directions = " and ".join(
        f"{counts[name]} {'is' if counts[name] == 1 else 'are'} {name} ({_most_affected(audit.impacts[key], name)})"
        for name in ("harmed", "favoured")
        if counts[name]
    )
    holm = counts["significant_holm"]
    remains = "none remains" if not holm else f"{holm} {'remains' if holm == 1 else 'remain'}"
    return f"Of {counts['tested']} classes, {directions} ({chance}; {remains} after Holm's correction)."


def _most_affected(impact: ClassImpact, direction: str, at_most: int = 3) -> str:
    """Return the classes of one direction, the most affected first."""
    frame = impact.frame().query("direction == @direction")
    order = frame["normalised_pp"].abs().sort_values(ascending=False, kind="stable").index
    names = list(frame.loc[order, "class"])
    return ", ".join(names[:at_most]) + (", …" if len(names) > at_most else "")


def _images(exemplars: Exemplars, chance: Chance | None) -> str:
    counts = exemplars.summary()
    if not counts["pies"]:
        return "No image changes its modal label."
    subject = "1 image changes its" if counts["pies"] == 1 else f"{counts['pies']:,} images change their"
    changes = f"{subject} modal label ({100 * counts['share']:.1f}\u00a0%)"
    if chance is None:
        return f"{changes}."
    null = chance.pies
    expected = f"{null.mean:,.3g}" if null.mean < 100 else f"{null.mean:,.0f}"
    p = f"p\u00a0= {null.p:.2g}" if null.p >= 0.001 else "p\u00a0< .001"
    if null.smallest_p > chance.alpha:
        return f"{changes}; {expected} would by chance, and there are too few members to tell the two apart."
    if null.p > chance.alpha:
        return f"{changes}, no more than expected by chance: {expected} would if compression did nothing ({p})."
    return f"{changes}; {expected} would by chance ({p})."
