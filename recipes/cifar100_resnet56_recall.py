"""[R] on CIFAR-100: do ten times as many classes suffer more from pruning? ResNet-56, K = 30.

Question ([R] 7.3): does pruning distort recall sooner on harder tasks? Compare with `cifar10_resnet_recall` and
`mnist_lenet5_recall`. Members are pruned once by magnitude (MP) or undecayed gradient (UP), except for the classifier,
and fine-tuned.

    python -c "import tensorflow_datasets as tfds; tfds.builder('cifar100').download_and_prepare()"
    tfaudit run cifar100_resnet56_recall

Cost: 330 members, 4,857,600 steps in all (30 trainings of 60 epochs, 300 of 40). Estimated from FLOPs, with a step as
three forward passes: 1,200 hours on two cores at .11 TFLOP/s, and 13 hours on one GPU at 10 TFLOP/s. Not run here: it
needs CIFAR-100 and a GPU.

Published, [R] tables 10 and 11; dense accuracy .671 (MP), .670 (UP); variance of recall over classes, mean over
members, by MP:

    dense   ratio 2  ratio 4  ratio 10  ratio 20  ratio 50
    .0004     .0004    .0004     .0005     .0009     .0021

Where [R] contradicts itself: table 11's .0004 cannot be the variance of recall over 100 classes of 100 test images
each: recall (1 - recall) / 100 = .002, five times as much, is expected by chance even if all classes are alike. Expect
values above .002. The schedules are those of `cifar10_resnet_recall`, which gives their sources.
"""

from tfaudit.recipes.cifar10_resnet_recall import RETRAINING, TRAINING
from tfaudit.study.study import Study
from tfaudit.study.variants import Pruned

study = Study(
    name="cifar100_resnet56_recall",
    dataset="cifar100",
    model="resnet56",
    training=TRAINING,
    retraining=RETRAINING,
    variants=tuple(
        Pruned(
            ratio=ratio,
            method=method,
            scope="global",
            treatment="finetune",
            unpruned_layers=("logits",),
        )
        for method in ("magnitude", "undecayed")
        for ratio in (2, 4, 10, 20, 50)
    ),
    population=30,
    smoke_options={"width": 0.25, "blocks": [1, 1, 1]},
)
