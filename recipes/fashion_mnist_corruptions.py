"""[F] 4 on Fashion-MNIST: does compression cost a LeNet-5 more on corrupted images? K = 5.

Question ([F] 4, D): compression hardly changes top-1 accuracy on clean images. Is it as harmless under noise, blur,
weather and digital artefacts, and which classes become sensitive to which corruption? The corruptions are the 15 of
ImageNet-C with the constants of CIFAR-C, which are for small images, at five severities.

    apt-get install dataset-fashion-mnist
    tfaudit prepare fashion_mnist --from /usr/share/datasets/fashion-mnist
    tfaudit run fashion_mnist_corruptions

Cost: 20 members, 211,050 steps in all (15 trainings of 30 epochs), and 1,500 evaluations of 10,000 images: 45 to 90
minutes on two cores, a quarter of it for the evaluations; 10 minutes on one GPU.

Published for ImageNet and a ResNet-50 pruned to 90 %, [F] table 3: from elastic -7.50 to impulse noise -40.12 % of
top-1.

Measured by the command above on the real 60,000 + 10,000 images; top-1 in percent, mean over severities and members;
change relative to the dense population's, * if it is a loss after Holm; mCE is 1 for the dense population:

                        dense  magnitude 50 %  magnitude 90 %  fixed-point int8
    clean               90.18           -0.25           -0.25             -0.05
    gaussian_noise      86.84           +0.46           -1.98             +0.05
    shot_noise          87.93           +0.36           -0.98             +0.02
    impulse_noise       83.92           -0.88           -3.50             +0.01
    defocus_blur        88.68           -0.47           -2.20*            -0.06
    glass_blur          78.59           +0.86           +0.31             -0.02
    motion_blur         82.24           -0.62           -1.99             -0.12
    zoom_blur           85.78           -0.61           -3.60*            -0.13
    snow                83.10           +0.29           -2.27              0.00
    frost               76.03           -0.34           -9.24             -0.14
    fog                 73.21           +0.55           -9.31             -0.18*
    brightness          82.46           -0.35           -4.08             -0.20
    contrast            78.61           +1.02           -6.97             -0.33*
    elastic_transform   80.23           -0.40           -0.40             -0.09
    pixelate            88.84           -0.27           -0.55             -0.05
    jpeg_compression    89.59           -0.27           -0.36             -0.03
    mean                83.07           -0.06           -3.02             -0.08
    mCE                  1.00            1.01            1.14              1.00

Pruning 90 % costs 2.5 points under corruption (95 % interval over images and members .2 to 4.8), where clean images
hardly suffer (.2, -.2 to .6). It costs most in frost and fog, where five members differ too much to be sure; after
Holm, only the losses in zoom and defocus blur are significant. Pruning 50 % is not shown to cost anything, and int8
costs .07 points (.03 to .11).

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
