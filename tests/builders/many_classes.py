"""A study of fifty classes, with hostile names among them, two of one name, and no images."""

from tests.builders.populations import population
from tests.builders.studies import TWO
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.study import Study, Training

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
    study = Study(
        name="many",
        dataset="digits",
        model="digits_convnet",
        training=Training(epochs=1),
        variants=TWO,
        population=members,
    )
    store = Store.create(directory, study, {})
    labels = population(0, examples=400, classes=50).labels
    store.save_examples("test", labels, [f"<i>{i}</i>" for i in range(400)], NAMES, [b""] * 400)
    for i, variant in enumerate(study.all_variants):
        answers = population(i, members=members, examples=400, classes=50, hurt=[3] * (i == 1))
        for member in range(members):
            content = prediction_bytes(answers.member(member))
            files = {store.prediction_path(variant.key, member): content}
            store.save_member(variant.key, member, files, {"bytes": 1, "gzipped_bytes": 1})
    return store
