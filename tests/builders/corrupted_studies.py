"""A small study whose members are also evaluated under corruption."""

from tests.builders.populations import population
from tests.builders.studies import make_study

CORRUPTIONS = {"corruptions": ("fog", "gaussian_noise"), "severities": (1, 3)}


def evaluate(store, condition, variant, members):
    """Save predictions of a variant, noisier at higher severities; the first compressed one loses more of class 3."""
    number = [any_variant.key for any_variant in store.study.all_variants].index(variant)
    seed = 100 * number + 10 * store.study.conditions.index(condition)
    hurt = [3] if number == 1 else []
    predictions = population(
        seed, members=len(members), hurt=hurt, noise=1 + 0.3 * (condition.severity or 5)
    )
    for i, member in enumerate(members):
        store.evaluations.save(variant, member, condition.split, predictions.member(i))


def corrupted_study(directory, *, members=4, without=(), **settings):
    """Create a study; `without` has pairs of variant and condition title that are not evaluated."""
    store = make_study(directory, members=members, **{**CORRUPTIONS, **settings})
    numbers = range(min(members, store.study.corrupted_members or members))
    for condition in store.study.conditions:
        if not condition.is_computed:
            examples = store.examples()
            names = examples.attrs["class_names"]
            ids = [f"a-{i}" for i in range(len(examples))]
            store.save_examples(
                condition.split, examples["label"].to_numpy(), ids, names, list(examples["image"])
            )
        for variant in store.study.all_variants:
            if (variant.key, condition.title) not in without:
                evaluate(store, condition, variant.key, numbers)
    return store
