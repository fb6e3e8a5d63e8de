"""Documentation: `make docs`, warnings are errors. The pages can be read without a network."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "lapwing"
copyright = "the lapwing developers"
version = release = installed("lapwing")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # Of our own, in _extensions.
    "mathml",
    "names",
    "offline",
    "places",
    "reference",
]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]
# paper.md is a manuscript, not a page.
exclude_patterns = ["_build", "_templates", "_extensions", "paper.md", "sg_execution_times.rst"]
autosummary_generate = True
# A role that names nothing is a warning, and so an error. Words that belong to other libraries are let through.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(dask|matplotlib|numpy|onnx|pandas|polars|scipy|sklearn|torch)\..*"),
    ("py:(attr|mod)", r".*"),  # attributes are told in the docstring of their class, modules have no page
]
# Types are told by the docstrings, in words.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# What scikit-learn's mixins document refers to pages of its own, and what exceptions and tuples inherit is Python's.
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator",
    "exclude-members": "add_note, count, get_metadata_routing, index, score, set_output, set_fit_request, "
    "set_inverse_transform_request, set_partial_fit_request, set_predict_request, set_score_request, "
    "set_transform_request, with_traceback",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "remove_config_comments": True,
    "show_memory": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "lapwing"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["sidebar-nav-bs"], "index": []}
html_static_path = ["_static"]
html_css_files = ["lapwing.css"]
html_show_sourcelink = False
