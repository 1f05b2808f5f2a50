"""Networks that recipes of single papers train: ResNets for ImageNet, a wide ResNet, AlexNet and VGG."""
