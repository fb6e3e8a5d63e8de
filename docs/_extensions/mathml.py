"""Formulas become MathML when the pages are built: browsers show it themselves, without a script and without a network.

A command that the converter does not know is a warning, and so fails the build.
"""

import re
from xml.sax.saxutils import escape

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)
LINES = r"\begin{split}%s\end{split}"


def mathml(tex, display, where=None):
    """MathML of `tex`, and the text of its tag if it has one."""
    tag = re.search(r"\\tag\{([^}]*)\}", tex)
    written = re.sub(r"\\tag\{[^}]*\}", "", tex).strip()
    # Inside words an underscore needs no backslash here.
    written = re.sub(r"\\text\{[^}]*\}", lambda words: words[0].replace(r"\_", "_"), written)
    if display == "block":
        written = re.sub(r"\\(min|max|sum)_", r"\\\1\\limits_", written)
    written = written.replace("{aligned}", "{split}")  # the one that the converter knows
    if r"\\" in written and r"\begin" not in written:
        written = LINES % written
    try:
        made = convert(written, display=display)
    except Exception as error:
        logger.warning("this formula cannot be shown: %s (%s)", written, error, location=where)
        return f"<code>{escape(written)}</code>", None
    if unknown := re.findall(r"\\\w*|(?<=<mi>)&(?=</mi>)", made):
        logger.warning("%s of this formula cannot be shown: %s", " ".join(unknown), written, location=where)
    return made, tag and tag[1]


def inline(translator, node):
    translator.body.append(mathml(node.astext(), "inline", node)[0])
    raise SkipNode


def block(translator, node):
    made, tag = mathml(node.astext(), "block", node)
    number = tag or node.get("number")
    identifier = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    translator.body.append(f'<div class="math"{identifier}>{made}')
    translator.body.append(f'<span class="eqno">({number})</span></div>\n' if number else "</div>\n")
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
