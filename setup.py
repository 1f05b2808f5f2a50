"""Locations of the packages, the address of the project, and sdists whose bytes depend on their files alone.

`app` and `recipes` are at the top level of the repository and are installed inside `tfaudit`, the only package in
site-packages. Everything else is in pyproject.toml.
"""

import gzip
import os
import re
import tarfile
import tomllib
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())
HOME = PROJECT["tool"]["tfaudit"]["home"]
(VERSION,) = re.findall(r'^__version__ = "(.+)"$', (HERE / "tfaudit/__init__.py").read_text(), re.M)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)]*)\)")
FIRST_DATE = 315532800  # 1980, before which wheels have no dates


def urls(home: str) -> dict[str, str]:
    """Return the addresses that an index shows; none without a home."""
    pages = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
    return {name: home + page for name, page in pages.items()} if home else {}


def long_description(readme: str, home: str, version: str) -> str:
    """Return README for an index: links and pictures lead to the version's tag; without a home they are left out."""

    def link(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if home:
            return f"{picture}[{text}]({home}/{'raw' if picture else 'blob'}/v{version}/{target})"
        return "" if picture else text

    return LINK.sub(link, readme)


class ReproducibleSdist(sdist):
    """An sdist without the time, user and order of its build; SOURCE_DATE_EPOCH dates its files."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """Write the archive and return its path."""
        date = int(os.environ.get("SOURCE_DATE_EPOCH", FIRST_DATE))

        def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.mode = date, 0o755 if member.mode & 0o100 else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            return member

        target = Path(f"{base_name}.tar.gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            target.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=date) as zipped,
            tarfile.open(fileobj=zipped, mode="w") as archive,
        ):
            for path in sorted(Path(base_dir).rglob("*")):
                archive.add(path, recursive=False, filter=plain)
        return str(target)


if __name__ == "__main__":
    setup(
        packages=[
            *find_packages(include=["tfaudit", "tfaudit.*"]),
            "tfaudit.app",
            "tfaudit.cli.examples",  # data alone
            "tfaudit.recipes",
        ],
        package_dir={"tfaudit.app": "app", "tfaudit.recipes": "recipes"},
        package_data={
            "tfaudit": ["py.typed"],
            "tfaudit.outlets": ["*.html", "*.css", "*.j2", "*.js"],
            "tfaudit.extensions.detection": ["*.j2"],
            "tfaudit.cli.examples": ["*.zip"],
            "tfaudit.app": ["*.svg", "*.html", "*.js"],
        },
        project_urls=urls(HOME),
        long_description=long_description((HERE / "README.md").read_text(), HOME, VERSION),
        long_description_content_type="text/markdown",
        cmdclass={"sdist": ReproducibleSdist},
    )
