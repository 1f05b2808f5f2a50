"""The 19 corruptions of ImageNet-C and CIFAR-C: noise, blur, weather, colour and digital artefacts."""
