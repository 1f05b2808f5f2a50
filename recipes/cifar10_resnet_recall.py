"""[R] on CIFAR-10: do MP, GP, UP and RP distort the recalls of a ResNet-56 alike? K = 30.

Question ([R] 6, 7.1, 7.2, 7.4): does intensification grow with the ratio, shrink with the depth, and differ between the
methods? Members are pruned once from shared dense parents, by magnitude (MP), gradient (GP), undecayed gradient (UP) or
at random (RP), except for the classifier, and fine-tuned.

    tfaudit prepare cifar10 --from FOLDER    # CIFAR-10's binary version
    tfaudit run cifar10_resnet_recall
    tfaudit run cifar10_resnet_recall --model resnet20 --out runs/cifar10_resnet20_recall

The last command runs another depth, one of resnet20, resnet32, resnet44 and resnet110, for which [R] has MP and UP.

Cost: 630 members, 9,081,600 steps in all (30 trainings of 60 epochs, 600 of 40). Estimated from FLOPs, with a step as
three forward passes: 2,200 hours on two cores at .11 TFLOP/s, and 24 hours on one GPU at 10 TFLOP/s; a third of it for
ResNet-20, twice as much for ResNet-110. A GPU takes longer if kernel launches, not FLOPs, bound the step. Not run here:
it needs a GPU.

Published, [R] tables 10 and 11; dense accuracy, and variance of recall over classes, mean over members:

    model, method   accuracy  dense  ratio 2  ratio 4  ratio 10  ratio 20  ratio 50
    ResNet-20 MP        .896  .0036    .0036    .0039     .0057     .0097     .0318
    ResNet-32 MP        .903  .0032    .0031    .0033     .0045     .0074     .0189
    ResNet-44 MP        .900  .0038    .0035    .0037     .0048     .0068     .0153
    ResNet-56 MP        .893  .0038    .0034    .0036     .0045     .0062     .0142
    ResNet-56 GP        .896  .0039    .0033    .0037     .0048     .0072     .0149
    ResNet-56 UP        .893  .0040    .0034    .0033     .0040     .0056     .0104
    ResNet-56 RP        .893  .0038    .1504    .1320     .1413     .1487     .2270
    ResNet-110 MP       .889  .0039    .0036    .0037     .0045     .0061     .0135

Where [R] contradicts itself or is silent: the dense accuracies differ (.893, .896) between methods that should share
their parents; here they do share them. The schedule, 10 epochs at .01, 20 at .1 and 10 each at .01, .001 and .0001, and
the 40 epochs of fine-tuning are those of the authors' code; the rates of the fine-tuning are ours. Crops and mirroring
are those of ShrinkBench, which the code uses. The code's gradients omit the weight decay, the text's include it:
`gradient="data"` is the code's GP. Appendix E adds the ratios 6 and 8.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

plan = {
    "batch_size": 128,
    "weight_decay": 5e-4,
    "augmentation": "crop_flip",
    "validation": 0.1,
    "keep": "best",
}
TRAINING = Training(
    epochs=60, learning_rate=((0, 0.01), (10, 0.1), (30, 0.01), (40, 0.001), (50, 0.0001)), **plan
)
RETRAINING = Training(epochs=40, learning_rate=((0, 0.01), (20, 0.001), (30, 0.0001)), **plan)

study = Study(
    name="cifar10_resnet_recall",
    dataset="cifar10",
    model="resnet56",
    training=TRAINING,
    retraining=RETRAINING,
    variants=tuple(
        Pruned(
            ratio=ratio,
            method=method,
            scope=scope,
            treatment="finetune",
            unpruned_layers=("logits",),
        )
        for method, scope in (
            ("magnitude", "global"),
            ("gradient", "global"),
            ("undecayed", "global"),
            ("random", "layer"),
        )
        for ratio in (2, 4, 10, 20, 50)
    ),
    population=30,
    smoke_options={"width": 0.25, "blocks": [1, 1, 1]},
)
