"""A study of fifty classes, with hostile names among them, two of one name, and no images."""

from tests.builders.populations import population
from tests.builders.small_stores import save_population, small_study
from tests.builders.studies import TWO
from tfaudit.store.store import Store

MANY = "<b>study"  # name of its directory
HOSTILE = (
    "<script>alert(1)</script>",
    "*a* :cat: $x$ [l](u)",
    "x" * 300,
    "🐈, naïve",
    "crane",
    "crane",
)
NAMES = (*HOSTILE, *(f"species {i}" for i in range(len(HOSTILE), 50)))


def make_study_of_many_classes(directory, members=3):
    study = small_study(name="many", variants=TWO, population=members)
    store = Store.create(directory, study, {})
    labels = population(0, examples=400, classes=50).labels
    store.save_examples("test", labels, [f"<i>{i}</i>" for i in range(400)], NAMES, [b""] * 400)
    for i, variant in enumerate(study.all_variants):
        answers = population(i, members=members, examples=400, classes=50, hurt=[3] * (i == 1))
        save_population(store, variant.key, answers, bytes=1, gzipped_bytes=1)
    return store
