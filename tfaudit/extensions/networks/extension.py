"""Declares networks that recipes of single papers train."""

from tfaudit.extensions import Extension

_PLACE = "tfaudit.extensions.networks.architectures"

EXTENSION = Extension(
    name="networks",
    architectures={
        "resnet18": f"{_PLACE}:RESNET18",
        "resnet18_small": f"{_PLACE}:RESNET18_SMALL",
        "resnet50": f"{_PLACE}:RESNET50",
        "wide_resnet": f"{_PLACE}:WIDE_RESNET",
        "alexnet": f"{_PLACE}:ALEXNET",
        "alexnet_small": f"{_PLACE}:ALEXNET_SMALL",
        "vgg11": f"{_PLACE}:VGG11",
        "vgg16_cifar": f"{_PLACE}:VGG16_CIFAR",
    },
)
