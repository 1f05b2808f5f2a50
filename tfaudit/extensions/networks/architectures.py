"""The networks, with their options and the smallest images that they take."""

from functools import partial

from tfaudit.extensions.networks.alexnet import alexnet
from tfaudit.extensions.networks.resnet_imagenet import resnet18, resnet50
from tfaudit.extensions.networks.vgg import vgg11, vgg16_cifar
from tfaudit.extensions.networks.wide_resnet import wide_resnet
from tfaudit.models.registry import Architecture

RESNET18 = Architecture(partial(resnet18, small=False), smallest=4)
RESNET18_SMALL = Architecture(partial(resnet18, small=True), smallest=4)
RESNET50 = Architecture(resnet50, smallest=4)
WIDE_RESNET = Architecture(wide_resnet, smallest=4)
ALEXNET = Architecture(partial(alexnet, small=False), smallest=63)
ALEXNET_SMALL = Architecture(partial(alexnet, small=True), smallest=15)
VGG11 = Architecture(vgg11, smallest=2)
VGG16_CIFAR = Architecture(vgg16_cifar, smallest=32)
