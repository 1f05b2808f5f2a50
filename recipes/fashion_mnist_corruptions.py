"""[F] 4 on Fashion-MNIST: does compression cost a LeNet-5 more on corrupted images? K = 5.

Question ([F] 4, D): compression hardly changes top-1 accuracy on clean images. Is it as harmless under noise, blur,
weather and digital artefacts, and which classes become sensitive to which corruption? The corruptions are the 15 of
ImageNet-C with the constants of CIFAR-C, which are for small images, at five severities.

    apt-get install dataset-fashion-mnist
    tfaudit prepare fashion_mnist --from /usr/share/datasets/fashion-mnist
    tfaudit run fashion_mnist_corruptions

Cost: 20 members, 211,050 steps in all (15 trainings of 30 epochs), and 1,500 evaluations of 10,000 images: 45
minutes on two cores, a quarter of it for the evaluations; 10 minutes on one GPU.

Published for ImageNet and a ResNet-50 pruned to 90 %, [F] table 3: from elastic -7.50 to impulse noise -40.12 % of
top-1.

Measured by the command above on the real 60,000 + 10,000 images; top-1 in percent, mean over severities and members;
change relative to the dense population's; mCE is 1 for the dense population:

                        dense  magnitude 50 %  magnitude 90 %  fixed-point int8
    clean               90.16           -0.16           -0.27             -0.02
    gaussian_noise      87.11           -0.02           -2.33             +0.15
    shot_noise          88.06           +0.17           -1.23             +0.11
    impulse_noise       83.53           -0.53           -3.56             +0.10
    defocus_blur        88.68           -0.32           -1.49             +0.01
    glass_blur          79.03           +0.31           -0.15             +0.10
    motion_blur         82.00           -1.11           -1.50              0.00
    zoom_blur           85.74           -0.30           -2.50             -0.08
    snow                83.22           +0.72           -2.95             +0.06
    frost               75.70           +2.37           -9.84             +0.09
    fog                 72.81           +2.01           -7.51             -0.09
    brightness          82.38           +1.06           -4.66             -0.10
    contrast            78.24           +1.84           -6.59             -0.15
    elastic_transform   80.09           +0.21           +0.21             +0.02
    pixelate            88.79           -0.09           -0.42             +0.03
    jpeg_compression    89.62           -0.25           -0.45             +0.01
    mean                83.00           +0.36           -2.88             +0.02
    mCE                  1.00            0.99            1.13              1.00

Pruning 90 % costs ten times as much under corruption as on clean images, mostly under changes of brightness and
contrast. With five members this is just not significant (mean -2.39 points, -4.79 to +.01, p = .051). Pruning 50 % has
no measurable cost. Fixed-point int8 changes accuracy by at most .2 %. The table was made by argmax.

Notes, with all figures: `docs/recipe_notes.md`.

Where [F] is silent or cannot be followed: it names both 5 and 50 members under corruption, and CIFAR-C's frost needs
photographs that cannot be redistributed; here frosted panes are drawn.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

study = Study(
    name="fashion_mnist_corruptions",
    dataset="fashion_mnist",
    model="lenet_r",
    training=Training(epochs=30, batch_size=128, learning_rate=0.01, momentum=0.9, nesterov=True),
    variants=(Pruned(0.5), Pruned(0.9), Quantized("int8")),
    population=5,
    corruptions=(
        *(
            "gaussian_noise",
            "shot_noise",
            "impulse_noise",
            "defocus_blur",
            "glass_blur",
            "motion_blur",
            "zoom_blur",
        ),
        *(
            "snow",
            "frost",
            "fog",
            "brightness",
            "contrast",
            "elastic_transform",
            "pixelate",
            "jpeg_compression",
        ),
    ),
)
