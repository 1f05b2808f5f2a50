"""[R] on MNIST: does pruning a LeNet5 distort recall on an easy task? K = 30.

Question ([R] 6, 7.3): does recall distortion set in later than on harder data? Members are pruned once by magnitude,
with all kernels except the classifier ranked together, and fine-tuned for 15 epochs.

    tfaudit prepare mnist --from FOLDER    # MNIST's four IDX files
    tfaudit run mnist_lenet5_recall

Cost: 180 members, 1,329,300 steps in all (30 trainings of 30 epochs, 150 of 15): about an hour on two cores, 2.7 s
per epoch and core; 25 minutes on one GPU at a millisecond per step.

Published, [R] tables 10, 11 and 3; dense accuracy .989; variance of recall over classes, mean over members; p-value of
the slope growing from one ratio to the next (Bonferroni):

                dense   ratio 2   ratio 4  ratio 10  ratio 20  ratio 50
    variance    .0038     .0038     .0038     .0038     .0039     .0111
    p                                .389     1.000      .071     <.001

Measured here with ten members, `tfaudit run mnist_lenet5_recall --population 10`, about two hours on two cores without
AVX-512; variance with ddof 0, slopes as published:

                dense   ratio 2   ratio 4  ratio 10  ratio 20  ratio 50
    accuracy    .9895     .9897     .9888     .9879     .9793     .2474
    variance   .00003    .00003    .00003    .00004    .00008     .0800
    slope           -       .60       .57       .66       .61        80
    p                                1.00       .63      1.00      .048

As published, distortion sets in later than on Fashion-MNIST: between ratios 20 and 50. Up to 20, slopes below 1 do not
mean that classes draw together: two dense networks have .55 between them. Dense networks know all digits so well
that 10,000 images do not tell which digit is harder, so no corrected slope is defined. Ratio 20 costs 1.0 points (.8 to
1.2); three digits are shown to lose, 4 most, 1.7 points (1.0 to 2.4). At ratio 50, 158 of 60,630 weights remain besides
the biases and the classifier, and five of ten networks predict a single digit.

Where [R] contradicts itself or is silent: at accuracy .989 the variance of ten recalls is at most about .0011 (one
class .89, the others 1), so table 11's .0038 cannot be such a variance. Kernel size and momentum of its "adaptation of
LeNet5" are not given: 5x5 and Nesterov momentum .9 reproduce its accuracy on Fashion-MNIST
(`fashion_mnist_lenet5_recall`). A tenth of the training images is held out for choosing the epoch.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

plan = {"batch_size": 128, "learning_rate": 0.01, "validation": 0.1, "keep": "best"}

study = Study(
    name="mnist_lenet5_recall",
    dataset="mnist",
    model="lenet_r",
    training=Training(epochs=30, **plan),
    retraining=Training(epochs=15, **plan),
    variants=tuple(
        Pruned(ratio=ratio, scope="global", treatment="finetune", unpruned_layers=("logits",))
        for ratio in (2, 4, 10, 20, 50)
    ),
    population=30,
)
