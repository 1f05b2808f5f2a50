"""`tfaudit list`: list the recipes; also finds recipes by name."""

import ast
import difflib
import importlib
from pathlib import Path

from tfaudit.cli.completion import recipe_folder, recipe_names
from tfaudit.cli.console import app, listing, out
from tfaudit.errors import InputError, listed, require_one_of
from tfaudit.runtime.captured_output import start_tensorflow
from tfaudit.runtime.user_functions import import_file
from tfaudit.study.study import Study


@app.command("list")
def list_recipes() -> None:
    """List the recipes, one study each.

    Example: tfaudit list
    """
    out.print(listing((name, _first_line(name)) for name in recipe_names()))


def _first_line(recipe: str) -> str:
    """Return the first line of a recipe's docstring, without importing the recipe, which may import TensorFlow."""
    source = (recipe_folder() / f"{recipe}.py").read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(source))
    return doc.splitlines()[0] if doc else recipe


def require_recipe(recipe: str) -> None:
    """Raise an `InputError` if there is no recipe or file of this name; import nothing."""
    recipe, _, _ = recipe.partition(":")
    if recipe.endswith(".py"):
        if not Path(recipe).is_file():
            raise InputError("recipe", f"{recipe}, which does not exist", "a Python file")
    elif recipe not in recipe_names():
        close = difflib.get_close_matches(recipe, recipe_names(), cutoff=0.4)
        close = close or difflib.get_close_matches(recipe, recipe_names(), n=1, cutoff=0)
        expected = (
            f"a recipe of `tfaudit list` (perhaps {listed(close)}), or the path of a Python file"
        )
        raise InputError("recipe", repr(recipe), expected)


def recipe_study(recipe: str) -> Study:
    """Return the study of a recipe or Python file; raise an `InputError` if it has none.

    A file with `studies`, a dictionary, has several: `recipe:name` is one of them.
    """
    require_recipe(recipe)
    file, _, name = recipe.partition(":")
    if file.endswith(".py"):
        start_tensorflow()  # the file imports it too, less quietly
        module = import_file("recipe", Path(file))
    else:
        module = importlib.import_module(f"tfaudit.recipes.{file}")
    studies = getattr(module, "studies", {})
    if name or studies:
        require_one_of("recipe", recipe, [f"{file}:{known}" for known in studies])
    study = studies[name] if name else getattr(module, "study", None)
    if not isinstance(study, Study):
        expected = "a file that defines `study = tfaudit.Study(...)`"
        raise InputError("recipe", f"{recipe} without a study", expected)
    return study
