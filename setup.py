"""Locations of the packages; everything else is in pyproject.toml.

`app` and `recipes` are at the top level of the repository and are installed inside `tfaudit`, the only package in
site-packages.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["tfaudit", "tfaudit.*"]), "tfaudit.app", "tfaudit.recipes"],
    package_dir={"tfaudit.app": "app", "tfaudit.recipes": "recipes"},
    package_data={
        "tfaudit": ["py.typed"],
        "tfaudit.outlets": ["*.html", "*.css", "*.j2", "*.js"],
        "tfaudit.cli": ["examples/*.zip"],
        "tfaudit.app": ["*.svg", "*.html", "*.js"],
    },
)
