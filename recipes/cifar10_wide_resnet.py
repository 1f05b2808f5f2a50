"""[F] on CIFAR-10: with few classes and much capacity, does a wide ResNet still forget? K = 30.

Question ([F] 2.4, 3.1, table 5): are fewer classes affected if the task is easy for the network? Members are pruned
during training, in 80,000 steps of 128 images with crops and mirroring; quantized variants are made from the dense
members.

    tfaudit prepare cifar10 --from FOLDER    # CIFAR-10's binary version
    tfaudit run cifar10_wide_resnet

Cost: 270 members, 14,400,000 steps in all (180 trainings of 80,000 steps; 90 conversions). Estimated from FLOPs, with a
step as three forward passes: 146,000 hours on two cores at .11 TFLOP/s, and 1,600 hours on one GPU at 10 TFLOP/s.
Not run here: it needs GPUs.

Published, [F] table 5; top-5 is 99.8 at every level:

    variant         top-1  classes of 10  PIEs of 10,000
    dense           94.53              -               -
    magnitude 30 %  94.47              1             114
    magnitude 50 %  94.39              1             144
    magnitude 70 %  94.30              0             137
    magnitude 90 %  94.14              2             216

Where [F] contradicts itself or is silent: the dense accuracy is 94.35 in 2.4, 94.53 in table 5 and 94.89 in 3.2 and
table 6. Depth, width, learning rate, weight decay and pruning window are not given. We take WRN-28-10 with its authors'
schedule (Zagoruyko and Komodakis 2016: .1, /5 at epochs 60, 120 and 160, decay 5e-4), which reaches about 96; a smaller
one is `model_options={"depth": 16, "widening": 4}`. The pruning window is that of the ImageNet code as shares of the
steps. The released code trains on ImageNet alone, so the rest is not known either: here images are padded by 4 pixels,
cropped and mirrored (Zagoruyko and Komodakis), pixels are normalised by the mean and deviation of the training images,
and convolutions are drawn from He's normal distribution. Unlike in the code, only kernels decay, and pruned weights are
zero, as in `imagenet_resnet50`.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

study = Study(
    name="cifar10_wide_resnet",
    dataset="cifar10",
    model="wide_resnet",
    training=Training(
        steps=80_000,
        batch_size=128,
        learning_rate=((0, 0.1), (60, 0.02), (120, 0.004), (160, 0.0008)),
        weight_decay=5e-4,
        augmentation="crop_flip",
    ),
    variants=(
        *(
            Pruned(sparsity, begin=5 / 32, end=8 / 32, frequency=500, unpruned_layers=("logits",))
            for sparsity in (0.1, 0.3, 0.5, 0.7, 0.9)
        ),
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
    ),
    population=30,
    model_options={"depth": 28, "widening": 10},
    smoke_options={"depth": 10, "widening": 1},
)
