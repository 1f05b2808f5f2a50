"""[R] on lottery tickets: does rewinding avoid recall distortion? ResNet-56 on CIFAR-10, K = 10.

Question ([R] H, table 12): does intensification stay low with iterative pruning and rewinding? Each of 20 levels leaves
1/1.25 of the previous parameters, by magnitude over all kernels except the classifier, and retrains the remaining
weights from their initial values.

    tfaudit prepare cifar10 --from FOLDER    # CIFAR-10's binary version
    tfaudit run cifar10_resnet56_lottery

Cost: 210 members, 6,300,000 steps in all (210 trainings of 30,000 steps). Estimated from FLOPs, with a step as three
forward passes: 1,500 hours on two cores at .11 TFLOP/s, and 17 hours on one GPU at 10 TFLOP/s. Not run here: it needs a
GPU.

Published, [R] table 12:

    level  ratio  accuracy  intensif.    level  ratio  accuracy  intensif.
        0   1.00      .855          -       11  11.64      .846       .997
        1   1.25      .854      1.010       12  14.55      .841      1.029
        2   1.56      .859       .986       13  18.19      .835      1.055
        3   1.95      .859       .970       14  22.74      .826      1.131
        4   2.44      .859       .974       15  28.42      .811      1.244
        5   3.05      .859       .970       16  35.53      .795      1.293
        6   3.81      .859       .932       17  44.41      .769      1.377
        7   4.77      .858       .957       18  55.51      .739      1.536
        8   5.96      .856       .973       19  69.39      .694      1.767
        9   7.45      .853       .982       20  86.74      .669      1.910
       10   9.31      .850       .980

Where [R] contradicts itself: members are "trained on the same setting" as the others, 60 epochs, but for 30,000 steps,
which are 85 epochs of 45,000 images; we stretch the schedule accordingly. The dense accuracy is .855 here and .893 for
the same network in table 10.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned


def tickets(levels: int) -> tuple[Pruned, ...]:
    """Return successive levels of pruning: level n leaves 1/1.25^n of all parameters."""
    variants: list[Pruned] = []
    for level in range(1, levels + 1):
        after = variants[-1].key if variants else "dense"
        ratio = round(1.25**level, 2)
        variants.append(
            Pruned(
                ratio=ratio,
                scope="global",
                treatment="rewind",
                unpruned_layers=("logits",),
                after=after,
            )
        )
    return tuple(variants)


study = Study(
    name="cifar10_resnet56_lottery",
    dataset="cifar10",
    model="resnet56",
    training=Training(
        steps=30_000,
        batch_size=128,
        learning_rate=((0, 0.01), (14, 0.1), (43, 0.01), (57, 0.001), (71, 0.0001)),
        weight_decay=5e-4,
        augmentation="crop_flip",
        validation=0.1,
        keep="best",
    ),
    variants=tickets(20),
    population=10,
    smoke_options={"width": 0.25, "blocks": [1, 1, 1]},
)
