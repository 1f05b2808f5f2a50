"""[F]'s design on CIFAR-10: what does a small convolutional network forget? K = 30.

Question ([F] 2.4, 3.1, 3.2): which classes and photographs does compression harm while top-1 accuracy hardly changes?
Which kinds of truck or dog? A network of four 3x3 convolutions with BatchNormalization (98,970 parameters) is trained
for 8 epochs with crops and mirroring. Pruned members are pruned during this training, except for the classifier;
quantized variants are made from the dense members. The file names of CIFAR-10's Python version give the kind of every
object: 240 kinds, such as dump truck or pekingese, are stored as groups.

    tfaudit prepare cifar10_subclasses --from cifar-10-batches-py    # CIFAR-10's Python version
    tfaudit run cifar10_forgets

Without the kinds, any CIFAR-10 will do: `tfaudit run cifar10_forgets --dataset cifar10`. The same command resumes an
interrupted run. Members are made number by number, so all variants have about equally many at any time.

Cost: 270 members, 469,200 steps in all (150 trainings of 8 epochs, 120 conversions). A training takes 125 s of a core,
so two cores need about three hours (estimated), and one GPU one hour at 8 ms a step; 1,140 tests under corruption take
another hour of a core.

Published, [F] table 5, wide ResNet on CIFAR-10; of the significant classes, .5 are expected by chance:

    variant         top-1  classes of 10  PIEs of 10,000
    dense           94.53              -               -
    magnitude 30 %  94.47              1             114
    magnitude 50 %  94.39              1             144
    magnitude 70 %  94.30              0             137
    magnitude 90 %  94.14              2             216

Measured here with K = 10 (`tfaudit run cifar10_forgets --population 10`), in two hours on one core. "Lost"
are classes whose interval over images and members lies below 0 after Holm; "published" is [F]'s test:

    variant            top-1  lost  gained  published  after Holm  PIEs (by chance)     p
    dense              79.62     -       -          -           -                 -     -
    magnitude 30 %     78.89     2       0          0           0         564 (575)   .77
    magnitude 50 %     77.88     6       0          1           0         658 (615)  .010
    magnitude 70 %     76.18    10       0          2           0         842 (672)  .002
    magnitude 90 %     62.87    10       0          8           7     2,341 (1,029)  .002
    float16            79.61     0       0          0           0           11 (11)     1
    dynamic range      79.59     0       0          0           0           52 (49)  .020

Cats lose 3.5 points at 50 % sparsity (95 % interval 1.8 to 5.2) and 5.6 at 70 %, where accuracy loses 1.7 and 3.4. At
90 % deer lose 26 and cats 23, frogs 11. Pruning makes the network more brittle under corruption, as in [F]: at 70 %
sparsity the four noises, contrast and fog cost significantly more than clean images do.

With K = 30, 70 % sparsity and int8 (the notes have this study), in three hours on two cores without AVX-512: dense
79.46 %, 70 % 76.28, -3.18 points (95 % interval -3.43 to -2.93). All ten classes lose, cats 4.6 (3.4 to 5.8), deer 4.5
(3.6 to 5.4), trucks 2.1 (1.4 to 2.7). [F]'s test finds five, four after Holm; ten of the thirty members find three on
average, none to five. 620 PIEs, 549 without draws, of which 310 are expected by chance (p = .001).

int8 has 79.43 %, -.03 points (-.06 to .00). No class changes: all ten intervals lie within .31 points of 0. By argmax,
which gives ties to the class with the lowest number, seven classes change significantly: airplanes, birds and cats gain
up to .55 points, dogs, frogs, horses and trucks lose up to .44.

Notes, with all figures: `docs/recipe_notes.md`.

Where [F] is silent or cannot be followed: its wide ResNet (36 million parameters) needs GPUs, and is the recipe
cifar10_wide_resnet. The network here has few weights to spare, so pruning costs more.
"""

from tfaudit.datasets.corruptions.registry import CORRUPTIONS
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

pruned = [Pruned(sparsity, unpruned_layers=("logits",)) for sparsity in (0.3, 0.5, 0.7, 0.9)]

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
    variants=(
        *pruned,
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
        Quantized("int8", float_layers="last"),
    ),
    population=30,
    corruptions=tuple(CORRUPTIONS),
    severities=(3,),
    corrupted_members=10,
    corrupted_variants=(*(variant.key for variant in pruned), "int8"),
)
