"""[P] 4.2: which structured pruning is sparse and fair at 98 % accuracy? AlexNet, MNIST, K = 6.

Question ([P] 4.2): of the networks that keep 98 % accuracy, which are Pareto-optimal in sparsity (up) and unfairness,
the largest recall less the smallest (down)? Channels of the input axis go by their l1, l2 or linf norm or at random, in
20 rounds of 20 %, each rewound to the initialisation and trained for 30 epochs.

    tfaudit prepare mnist --from FOLDER    # MNIST's four IDX files
    tfaudit run alexnet_operating_points

Cost: 486 members, 21,870,000 steps in all (486 trainings of 30 epochs). Estimated from FLOPs, a step being three
forward passes: 450 hours on two cores at .11 TFLOP/s, and 5 hours on one GPU at 10 TFLOP/s, or 6 where a step takes no
less than a millisecond.

Published, [P] figures 3 and 4, points are means of six seeds: no one technique makes up the Pareto set. Who values
fairness 100 times as much as sparsity takes a point at

    accuracy  sparsity
    >= 98 %     ~ 68 %    after five rounds (67.2 %)

Not run here: needs a GPU.

Where [P] is silent: its AlexNet for images of 28 pixels is not printed; ours has 20,125,386 parameters
(`tfaudit.models.alexnet`). The caption of figure 3a names rewinding, figure 4 no treatment: for fine-tuned networks
too, add `treatment="finetune"`, as `paganini_grid` does.
"""

from tfaudit.study.iterative import rounds
from tfaudit.study.study import Study, Training

study = Study(
    name="alexnet_operating_points",
    dataset="mnist",
    model="alexnet_small",
    training=Training(
        epochs=30,
        batch_size=32,
        learning_rate=0.01,
        momentum=0.0,
        nesterov=False,
        augmentation="crop_flip",
        validation=0.2,
    ),
    variants=tuple(
        variant
        for method in ("l1", "l2", "linf", "random")
        for variant in rounds(20, 0.2, method=method, granularity="channel", axis=-2)
    ),
    population=6,
    smoke_options={"width": 1 / 16},
)
