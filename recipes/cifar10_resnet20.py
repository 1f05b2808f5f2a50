"""[F] on CIFAR-10 at feasible size: what does a residual network with something to lose forget? K = 3.

Question ([F] 3.1, 3.2, 4): which classes and photographs does compression harm in a network of more than 90 % accuracy?
ResNet-20 with projections (272,474 parameters) is trained for 26 epochs in bfloat16 at a rate that rises and falls
once, with crops and mirroring. Pruned members continue the dense training from its nineteenth epoch on and are pruned
for four epochs, except for the classifier; others are made from the finished dense members: pruned and fine-tuned
briefly, with and without distillation, or quantized.

    tfaudit prepare cifar10 --from FOLDER    # CIFAR-10's binary version
    tfaudit run cifar10_resnet20

Cost: 48 members, 95,094 steps in all (9 trainings of 26 epochs, 24 of 150 steps; 42,690 steps are those that six
members share with a dense one and that are not made again): about two hours on two cores with bfloat16 instructions,
half an hour on one GPU (both estimated).

Published, [F] table 5, a wide ResNet on CIFAR-10, K = 30: cifar10_wide_resnet has the table.

Not measured here yet. A trial with 20 epochs in float32, set in this file, .37 s a step on one core,
gave two dense models 89.85 and 89.68 %, less than is wanted; hence 26 epochs. Over 16 steps, bfloat16 took two thirds
of the time per step.

Where [F] is silent: its schedule for CIFAR-10 is not known; rates, epochs and the pruning window are ours.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

gradual = [Pruned(sparsity, begin=0.7, end=0.85, spare=("logits",)) for sparsity in (0.7, 0.9)]
finetuned = {"treatment": "finetune", "spare": ("logits",), "batch_norm": "recalibrated"}

plan = {
    "decay": "cosine",
    "weight_decay": 5e-4,
    "augmentation": "crop_flip",
    "precision": "mixed_bfloat16",
}

study = Study(
    name="cifar10_resnet20",
    dataset="cifar10",
    model="resnet20",
    training=Training(epochs=26, learning_rate=0.2, warmup=4.0, **plan),
    retraining=Training(steps=150, learning_rate=0.01, **plan),
    variants=(
        *gradual,
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8", "int4")),
        Quantized("int8", keep_float="last"),
        Quantized("int8", remedy="quantization_aware"),
        *(
            Pruned(sparsity, remedy=remedy, **finetuned)
            for sparsity in (0.5, 0.7, 0.9)
            for remedy in ((), "distillation")
        ),
        Pruned(0.3, method="l1", granularity="channel", axis=-1, **finetuned),
    ),
    model_options={"shortcuts": "projection"},
    population=3,
    top_k=10,
    fork=True,
    corruptions=("gaussian_noise", "contrast", "fog", "motion_blur"),
    severities=(3,),
    corrupted_variants=(*(variant.key for variant in gradual), "int8", "int4"),
    smoke_options={"width": 0.25, "blocks": [1, 1, 1]},
)
