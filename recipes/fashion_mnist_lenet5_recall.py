"""[R] on Fashion-MNIST: do ratios 2 to 50 drive the recalls of a LeNet5's classes apart? K = 10.

Question ([R] 6, 7): every member is pruned at one blow from one shared dense parent and trained on for 15 epochs, by
magnitude (MP), undecayed (UP) and random pruning (RP), the classifier spared.
"""

from tfaudit.study import Study, Training
from tfaudit.variants import Pruned

RATIOS = (2, 4, 10, 20, 50)

plan = {"batch_size": 128, "learning_rate": 0.01, "momentum": 0.9, "nesterov": True, "validation": 0.1, "keep": "best"}

study = Study(
    name="fashion_mnist_lenet5_recall",
    dataset="fashion_mnist",
    model="lenet_r",
    training=Training(epochs=30, **plan),
    retraining=Training(epochs=15, **plan),
    variants=tuple(
        Pruned(ratio=ratio, method=method, treatment="finetune", spare=("logits",), **options)
        for method, options in (
            ("magnitude", {"scope": "global"}),
            ("undecayed", {"scope": "global", "decay": 5e-4}),
            ("random", {}),
        )
        for ratio in RATIOS
    ),
    population=10,
)
