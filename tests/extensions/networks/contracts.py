"""What tests of all architectures test here, too."""

SMALL_NETWORKS = [
    ("resnet18_small", (12, 12, 3), {"width": 1 / 16, "blocks": [1, 1, 1, 1]}),
    ("resnet50", (32, 32, 3), {"width": 1 / 16, "blocks": [2, 1, 1, 1]}),
    ("wide_resnet", (12, 12, 3), {"depth": 10, "width": 0.05}),
    ("alexnet_small", (28, 28, 1), {"width": 0.03}),
    ("vgg11", (28, 28, 1), {"width": 0.03}),
    ("vgg16_cifar", (32, 32, 3), {"width": 0.03}),
]
"""Name, shape of small images and options that make a narrow network with a block of every sort."""

PARAMETER_COUNTS = [
    ("resnet18_small", (32, 32, 3), 10, 11_173_962),
    ("wide_resnet", (32, 32, 3), 10, 36_479_194),
    ("alexnet_small", (32, 32, 3), 10, 23_272_266),
    ("vgg11", (32, 32, 3), 10, 28_144_010),
    ("vgg16_cifar", (32, 32, 3), 10, 14_991_946),
    # torchvision's, for ImageNet
    ("resnet18", (224, 224, 3), 1000, 11_689_512),
    ("resnet50", (224, 224, 3), 1000, 25_557_032),
    ("alexnet", (224, 224, 3), 1000, 61_100_840),
    ("vgg11", (224, 224, 3), 1000, 132_863_336),
]
"""Name, shape of the images, number of classes and of trainable parameters, as published."""
