"""Pages can be read without a network: a script, style, font or picture from another host fails the build."""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc\s*=\s*["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?=[^>]*\brel\s*=\s*["']?(?:stylesheet|preload|preconnect|icon|modulepreload))[^>]*?"""
    r"""\shref\s*=\s*["']?(?:https?:)?//[^"'\s>]+""",
    re.IGNORECASE,
)
IMPORTED = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')\s]+""", re.IGNORECASE)


def fetched(folder):
    """What pages and styles under the folder would fetch from other hosts, as ``(file, text)``."""
    for kind, pattern in (("html", FETCHED), ("html", IMPORTED), ("css", IMPORTED)):
        for path in sorted(Path(folder).rglob(f"*.{kind}")):
            yield from ((path, found[0]) for found in pattern.finditer(path.read_text(encoding="utf-8")))


def check(app, error):
    if error is None and app.builder.format == "html" and (found := list(fetched(app.outdir))):
        some = "\n".join(f"{path.relative_to(app.outdir)}: {text}" for path, text in found[:10])
        raise ExtensionError(
            f"{len(found)} places fetch from other hosts, and so show nothing without a network:\n{some}"
        )


def setup(app):
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
