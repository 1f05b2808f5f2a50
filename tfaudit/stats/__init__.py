"""Statistics: arrays in, arrays or frozen results out."""

from tfaudit.lazy_names import lazy_names

lazy_names(
    __name__,
    {
        "tilt": "image_properties",
        "mean_activation": "image_properties",
        "pixel_entropy": "image_properties",
        "class_means": "image_properties",
        "distance_to_class_mean": "image_properties",
    },
)
