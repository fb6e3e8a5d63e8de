"""Formulas become MathML when the pages are built: browsers show it themselves, without a script and without a network.

A command that the converter does not know is a warning, and so fails the build.
"""

import re
from xml.sax.saxutils import escape

from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)
LINES = r"\begin{aligned}%s\end{aligned}"


def mathml(tex, display, where=None):
    """MathML of `tex`, and the text of its ``\\tag`` if it has one."""
    tag = re.search(r"\\tag\{([^}]*)\}", tex)
    written = re.sub(r"\\tag\{[^}]*\}", "", tex).strip()
    # Inside words an underscore needs no backslash here.
    written = re.sub(r"\\text\{[^}]*\}", lambda words: words[0].replace(r"\_", "_"), written)
    if r"\\" in written and r"\begin" not in written:
        written = LINES % written
    try:
        made = convert(written, display=display)
    except Exception as error:
        logger.warning("this formula cannot be shown: %s (%s)", written, error, location=where)
        return f"<code>{escape(written)}</code>", None
    if unknown := re.findall(r"\\\w*", made):
        logger.warning("%s of this formula cannot be shown: %s", " ".join(unknown), written, location=where)
    return made, tag and tag[1]


def inline(translator, node):
    translator.body.append(mathml(node.astext(), "inline", node)[0])
    raise _skip()


def block(translator, node):
    made, tag = mathml(node.astext(), "block", node)
    number = tag or node.get("number")
    identifier = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    translator.body.append(f'<div class="math"{identifier}>{made}')
    translator.body.append(f'<span class="eqno">({number})</span></div>\n' if number else "</div>\n")
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
