"""Declares the corruptions of ImageNet-C and CIFAR-C."""

from tfaudit.extensions import Extension

_MODULES = {
    "gaussian_noise": "noise",
    "shot_noise": "noise",
    "impulse_noise": "noise",
    "defocus_blur": "blur",
    "glass_blur": "blur",
    "motion_blur": "blur",
    "zoom_blur": "blur",
    "snow": "weather",
    "frost": "weather",
    "fog": "weather",
    "brightness": "colour",
    "contrast": "colour",
    "elastic_transform": "digital",
    "pixelate": "digital",
    "jpeg_compression": "digital",
    "speckle_noise": "noise",
    "gaussian_blur": "blur",
    "spatter": "weather",
    "saturate": "colour",
}
"""The module of each: the benchmark's 15 corruptions, then its 4 extra ones."""

EXTENSION = Extension(
    name="corruptions",
    requires=("cv2",),
    corruptions={
        name: f"tfaudit.extensions.corruptions.{module}:{name}" for name, module in _MODULES.items()
    },
)
