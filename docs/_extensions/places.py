"""Where something is computed: the role ``line`` finds the line in the source when the pages are built, and links to it.

``{line}`graphs/neighbors.py::heat_weights``` is the first line of that function, class, method or constant;
``{line}`graphs/neighbors.py::heat_weights np.exp``` is the first line in it that holds ``np.exp``. Paths begin in
``src/lapwing``, or with ``tests/`` or ``papers/``. What is not there is a warning, and so fails the build. Each file that is
referred to becomes a page.
"""

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from source_lines import file_of, find
from sphinx.util.docutils import SphinxRole


def page_of(path):
    return f"_source/{path.removesuffix('.py')}"


class Line(SphinxRole):
    """A link to the line, which shows the file, its number and the name."""

    def run(self):
        try:
            path, name, number = find(self.text)
        except (ValueError, OSError) as error:
            message = self.inliner.reporter.warning(str(error), line=self.lineno)
            return [nodes.literal(text=self.text)], [message]
        self.env.note_dependency(str(file_of(path)))
        vars(self.env).setdefault("source_pages", {}).setdefault(self.env.docname, set()).add(path)
        up = "../" * self.env.docname.count("/")
        link = nodes.reference("", "", refuri=f"{up}{page_of(path)}.html#line-{number}", internal=True)
        link += nodes.literal(text=f"{path}:{number}")
        return [link, nodes.Text(" "), nodes.inline(text=name.rpartition(".")[2] if "test" in path else name)], []


def forget(app, env, docname):
    vars(env).get("source_pages", {}).pop(docname, None)


def merge(app, env, docnames, other):
    vars(env).setdefault("source_pages", {}).update(vars(other).get("source_pages", {}))


def pages(app):
    formatter = HtmlFormatter(linespans="line", cssclass="highlight")
    for path in sorted(set().union(*vars(app.env).get("source_pages", {}).values())):
        shown = highlight(file_of(path).read_text(encoding="utf-8"), PythonLexer(), formatter)
        shown = shown.replace('<span id="line-', '<span class="line" id="line-')
        yield page_of(path), {"title": path, "body": f"<h1>{path}</h1>\n{shown}"}, "page.html"


def setup(app):
    app.add_role("line", Line())
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
