"""Formulas as MathML, which browsers draw by themselves: no script from elsewhere is loaded."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

NAME = "mathml"


def _inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer(NAME, (_inline, None), (_block, None))
