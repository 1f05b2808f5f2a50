"""[P] 4.2: which structured pruning is sparse and fair at 98 % accuracy? AlexNet, MNIST, K = 6.

Question ([P] 4.2): which networks with at least 98 % accuracy are Pareto-optimal in sparsity (maximised) and unfairness
(minimised), the difference between the largest and the smallest recall? Input channels are pruned by their l1, l2 or
linf norm or at random, in 20 rounds of 20 %; each round rewinds to the initialisation and trains for 30 epochs.

    tfaudit prepare mnist --from FOLDER    # MNIST's four IDX files
    tfaudit run alexnet_operating_points

Cost: 486 members, 21,870,000 steps in all (486 trainings of 30 epochs). Estimated from FLOPs, with a step as three
forward passes: 450 hours on two cores at .11 TFLOP/s, and 5 hours on one GPU at 10 TFLOP/s, or 6 if a step takes at
least a millisecond. Not run here: it needs a GPU.

Published, [P] figures 3 and 4, whose points are means of six seeds: no single pruning method makes up the Pareto set.
If fairness counts 100 times as much as sparsity, the best point is

    accuracy  sparsity
    >= 98 %     ~ 68 %    after five rounds (67.2 %)

Where [P] is silent or cannot be followed: it resizes images to the input of its AlexNet (E), to a size that it does not
name; ours takes 28 pixels, with smaller kernels and 20,125,386 parameters (`tfaudit.extensions.networks.alexnet`). The
caption of figure 3a names rewinding, that of figure 4 no treatment; to include fine-tuned networks, add
`treatment="finetune"`, as `paganini_grid` does.

Notes, with a small study: `docs/recipe_notes.md`.
"""

from tfaudit.recipes.paganini_grid import TRAINING
from tfaudit.study.iterative import rounds
from tfaudit.study.study import Study

study = Study(
    name="alexnet_operating_points",
    dataset="mnist",
    model="alexnet_small",
    training=TRAINING,
    variants=tuple(
        variant
        for method in ("l1", "l2", "linf", "random")
        for variant in rounds(20, 0.2, method=method, granularity="channel", axis=-2)
    ),
    population=6,
    smoke_options={"width": 1 / 16},
)
