"""Declares the engine "ray"."""

from tfaudit.extensions import Extension

EXTENSION = Extension(
    name="ray",
    requires=("ray",),
    engines={"ray": "tfaudit.extensions.ray.ray_engine:ray_engine"},
)
