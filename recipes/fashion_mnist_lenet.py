"""[F]'s design on Fashion-MNIST: LeNet-5, five pruning levels and three quantizations, K = 30.

Question ([F] 2.4, 3.1): which classes and images does compression sacrifice while top-1 accuracy hardly moves?
LeNet-5 as [R] trains it (SGD .01 with Nesterov momentum .9, batch 128, 30 epochs), pruned gradually while it trains;
quantized variants are made from the dense members.

    apt-get install dataset-fashion-mnist
    tfaudit prepare fashion_mnist --from /usr/share/datasets/fashion-mnist
    tfaudit run fashion_mnist_lenet

Cost: 180 trainings of 30 epochs (14,070 steps each).
"""

from tfaudit.study import Study, Training
from tfaudit.variants import Pruned, Quantized

study = Study(
    name="fashion_mnist_lenet",
    dataset="fashion_mnist",
    model="lenet_r",
    training=Training(epochs=30, batch_size=128, learning_rate=0.01, momentum=0.9, nesterov=True),
    variants=(
        *(Pruned(sparsity) for sparsity in (0.1, 0.3, 0.5, 0.7, 0.9)),
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
    ),
    population=30,
)
