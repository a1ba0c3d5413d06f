"""The site's settings. make.py assembles what is rendered: guides, notebooks, and the pages of both references."""

project = "Warploom"
author = "the Warploom authors"
root_doc = "index"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "breathe"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
napoleon_numpy_docstring = False
breathe_projects = {"warploom": "xml"}  # beside this file
breathe_default_project = "warploom"
breathe_show_include = False

suppress_warnings = [
    "duplicate_declaration.cpp",  # specialisations
    "ref.python",  # "type" is a field of several results, and a word
]

html_theme = "furo"
html_title = "Warploom"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["tree"]
templates_path = []
html_show_sphinx = False
html_copy_source = False
