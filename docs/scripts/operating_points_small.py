# operating_points_small.py
from tfaudit.study.iterative import rounds
from tfaudit.study.study import Study, Training

plan = {"batch_size": 128, "momentum": 0.9, "nesterov": False, "validation": 0.1, "decay": "cosine"}
methods = ("l1", "l2", "linf", "random")
study = Study(
    name="operating_points_small",
    dataset="mnist",
    model="alexnet_small",
    model_options={"width": 1 / 8},
    training=Training(epochs=10, learning_rate=0.02, warmup=0.5, **plan),
    retraining=Training(epochs=1, learning_rate=0.01, **plan),
    variants=tuple(
        variant
        for method in methods
        for variant in rounds(
            10, 0.2, method=method, granularity="channel", axis=-2, treatment="finetune"
        )
    ),
    population=3,
)
