"""A literal that is the name of something in the reference becomes a link to its page.

``LPP`` and ``graphs.KNN`` in any page, docstring or example do; a function only with its module (``comparison.compare``), since
``load`` or ``compare`` alone may be a word of the command line. Headings, links and the thing's own page stay as they are.

A role may name anything by the end of its full name (``:func:`recall_at_k```), from any page, where only one thing ends so.
"""

from docutils import nodes
from sphinx.util.nodes import make_refnode

OURS = ("lapwing.", "lapwing_papers.")
NOT_HERE = (nodes.title, nodes.reference, nodes.term)


def spellings(name, kind):
    """How pages write what is called `name` in full."""
    _, *parts = name.split(".")
    if not any(part.startswith("_") for part in parts):
        yield from {name, ".".join(parts)} if len(parts) > 1 or kind == "class" else {name}
        if kind == "class":
            yield parts[-1]


def link_names(app, doctree, docname):
    """Links literals to the objects that they name."""
    known = {
        spelling: (name, entry)
        for name, entry in sorted(app.env.get_domain("py").objects.items(), reverse=True)  # the shorter path wins
        if entry.objtype in {"class", "function"} and name.startswith(OURS) and not entry.aliased
        for spelling in spellings(name, entry.objtype)
    }
    for literal in list(doctree.findall(nodes.literal)):
        name, entry = known.get(literal.astext(), (None, None))
        if entry is None or entry.docname == docname or inside(literal, NOT_HERE):
            continue
        link = make_refnode(app.builder, docname, entry.docname, entry.node_id, literal.deepcopy(), name)
        literal.replace_self(link)


def inside(node, kinds):
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def by_its_end(app, env, node, contnode):
    """Resolves a role that Sphinx could not."""
    target = node.get("reftarget", "")
    ends = {
        (entry.docname, entry.node_id)
        for name, entry in env.get_domain("py").objects.items()
        if node.get("refdomain") == "py" and name.startswith(OURS) and name.endswith(f".{target}")
    }
    if len(ends) != 1:
        return None
    [(docname, node_id)] = ends
    return make_refnode(app.builder, node["refdoc"], docname, node_id, contnode, node_id)


def setup(app):
    app.connect("missing-reference", by_its_end)
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
