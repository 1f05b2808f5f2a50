"""Members that are really made, in this process."""

import shutil

from tfaudit.datasets.loading import load_dataset
from tfaudit.population.member import MemberMaker
from tfaudit.population.stored_examples import store_class_facts, store_examples
from tfaudit.store.store import Store


def make_members(directory, study, keys=None, members=(0,), splits=None, parents=None):
    """Make members of some variants, by default of all, in a new store; return it and what made them.

    `splits` are by default the digits of the study's limit. Dense members come from the store `parents` if it is given.
    """
    splits = splits or [
        load_dataset("digits", split).take(study.limit) for split in ("train", "test")
    ]
    store = Store.create(directory, study, {})
    store_examples(store, splits[1])
    store_class_facts(store, splits[0])
    if parents:
        for kind in ("members/dense", "predictions/split=test/variant=dense"):
            shutil.copytree(parents.directory / kind, directory / kind)
    maker = MemberMaker(store, splits)
    for member in members:
        for key in keys or [variant.key for variant in study.all_variants]:
            maker.prepare(key)
            maker.make(key, member)
    return store, maker
