"""[R] on CHIP: does pruning whole channels distort the recalls of a ResNet-56? CIFAR-10, K = 15.

Question ([R] H, table 13): does recall distortion also occur with CHIP (Sui et al. 2021)? It prunes once the filters
whose feature maps depend most on the others, the same share of every convolution; then the network is fine-tuned.

    tfaudit prepare cifar10 --from FOLDER    # CIFAR-10's binary version
    tfaudit run cifar10_resnet56_chip

Cost: 75 members, 1,161,600 steps in all (15 trainings of 60 epochs, 60 of 40). Estimated from FLOPs, with a step as
three forward passes: 280 hours on two cores at .11 TFLOP/s, and 3 hours on one GPU at 10 TFLOP/s. Not run here: it
needs a GPU.

Published, [R] table 13:

    ratio  accuracy  intensification
     1.00      .886                -
     1.75      .934             .516
     3.33      .920             .650
     8.27      .882             .985
    19.11      .824            1.494

Where [R] contradicts itself or is silent: pruned members are up to .048 better than the dense ones, so their
fine-tuning must have been much longer than the dense training; [R] does not say how long. Here all have the schedules
of `cifar10_resnet_recall`. CHIP's authors choose the share of each layer by hand; here all layers have the same. A
ratio counts the weights of the pruned filters, not the inputs of the following layers that become unused.
"""

from tfaudit.recipes.cifar10_resnet_recall import RETRAINING, TRAINING
from tfaudit.study.study import Study
from tfaudit.study.variants import Pruned

study = Study(
    name="cifar10_resnet56_chip",
    dataset="cifar10",
    model="resnet56",
    training=TRAINING,
    retraining=RETRAINING,
    variants=tuple(
        Pruned(
            ratio=ratio,
            method="chip",
            granularity="channel",
            axis=-1,
            treatment="finetune",
            unpruned_layers=("logits",),
        )
        for ratio in (1.75, 3.33, 8.27, 19.11)
    ),
    population=15,
    smoke_options={"width": 0.25, "blocks": [1, 1, 1]},
)
