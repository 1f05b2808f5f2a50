"""Functions of the user's own: references, imports by path, fingerprints, and one clear line for what cannot work."""

import functools
import hashlib
import sys

import keras
import pytest

from tests.builders.own_code import write_own
from tests.builders.refusals import assert_refused
from tfaudit.errors import InputError
from tfaudit.runtime.user_functions import (
    as_reference,
    check_call,
    import_file,
    import_reference,
    source_digest,
)


def here(split):
    """A function of this file."""


def test_functions_of_files_and_packages_become_references(tmp_path):
    assert as_reference("model", here, "") == f"{__name__}:here"
    assert as_reference("model", keras.applications.ResNet50, "").startswith(
        "keras.src.applications"
    )
    assert as_reference("model", "resnet50", "") == "resnet50"
    module = import_file("recipe", write_own(tmp_path))
    reference = as_reference("model", module.build, "")
    assert reference == f"{tmp_path}/own.py:build"
    assert import_reference("model", reference) is module.build


def test_a_relative_path_does_not_depend_on_the_folder_later(tmp_path, monkeypatch):
    write_own(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)  # of another test
    assert as_reference("model", "own.py:build", "") == f"{tmp_path}/own.py:build"
    assert import_reference("model", "own:build").__module__ == "own"
    assert sys.path[-1] == str(tmp_path)
    sys.path.pop()


def of_a_notebook():
    code = compile("def build():\n    pass\n", "/tmp/ipykernel_12/345.py", "exec")
    space = {"__name__": "__main__"}
    exec(code, space)
    return space["build"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            lambda: None,
            "model: got a lambda, which worker processes cannot import, expected a function at the top level",
        ),
        (functools.partial(here), "model: got a partial of functools, expected a name"),
        (
            of_a_notebook(),
            "got 'build' of a notebook or prompt, .* write the cell to one with %%writefile mine.py, then",
        ),
        (7, "model: got 7, expected a name"),
    ],
)
def test_what_no_worker_can_import_says_what_to_do(value, message):
    assert_refused(message, as_reference, "model", value, "a name")


def test_a_file_called_like_a_library_hides_none(tmp_path):
    path = write_own(tmp_path, name="rich.py")
    module = import_file("recipe", path)
    assert module.__name__.startswith("rich_")
    import rich

    assert str(tmp_path) not in rich.__file__
    assert sys.path[-1] == str(tmp_path)
    (tmp_path / "neighbour_of_rich.py").write_text("X = 3\n")
    import neighbour_of_rich

    assert neighbour_of_rich.X == 3


def test_a_changed_file_has_another_fingerprint_and_is_imported_again(tmp_path):
    path = write_own(tmp_path)
    reference = f"{path}:build"
    assert source_digest("model", reference) == hashlib.sha256(path.read_bytes()).hexdigest()
    before = import_reference("model", reference)
    assert import_reference("model", reference) is before
    path.write_text(path.read_text().replace("Dense(8", "Dense(9"))
    assert import_reference("model", reference) is not before
    assert import_file("model", path) is import_file("model", path)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            "own.py:nothing",
            r"which names no function, expected a function there: load, words, build, compiled, fit, deaf$",
        ),
        (
            "gone.py:build",
            r"model: got '.*gone.py:build', whose file cannot be read \(No such file or directory\)",
        ),
        (
            "no_such_module:build",
            "model: got 'no_such_module', which is no module that can be imported from",
        ),
        (
            "broken.py:build",
            r"broken.py, whose import fails \(ZeroDivisionError: division by zero, line 2 of broken.py\)",
        ),
        ("parting.py:build", r"whose import fails \(SyntaxError: "),
    ],
)
def test_references_that_lead_nowhere_are_one_line(tmp_path, monkeypatch, reference, message):
    write_own(tmp_path)
    (tmp_path / "broken.py").write_text("x = 1\ny = x / 0\n")
    (tmp_path / "parting.py").write_text("def build(:\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        import_reference("model", as_reference("model", reference, "a name"))
    assert "\n" not in str(caught.value)


def test_wrong_parameters_show_the_signature_and_the_call():
    def fit(model, data):
        """Lack what is handed in."""

    assert_refused(
        r"training: got fit\(model, data\) of 'own.py:fit' \(.*seed.*\), expected a fun",
        check_call,
        "training",
        "own.py:fit",
        fit,
        "fit(model, train, seed=..., callbacks=[...])",
        1,
        2,
        seed=0,
    )
