"""Public names of a package that are imported when they are first used (PEP 562)."""

import importlib
import sys
import types
from collections.abc import Mapping

from tfaudit.errors import missing_extra


def lazy_names(package: str, homes: Mapping[str, str]) -> None:
    """Give a package public names without importing the modules that define them.

    A public name wins over a package or module of the same name: `tfaudit.audits.exemplars` is the function, whether or
    not `from tfaudit.audits.exemplars.exemplars import Exemplars` has loaded the package before. (Python binds a loaded
    module in its package, which is why a module-level `__getattr__` alone does not do.) Names that extensions declare
    follow.

    Args:
        package: the package's `__name__`; call this in its `__init__.py`.
        homes: the module that defines each public name, relative to the package, by public name.

    Example:
        >>> import tfaudit.audits.exemplars.exemplars
        >>> callable(tfaudit.audits.exemplars)
        True
    """

    class Package(types.ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            if not (name in homes and isinstance(value, types.ModuleType)):
                super().__setattr__(name, value)

        def __getattr__(self, name: str) -> object:
            if name == "__all__":
                return [*homes, *declared_names()]
            if name in homes:
                place = f"{package}.{homes[name]}:{name}"
            elif name.startswith("_") or not (place := declared_names().get(name, "")):
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            module, _, attribute = place.partition(":")
            try:
                value = getattr(importlib.import_module(module), attribute)
            except ModuleNotFoundError as error:
                raise missing_extra(error, f"{package}.{name}") or error from None
            setattr(self, name, value)
            return value

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *homes, *declared_names()})

    def declared_names() -> dict[str, str]:
        from tfaudit.extensions import declared  # takes a third of the time of `import tfaudit`

        space = package.removeprefix("tfaudit").lstrip(".")
        split = {name.rpartition(".")[::2]: place for name, (_, place) in declared("names").items()}
        return {name: place for (within, name), place in split.items() if within == space}

    sys.modules[package].__class__ = Package
