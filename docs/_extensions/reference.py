"""What the pages of the reference show.

Members that only the author of a graph or a method needs are shown on the pages of the base classes, and not on the page of each
graph and method. The initial that a reference begins with (``.. [1] X. He``) stays an initial, and does not number a list. The
small pictures of the gallery's index say which example they belong to. Long names in the navigation are broken at their dots and
underscores.
"""

import re
from importlib import import_module
from pkgutil import iter_modules

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer

BASES = {
    "lapwing.graphs.Graph",
    *(f"lapwing.reducers.{name}Reducer" for name in ("", "Linear", "Kernel", "Free", "Multilinear")),
    "lapwing.reducers.FeatureSelector",
}
FOR_AUTHORS = {
    # of graphs
    *("adjacency", "beside_columns", "fitted", "links", "new_links", "patches", "requests", "resolved", "signed"),
    *("term", "terms", "view", "weights_at", "weights_matrix"),
    *("counts_pairs", "indexes_rows", "is_laplacian", "is_semidefinite", "weighs_classes"),
    *("reads_features", "reads_labels", "reads_targets"),
    # of methods
    *("default_graph", "default_penalty", "n_neighbors"),
}
INITIAL = re.compile(r"^(\s*\.\. \[\w+\] )(?=[A-Z]\. )")


def find_comments(app):
    """Classes carry their public module, and the comments that describe their attributes lie in the files of that package."""
    for public, package in {
        "lapwing": "lapwing.methods",
        **{name: name for name in ("lapwing.graphs", "lapwing.reducers")},
    }.items():
        described = ModuleAnalyzer.for_module(public)
        described.analyze()
        for file in iter_modules(import_module(package).__path__, f"{package}."):
            own = ModuleAnalyzer.for_module(file.name)
            own.analyze()
            described.attr_docs.update(own.attr_docs)


def skip(app, what, name, thing, skipped, options):
    """Whether a member is left out; None where that is for Sphinx to decide."""
    kind = getattr(app.env, "docname", "").rpartition("/")[2]
    is_ours = kind.startswith(("lapwing.graphs.", "lapwing.reducers.")) or kind.count(".") == 1
    return True if is_ours and name in FOR_AUTHORS and kind not in BASES else None


def keep_initials(app, what, name, thing, options, lines):
    lines[:] = [INITIAL.sub(r"\1\\", line) for line in lines]


def name_pictures(app, doctree, docname):
    """Gives pictures without a text the title of the page that the link behind them leads to."""
    for picture in doctree.findall(nodes.image) if docname == "gallery/index" else ():
        link = picture.next_node(nodes.reference, ascend=True)
        if not picture.get("alt") and link is not None:
            picture["alt"] = f"First picture of the example: {link.astext()}"


def breakable(html):
    """HTML in which a name of the reference may be broken behind its dots and underscores, and nowhere else."""
    return re.sub(r">\s*[\w.]+\s*<", lambda name: re.sub(r"([._])(?=\w)", r"\1<wbr>", name[0]), str(html))


def add_filter(app):
    if environment := getattr(getattr(app.builder, "templates", None), "environment", None):
        environment.filters["breakable"] = breakable


def setup(app):
    app.connect("builder-inited", find_comments)
    app.connect("builder-inited", add_filter)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", keep_initials, priority=400)  # before numpydoc
    app.connect("doctree-resolved", name_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
