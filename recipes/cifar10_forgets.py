"""[F]'s design on CIFAR-10: what does a small convolutional network forget? K = 30.

Question ([F] 2.4, 3.1, 3.2): which classes and photographs does compression harm while top-1 accuracy hardly changes,
and which kinds of truck or dog? A network of four 3x3 convolutions with BatchNormalization (98,970 parameters) is
trained for 8 epochs with crops and mirroring, and pruned during training, except for the classifier; quantized variants
are made from the dense members. The file names of CIFAR-10's Python version tell the kind of every object: 240 kinds,
such as dump truck or pekingese, are groups.

    tfaudit prepare cifar10_subclasses --from cifar-10-batches-py    # CIFAR-10's Python version
    tfaudit run cifar10_forgets

Without the kinds, any CIFAR-10 will do: `tfaudit run cifar10_forgets --dataset cifar10`. The same command resumes an
interrupted run. Members are made number by number, so at any time all variants have about equally many.

Cost: 240 members, 469,200 steps in all (150 trainings of 8 epochs, 90 conversions). A training takes 170 s of a core,
so two cores need about four hours (estimated), and one GPU one hour at 8 ms a step.

Published, [F] table 5, wide ResNet on CIFAR-10; of the significant classes, .5 are expected by chance:

    variant         top-1  signif. of 10  PIEs of 10,000
    dense           94.53              -               -
    magnitude 30 %  94.47              1             114
    magnitude 50 %  94.39              1             144
    magnitude 70 %  94.30              0             137
    magnitude 90 %  94.14              2             216

Not measured here in full: one member has been made so far, a dense one with top-1 79.92, in about 165 s of a core on a
busy machine.

Where [F] is silent or cannot be followed: its wide ResNet (36 million parameters) needs GPUs, and is the recipe
cifar10_wide_resnet. Here the network has a small surplus of weights, so pruning costs more.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

pruned = [Pruned(sparsity, spare=("logits",)) for sparsity in (0.3, 0.5, 0.7, 0.9)]

study = Study(
    name="cifar10_forgets",
    dataset="cifar10_subclasses",
    model="cifar_convnet",
    training=Training(
        epochs=8,
        batch_size=128,
        learning_rate=0.2,
        decay="cosine",
        warmup=1.0,
        weight_decay=5e-4,
        augmentation="crop_flip",
    ),
    variants=(*pruned, *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8"))),
    population=30,
)
