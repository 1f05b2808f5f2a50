"""
Corruptions
===========

The corruptions of ImageNet-C and CIFAR-C [HD] on one real digit, at severity 3. Studies take them with
`corruptions=[...]`; here one digit is enough.
"""

import altair as alt
import pandas as pd

import tfaudit
import tfaudit.datasets

images = tfaudit.load_dataset("digits", "test").images[:1]
pixels = []
for name in ("gaussian_noise", "shot_noise", "defocus_blur", "fog", "contrast", "pixelate"):
    corrupted = tfaudit.corrupt(images, name, 3)[0, :, :, 0]
    for (row, column), value in pd.DataFrame(corrupted).stack().items():
        pixels.append({"corruption": name, "row": row, "column": column, "value": value})
grid = (
    alt.Chart(pd.DataFrame(pixels), width=100, height=100)
    .mark_rect()
    .encode(
        x=alt.X("column:O", axis=None),
        y=alt.Y("row:O", axis=None),
        color=alt.Color("value:Q", legend=None).scale(
            scheme="greys", reverse=True, domain=[0, 255]
        ),
    )
    .facet(alt.Facet("corruption:N", title=None, sort=None), columns=6)
)

# %%
# All of them:

print(*tfaudit.datasets.corruption_names(), sep="\n")
