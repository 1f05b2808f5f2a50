"""[F]'s design on Fashion-MNIST: LeNet-5, five pruning levels and three quantizations, K = 30.

Question ([F] 2.4, 3.1): which classes and images does compression harm while top-1 accuracy hardly changes? LeNet-5 is
trained as in [R] (SGD .01 with Nesterov momentum .9, batch 128, 30 epochs) and pruned gradually during training;
quantized variants are made from the dense members.

    apt-get install dataset-fashion-mnist
    tfaudit prepare fashion_mnist --from /usr/share/datasets/fashion-mnist
    tfaudit run fashion_mnist_lenet

Cost: 180 trainings of 30 epochs (14,070 steps) and 120 conversions; two cores train two members at a time in about
100 s and convert one in 1.5 s: about two and a half hours (estimated from the run below).

Measured on the real 60,000 + 10,000 images, `tfaudit run fashion_mnist_lenet --population 4`; significant classes of
10, of which .5 are expected by chance:

    variant             size kB  gzipped kB  top-1  top-5  classes  Holm  BH  PIEs  by chance     p
    dense                   285         233  90.13  99.80        -     -   -     -          -     -
    magnitude 10 %          285         219  90.04  99.84        0     0   0   556        551   .37
    magnitude 30 %          285         181  90.11  99.83        0     0   0   531        539   .77
    magnitude 50 %          285         138  90.05  99.83        0     0   0   541        556   .80
    magnitude 70 %          285        91.3  90.05  99.85        0     0   0   568        563   .40
    magnitude 90 %          285        37.9  89.93  99.86        1     0   0   605        545  .029
    float16                 130         116  90.14  99.80        0     0   0     3          3   1.0
    dynamic range int8     73.1        65.2  90.10  99.80        0     0   0    29         27   .12
    fixed-point int8       74.1        63.5  90.12  99.82        0     0   0    70         68   .25

Pruned members are trained from scratch, quantized ones are made from the dense members. So most PIEs of the pruned
variants are images on which any two populations of four disagree: only 90 % sparsity has significantly more than
expected by chance. With four pairs, the p-value of a quantized variant cannot be below .125.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

study = Study(
    name="fashion_mnist_lenet",
    dataset="fashion_mnist",
    model="lenet_r",
    training=Training(epochs=30, batch_size=128, learning_rate=0.01, momentum=0.9, nesterov=True),
    variants=(
        *(Pruned(sparsity) for sparsity in (0.1, 0.3, 0.5, 0.7, 0.9)),
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
        Quantized("int8", float_layers="last"),
    ),
    population=30,
)
