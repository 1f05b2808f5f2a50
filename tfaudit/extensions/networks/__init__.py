"""Networks of the papers whose studies are recipes: ResNets for ImageNet, a wide ResNet, AlexNet and VGG."""
