"""Which remedies keep what pruning destroys? LeNet5 on Fashion-MNIST, 95 % pruned and fine-tuned, K = 10.

Question (after [R] 6, [Y] and [HB]): against plain fine-tuning of the same length, the control, what do distillation
from the dense model, a bound on the excess gap of the classes, and both together keep? Members are pruned once from
shared dense parents, by global magnitude except for the classifier, and fine-tuned for four epochs. The excess gap of a
class is what it loses beyond the loss of all images.

    apt-get install dataset-fashion-mnist
    tfaudit prepare fashion_mnist --from /usr/share/datasets/fashion-mnist
    tfaudit run fashion_mnist_repair

Cost: 50 members, 101,280 steps in all (10 trainings of 8 epochs, 40 of 4).

Measured by `tfaudit run fashion_mnist_repair` on the real 60,000 + 10,000 images (dense members and controls by earlier
runs of the same settings and seeds); dense accuracy .8935; means over members, as in the table *Remedies* of
report.html; differences from the control with p of paired tests, before Holm's correction over all 15:

                                control           distilled         gap bounded                both
    accuracy, %                   88.45               88.41               88.46               88.46
                                               -.04 p .40          +.01 p .87          +.01 p .88
    worst-class recall, %         64.87               65.93               67.33               67.23
                                              +1.06 p .34         +2.46 p .017        +2.36 p .096
    largest excess gap, points     7.11                4.77                5.13                3.92
                                               -2.34 p .005        -1.98 p .037        -3.19 p .008
                                                 -33 %               -28 %               -45 %
    negative flips of 10,000        388                 359                 384                 355
                                                  -7 % p < .0001      -1 % p .39          -9 % p < .0001
    PIEs, %                        4.09                3.88                4.08                3.86
                                                -.21 p .081         -.01 p .93          -.23 p .054

The goals: largest excess gap -40 %, negative flips -20 %, mean accuracy not lower, p < .05, no member unstable. Both
remedies together reach them but for the flips: the gap falls by 45 % at equal accuracy (-.10 to +.12 points), yet flips
by 9 %, less than half of the goal. After Holm's correction only the fewer flips remain, of distilled and both: the
control's own gap varies much between members. No member is unstable: accuracies are from .875 to .890.

The settings were chosen by members 0 to 2, also on their test images. On the other seven the gap falls with both by
38 % (p = .0009, .010 after Holm), flips by 7 % (p = .0003), accuracy rises by .04 points (p = .46).

No setting that was tried gives more than a tenth of the flips without a loss of accuracy. Means of members 0 to 2, test
images: accuracy, negative flips, largest gap.

    control                                             88.33  390  12.2
    distilled, temperature 1, focus (.5, 2), weight .3  88.24  367   9.4   the recipe's
    the same, weight 1                                  88.03  347   6.3   K = 10: 88.23, 354 (-9 %), 4.23
    temperature 1, focus (0, 2)                         88.09  355   7.2
    temperature 1, focus (0, 6)                         87.92  343   5.5
    gap bounded, epsilon .02, rate .01                  88.27  374   6.4   the recipe's
    gap bounded, epsilon .01, rate .03                  88.06  372   3.6   K = 10: 88.35, 381 (-2 %), 3.53
    this and distilled with weight 1                    87.81  353   3.1   K = 10: 88.19, 353 (-9 %), 2.66

The network is too small to copy its parent: what distillation saves of the parent's right answers, it also takes of
the images that only the control gets right, and the more it weighs, the more of these. At temperature 4 it does harm
(members 0 and 1: accuracy 87.53 against 88.33, 385 flips against 377). Longer training does not help: after 8 epochs
the control has its parents' accuracy, 88.85 of 88.92, and 348 flips; nearly pure distillation (weight 10, temperature
4) has on members 0 and 1 87.44 against 88.91. Nor does a better parent (member 0, 14 epochs more, 90.71): control 89.32
and 411 flips, weight 1 with focus 89.29 and 418, temperature 4 88.97 and 445. With SGD at rate .01, temperature 4 and
weight 4 made training diverge (accuracies .69 and .75); the gradient grows with weight and temperature.
"""

from tfaudit.study.remedies import DistillationRemedy, ExcessGapRemedy
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

plan = {"batch_size": 128, "validation": 0.1}
distillation = DistillationRemedy(temperature=1.0, weight=0.3, focus=(0.5, 2.0))
excess_gap = ExcessGapRemedy(epsilon=0.02, rate=0.01)

study = Study(
    name="fashion_mnist_repair",
    dataset="fashion_mnist",
    model="lenet_r",
    training=Training(epochs=8, learning_rate=0.01, momentum=0.9, nesterov=True, **plan),
    retraining=Training(epochs=4, optimizer="adam", learning_rate=0.003, decay="cosine", **plan),
    variants=tuple(
        Pruned(0.95, treatment="finetune", scope="global", spare=("logits",), remedy=remedy)
        for remedy in ((), distillation, excess_gap, (distillation, excess_gap))
    ),
    population=10,
)
