"""[F]'s design on CIFAR-10: what does a small convolutional network forget? K = 30.

Question ([F] 2.4, 3.1, 3.2): which classes and photographs does compression harm while top-1 accuracy hardly changes,
and which kinds of truck or dog? A network of four 3x3 convolutions with BatchNormalization (98,970 parameters) is
trained for 8 epochs with crops and mirroring, and pruned during training, except for the classifier; quantized variants
are made from the dense members. The file names of CIFAR-10's Python version tell the kind of every object: 240 kinds,
such as dump truck or pekingese, are kept with the examples.

    tfaudit prepare cifar10_subclasses --from cifar-10-batches-py    # CIFAR-10's Python version
    tfaudit run cifar10_forgets

Without the kinds, any CIFAR-10 will do: `tfaudit run cifar10_forgets --dataset cifar10`. The same command resumes an
interrupted run. Members are made number by number, so at any time all variants have about equally many.

Cost: 270 members, 469,200 steps in all (150 trainings of 8 epochs, 120 conversions). A training takes 125 s of a core,
so two cores need about three hours (estimated), and one GPU one hour at 8 ms a step; 1,140 tests under corruption take
another hour of a core.

Published, [F] table 5, wide ResNet on CIFAR-10; of the significant classes, .5 are expected by chance:

    variant         top-1  signif. of 10  PIEs of 10,000
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
    fixed-point int8   79.54     2       1          0           0         106 (101)   .10   (by argmax)

The same few pay, and sooner than overall accuracy tells. Cats lose 3.5 points at 50 % sparsity (95 % interval 1.8 to
5.2) and 5.6 at 70 %, where accuracy loses 1.7 and 3.4. At 90 % deer lose 26 and cats 23, frogs 11.

What int8 seems to cost the classes is how argmax settles ties: the output has 256 steps, and half of the 118
predictions that change share their best score exactly among two classes or more. By argmax, which takes the class of
the lowest number, dogs lose .91 points (.46 to 1.37; p = .015 after Holm) and cats gain .78 (p = .028), in eight
members; the ten members above had .97 and .87. With ties at their expectation accuracy loses .11 points, dogs .47
(.08 to .86; p = .23 after Holm), cats gain .04, and of no class a change is established. With the last layer in float
(111,608 -> 115,088 bytes) nothing ties: 103 predictions change, negative flips are .45 instead of .50 %, dogs lose
.35 (.06 to .64; p = .24). Measured on the dense members of `tfaudit run` with this training, quantized anew with
`quantize(..., "int8")` and `keep_float="last"`, and audited by `tfaudit.class_impact`. PIEs of the table give ties
between members to the lowest number, as [F] does: `published_pies`.

Kinds, by `tfaudit.groups(store.predictions("dense"), store.predictions(KEY), store.examples(images=False)["kind"])`,
intervals over images and members, Holm over the 223 kinds in the test set: at 50 % domestic cats lose 4.1 points
(p = .034), the only kind of which that is established. At 90 % 41 kinds lose; caribous (79 to 32 % of 31 images) and
tabby cats (64 to 39 % of 321) lose more than the average. No kind of truck or dog stands out; of the dogs that int8
loses by argmax, pekingese come first (-1.06, p = .096).

Under 19 corruptions ([F] 4) at severity 3 (the same ten members): relative change of top-1 in per cent, on clean
images, of the mean over corruptions, and under the corruption with the largest; how many points more than on clean
images the corruptions cost (95 %); number of corruptions under which accuracy is lost, after Holm:

    variant           clean    mean  largest                  excess, points  lost, of 19
    magnitude 30 %     -0.9    -0.6  contrast        -3.2    +0.4 (-0.3, +1.0)           2
    magnitude 50 %     -2.2    -2.7  gaussian noise  -7.2    +0.0 (-0.6, +0.7)          12
    magnitude 70 %     -4.3    -7.1  gaussian noise -16.9    -1.1 (-1.8, -0.4)          18
    magnitude 90 %    -21.0   -18.6  contrast       -35.8    +4.8 (+0.8, +8.9)          16
    fixed-point int8   -0.1    -0.1  contrast        -0.8    -0.0 (-0.1, +0.1)           3

As in [F], pruning makes models more brittle: at 70 % the four noises, contrast and fog cost significantly more than
clean images do; ships under impulse noise fall from 50 to 25 %. At 90 % clean images have lost so much that the
noises take less, but fog takes 35 % of what there was, and frost 30 %; automobiles in fog fall from 63 to 19 %. By
argmax, int8 costs dogs 1.9 points in fog (1.1 to 2.6), which was not measured again with ties at their expectation.
Published, [F] table 3, ResNet-50 at 90 %: -7.5 % (elastic) to -40 % (impulse noise).

Where [F] is silent or cannot be followed: its wide ResNet (36 million parameters) needs GPUs, and is the recipe
cifar10_wide_resnet. Here the network has a small surplus of weights, so pruning costs more.
"""

from tfaudit.datasets.corruptions.registry import CORRUPTIONS
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
    variants=(
        *pruned,
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
        Quantized("int8", keep_float="last"),
    ),
    population=30,
    corruptions=tuple(CORRUPTIONS),
    severities=(3,),
    corrupted_members=10,
    corrupted_variants=(*(variant.key for variant in pruned), "int8"),
)
