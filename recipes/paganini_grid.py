"""[P]'s grid: which of 7 pruning methods, fine-tuned or rewound, is fairest to classes? K = 6.

Question ([P] 3): what explains a class's accuracy after pruning: its size, its entropy, the pruning method, the
treatment? Each of 20 rounds prunes 20 % of the remaining weights and trains for 30 epochs, either from the current
weights or from their initial values.

    tfaudit prepare mnist --from FOLDER    # MNIST's four IDX files
    tfaudit run paganini_grid
    tfaudit run paganini_grid --model vgg11 --dataset kmnist --out runs/paganini_vgg11_kmnist

A study is one model on one data set. The last command runs another one: models are lenet_p, alexnet_small, vgg11 and
resnet18_small; data sets mnist, fashion_mnist, qmnist, kmnist, emnist/byclass, cifar10, cifar100 and svhn_cropped.

Cost: 1,686 members, 75,870,000 steps in all (1,686 trainings of 30 epochs). LeNet takes 84 s per training and core on
one machine, 125 on another, so 20 to 30 hours on two cores; 21 hours on one GPU at a millisecond per step. The other
models have more FLOPs: AlexNet 200 times as many, VGG11 800, ResNet-18 2,300.

Published: the paper regresses the class accuracies of 120,906 models (949,298 rows). Some of its coefficients, D:

    intercept                  .6375    rewinding                        .0670
    imbalance                 1.2429    rewinding x l1 structured       -.1592
    class entropy, bits       -.0237    rewinding x random structured   -.2932
    sparsity                  1.3942    rewinding x random unstructured -.2102
    l1 structured              .4721    exp(sparsity) x accuracy before -.1907
    random structured          .4925    accuracy before x its quartile   .0261

`tfaudit report` fits the same model to any study. Not run here: it takes a day.

Where [P] contradicts itself or is silent: 20 rounds of 20 % leave 1.15 % of the weights, but the "~98.6 %" of 4.1 are
reached after 19; here all 20 are run. Even digits are cropped at random and mirrored (E); we follow that, with 4 pixels
of padding. "Structured along the input axis" is `axis=-2`: the slices of a kernel that process one input channel.
[P] resizes images to the input of its networks (E); here they keep their size, and the networks suit it.
"""

from tfaudit.study.iterative import rounds
from tfaudit.study.study import Study, Training

METHODS = (
    {"method": "magnitude"},
    {"method": "magnitude", "scope": "global"},
    {"method": "random"},
    *(
        {"method": norm, "granularity": "channel", "axis": -2}
        for norm in ("l1", "l2", "linf", "random")
    ),
)

TRAINING = Training(
    epochs=30,
    batch_size=32,
    learning_rate=0.01,
    momentum=0.0,
    nesterov=False,
    augmentation="crop_flip",
    validation=0.2,
)

study = Study(
    name="paganini_grid",
    dataset="mnist",
    model="lenet_p",
    training=TRAINING,
    variants=tuple(
        variant
        for method in METHODS
        for treatment in ("finetune", "rewind")
        for variant in rounds(20, 0.2, treatment=treatment, **method)
    ),
    population=6,
    smoke_options={"width": 0.5},
)
