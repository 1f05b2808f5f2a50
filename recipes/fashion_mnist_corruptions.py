"""[F] 4 on Fashion-MNIST: does compression cost a LeNet-5 more where images are corrupted? K = 5.

Question ([F] 4, D): compression hardly moves top-1 accuracy on clean images. Is it as harmless under noise, blur,
weather and bad pictures, and which classes does it make brittle to which corruption? The 15 corruptions of
ImageNet-C with CIFAR-C's constants, which are those of small images, at five severities.

    apt-get install dataset-fashion-mnist
    tfaudit prepare fashion_mnist --from /usr/share/datasets/fashion-mnist
    tfaudit run fashion_mnist_corruptions

Cost: 20 members, 211,050 steps in all (15 trainings of 30 epochs), and 1,500 evaluations of 10,000 images.
"""

from tfaudit.study import Study, Training
from tfaudit.variants import Pruned, Quantized

study = Study(
    name="fashion_mnist_corruptions",
    dataset="fashion_mnist",
    model="lenet_r",
    training=Training(epochs=30, batch_size=128, learning_rate=0.01, momentum=0.9, nesterov=True),
    variants=(Pruned(0.5), Pruned(0.9), Quantized("int8")),
    population=5,
    corruptions=(
        *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
        *("snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    ),
)
