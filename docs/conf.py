"""Sphinx configuration of the documentation; `docs/build` builds it."""

import html
import re
import sys
import textwrap
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generated_pages  # noqa: E402
import mathml  # noqa: E402

import tfaudit  # noqa: E402
from tfaudit.runtime.captured_output import start_tensorflow  # noqa: E402

project = "tfaudit"
release = version = tfaudit.__version__
copyright = "the authors of tfaudit"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
extensions += ["myst_parser", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_site", "gallery_examples", "generated/columns.md", "generated/sections.md"]
exclude_patterns += ["generated/benchmark*.md"]
html_theme = "furo"
html_title = f"tfaudit {release}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("accessible.js", {"defer": "defer"})]
smartquotes_action = "D"  # dashes alone
html_math_renderer = mathml.NAME
html_theme_options = {"footer_icons": []}
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
HOME = PROJECT["tool"]["tfaudit"]["home"]
if HOME:  # a link to edit each page
    html_theme_options |= {
        "source_repository": HOME,
        "source_branch": "main",
        "source_directory": "docs/",
    }

myst_enable_extensions = ["dollarmath", "colon_fence", "substitution"]
myst_substitutions = {
    "version": release,
    "source": f"; the source is at [{HOME.removeprefix('https://')}]({HOME})" if HOME else "",
}
myst_heading_anchors = 3

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery_examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("gallery_charts.charts_as_pictures",),
    "reset_modules": (),
    "capture_repr": ("_repr_html_",),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

if HOME:
    install = f'%pip install -q "tfaudit[all] @ git+{HOME}"'
    sphinx_gallery_conf["first_notebook_cell"] = install

SOURCE = re.compile(r"^- \*\*\[(\w+)\]\*\*", flags=re.MULTILINE)
KEYS = SOURCE.findall((HERE / "references.md").read_text())


def _with_references(line):
    """Return a line of reStructuredText whose keys, such as `[F]`, lead to their works in the references."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    return re.sub(rf"(?<![\w`])\[({'|'.join(KEYS)})\](?![\w`(])", r":ref:`[\1] <source-\1>`", line)


def _resolve_sources(app, page, content):
    """Let `[F]` in a page lead to its work in the references."""
    text = content[0]
    if page == "references":
        text = re.sub(r"\n  (?=\S)", " ", text)  # one line a work
        text = SOURCE.sub(r"(source-\1)=\n\n**[\1]**", text)
    elif str(app.env.doc2path(page)).endswith(".md"):
        text = re.sub(
            r"\[\w+\.md\]\(", "[](", text
        )  # the title of a page, not the name of its file
        text += "\n\n" + "\n".join(f"[{key}]: #source-{key.lower()}" for key in KEYS) + "\n"
    else:
        text = "\n".join(
            line if line.startswith(" ") else _with_references(line) for line in text.split("\n")
        )
    content[0] = text


def _bracket_sources(app, tree):
    """Put the brackets back around keys, which Markdown takes off."""
    for reference in tree.findall(addnodes.pending_xref):
        if reference.get("reftarget", "").startswith("source-") and reference.astext() in KEYS:
            (text,) = reference.findall(nodes.Text)
            text.parent.replace(text, nodes.Text(f"[{text}]"))


def _resolve_docstring(app, kind, name, thing, options, lines):
    """Let `[F]` in a docstring lead to its work, and the index of names in a package's docstring to the names."""
    index = kind == "module" and hasattr(thing, "__path__")
    for number, line in enumerate(lines):
        line = _with_references(line)
        if index:
            line = re.sub(
                r"(?<!`)`(\.[\w()]+)`(?!`)", r"``\1``", line
            )  # a method of several classes
            line = re.sub(r"`(\w+)`", lambda match: f"`{match[1]} <{_home(name, match[1])}>`", line)
            line = f"| {line}" if re.match(r"[A-Z][\w ]+  +`", line) else line
        lines[number] = line


def _home(package, name):
    return f"tfaudit.{name}" if name in tfaudit.__all__ else f"{package}.{name}"


def _complete_page(app, page, template, context, tree):
    """Describe a page to search engines, and offer no edit of what is written from the code."""
    text = PROJECT["project"]["description"]
    if tree and page != app.config.root_doc:
        text = next(tree.findall(nodes.paragraph), nodes.paragraph()).astext()
    if text := html.escape(textwrap.shorten(text, 160, placeholder=" ...")):
        tag = f'<meta name="description" content="{text}">\n'
        context["metatags"] = context.get("metatags", "") + tag
    if page.startswith(("generated/", "gallery/")):
        context["page_source_suffix"] = ""
        context["body"] += generated_pages.colab_link(HOME, context["body"])


def setup(app):
    """Connect what this documentation does beyond the extensions."""
    start_tensorflow()
    mathml.setup(app)
    app.connect("builder-inited", lambda app: generated_pages.write(HERE / "generated"))
    app.connect("source-read", _resolve_sources)
    app.connect("autodoc-process-docstring", _resolve_docstring)
    app.connect("doctree-read", _bracket_sources)
    app.connect("html-page-context", _complete_page)
