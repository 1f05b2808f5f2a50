"""[R] on MNIST: does pruning a LeNet5 distort recall on an easy task? K = 30.

Question ([R] 6, 7.3): does recall distortion set in later than on harder data? Members are pruned once by magnitude,
with all kernels except the classifier ranked together, and fine-tuned for 15 epochs.

    tfaudit prepare mnist --from FOLDER    # MNIST's four IDX files
    tfaudit run mnist_lenet5_recall

Cost: 180 members, 1,329,300 steps in all (30 trainings of 30 epochs, 150 of 15): about an hour on two cores, 2.7 s
per epoch and core; 25 minutes on one GPU at a millisecond per step.

Published, [R] tables 10 and 11; dense accuracy .989; variance of recall over classes, mean over members:

    dense   ratio 2  ratio 4  ratio 10  ratio 20  ratio 50
    .0038     .0038    .0038     .0038     .0039     .0111

Measured on MNIST with one member, `tfaudit run mnist_lenet5_recall --population 1`; variance with ddof 0:

               dense  ratio 2  ratio 4  ratio 10  ratio 20  ratio 50
    accuracy   .9894    .9895    .9900     .9887     .9802     .2987
    variance  .00002   .00002   .00001    .00002    .00007     .1136
    slope           -     .17      .24       .14       .92       124

At ratio 50, 158 of 60,630 weights remain besides the biases and the classifier; fine-tuning did not recover this
network. One member has no confidence interval; not run here with 30.

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
        Pruned(ratio=ratio, scope="global", treatment="finetune", spare=("logits",))
        for ratio in (2, 4, 10, 20, 50)
    ),
    population=30,
)
