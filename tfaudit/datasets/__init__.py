"""Data sets by name, local files prepared as data sets, augmentation and corruption of images."""

from tfaudit.lazy_names import lazy_names

lazy_names(
    __name__,
    {
        "load_dataset": "catalogue",
        "prepare": "prepare",
        "corrupt": "corruptions.registry",
        "corruption_names": "corruptions.registry",
    },
)
