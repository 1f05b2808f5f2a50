"""The documentation is built without a warning, its links lead somewhere, and what it lists is what the code has."""

import importlib
import importlib.util
import json
import os
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import tfaudit
from tests.builders.accessibility import violations
from tests.builders.extension_contracts import contributed
from tfaudit.audits.gate.checks import OUTCOMES
from tfaudit.audits.gate.limits import QUANTITIES
from tfaudit.cli.gate_limits import read_limits
from tfaudit.outlets.columns import COLUMN_GROUPS, COLUMNS
from tfaudit.outlets.gate_files import json_verdicts
from tfaudit.outlets.references import SOURCES

DOCS = Path(__file__).parents[1] / "docs"


def module(name):
    """Import a file of the documentation."""
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    return loaded


def test_the_script_of_the_pictures_imports_what_exists():
    pytest.importorskip("playwright.sync_api")
    pictures = runpy.run_path(str(DOCS / "screenshots"))
    assert pictures["PICTURES"] == DOCS / "pictures"
    assert (pictures["PICTURES"] / "report.png").is_file()


@pytest.fixture(scope="module")
def site(warm_python, tmp_path_factory):
    """The folder of the built site; a warning, a broken link or a file from elsewhere would be an error."""
    folder = tmp_path_factory.mktemp("site")
    python = tmp_path_factory.mktemp("bin") / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.join(warm_python)} "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [DOCS / "build", folder], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.nightly  # docs.yml builds the site for every change
def test_the_site_has_what_the_code_has(site):
    pages = {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}
    assert 'href="references.html#source-f"' in pages["verdict.html"]
    assert "<math" in pages["verdict.html"]
    name = pages["generated/tfaudit.class_impact.html"]
    assert 'id="tfaudit.class_impact"' in name
    assert 'href="../references.html#source-f"' in name
    assert '<meta name="description" content="Estimate what compression does' in name
    question, command = "whom does that hurt?", ".venv/bin/tfaudit run digits"
    assert all(text in pages["index.html"] for text in (question, command, tfaudit.__version__))
    examples = sorted(path.stem for path in (DOCS / "gallery_examples").glob("*.py"))
    assert examples
    for name in examples:
        assert list((site / "_images").glob(f"sphx_glr_{name}_*.png")), name


@pytest.mark.nightly
@pytest.mark.parametrize(
    "page", ["index", "shipping", "reproduced_papers", "generated/tfaudit.Pruning"]
)
def test_axe_finds_nothing_on_a_page_on_a_desk_or_a_phone(browser, site, page):
    for width, scheme in ((1400, "light"), (400, "dark")):
        opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        opened.goto((site / f"{page}.html").as_uri())
        assert violations(opened) == {}
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
        opened.close()


def test_notebooks_lead_to_colab_once_the_project_is_on_github():
    body = '<a href="../_downloads/12ab/1_a_name.ipynb">notebook</a>'
    link = module("generated_pages").colab_link
    address = (
        "https://colab.research.google.com/github/o/n/blob/gh-pages/_downloads/12ab/1_a_name.ipynb"
    )
    assert link("https://github.com/o/n", body) == f'<p><a href="{address}">Open in Colab</a></p>'
    assert link("", body) == link("https://example.org/o/n", body) == ""
    assert link("https://github.com/o/n", "no notebook") == ""


def test_broken_links_missing_anchors_and_foreign_files_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a><a href="https://x.org">4</a>'
        '<script src="https://x.org/x.js"></script><img src="data:image/png;base64,AA"><p id="x"><a href="#x">5</a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1>')
    (tmp_path / "style.css").write_text(
        "@import url(//example.org/font.css); p { background: url(local.png) }"
    )
    found = list(module("check_links").problems(tmp_path))
    assert found == [
        "a.html leads to b.html#gone, whose page has no such anchor",
        "a.html leads to c.html, which is no file",
        "a.html loads https://x.org/x.js",
        "style.css loads //example.org/font.css",
    ]


def test_the_references_are_those_of_the_reports():
    page = (DOCS / "references.md").read_text()
    works = dict(re.findall(r"^- \*\*\[(\w+)\]\*\* (.*(?:\n  .*)*)", page, flags=re.MULTILINE))
    plain = {key: re.sub(r"\s+", " ", re.sub(r"(?<!T)\*", "", text)) for key, text in works.items()}
    assert plain == SOURCES


def test_every_verdict_is_explained():
    page = (DOCS / "reading.md").read_text()
    words = set(OUTCOMES)
    constants = "LOST GAINED NO_CHANGE CANNOT_TELL AS_AVERAGE WORSE BETTER CONSISTENT WIDER NARROWER MORE FEWER LESS "
    constants += "NEWLY_WRONG NEWLY_CORRECT OTHER_WRONG"
    for name in (
        "classes.classes",
        "groups.groups",
        "chance.chance",
        "flips.negative_flips",
        "flips.image_changes",
    ):
        audit = importlib.import_module(f"tfaudit.audits.{name}")
        words |= {value for constant, value in vars(audit).items() if constant in constants.split()}
    words |= {*contributed("VERDICTS")}
    assert len(words) > 20
    assert not {word for word in words if word not in page}


def test_the_fields_for_regulated_products_are_in_the_gates_file(tmp_path):
    page = (DOCS / "regulated.md").read_text()
    (tmp_path / "gate.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    labels = [0, 1] * 200
    predictions = tfaudit.Predictions.from_top1(labels, labels)
    groups = pd.DataFrame({"sex": ["female"] * 200 + ["male"] * 200})
    limits = read_limits(tmp_path / "gate.toml")
    verdict = tfaudit.gate(predictions, predictions, limits, groups=groups)
    held = json.loads(json_verdicts({"update": verdict}))["verdicts"]["update"]
    fields = {*held, *held["checks"][0], *held["classes"][0], *held["groups"][0]}
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|.*", page, re.MULTILINE))))
    assert len(named) > 15
    assert named <= fields


def test_every_column_command_recipe_and_name_has_a_place():
    pytest.importorskip("typer.cli")
    pages = module("generated_pages")
    shown = pages.columns_page()
    assert all(f"### {part}" in shown for part in COLUMN_GROUPS)
    assert sum(map(len, COLUMN_GROUPS.values())) == len(COLUMNS)  # no column in two parts
    assert all(pages._cell(column.title) in shown for column in COLUMNS.values())
    limits = pages.limits_page()
    assert all(f"| `{name}` |" in limits for name in QUANTITIES)
    commands = pages.command_line_page()
    for name in ("audit", "gate", "run"):
        assert f"## `tfaudit {name}`" in commands
    assert "(qmnist-writers)=" in pages.papers_page()
    names = {space: pages.public_names(space) for space in pages.NAMESPACES}
    assert names["tfaudit"] == list(tfaudit.__all__)
    for space, own in names.items():
        assert all(
            f"   {name} <{space}.{name}>" in pages.namespace_page(space, own) for name in own
        )
        assert all(f":: {name}\n" in pages.name_page(space, name) for name in own)
