"""docs/site: links of the pages hold in the site, and broken ones are found. What is rendered needs ./dev site."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "docs/site").exists(), reason="tests of the wheel have no repository")


def module(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs/site" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_link_of_the_repository_leads_somewhere(tmp_path):
    make = module("make")
    site = make.Site(tmp_path / "site")
    make.assemble(site)
    assert {"index.md", "plan.md", "guide/python.md", "notebooks/gait.md", "cpp/reuse.md", "python/dp.md"} <= {
        str(path.relative_to(site.source)) for path in site.source.rglob("*.md")
    }
    index = (site.source / "index.md").read_text()
    assert "[its first steps](guide/first-steps.md)" in index and "(docs/guide" not in index
    assert "](../../bench" not in (site.source / "guide/python.md").read_text()


def test_a_link_to_nowhere_is_an_error(tmp_path):
    make = module("make")
    site = make.Site(tmp_path / "site")
    site.add("README.md", "index")
    with pytest.raises(SystemExit, match="README.md: a link to docs/guide/nothing.md, which is not there"):
        site.given("docs/guide/nothing.md", ROOT / "README.md")


def test_broken_links_of_rendered_pages_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a> <a href="https://example.org/y">y</a> <a href="#here" id="here">z</a>')
    (tmp_path / "b.html").write_text('<p id="there"></p><img src="none.png"><a href="a.html#gone">x</a>')
    assert module("check").broken(tmp_path) == [
        "b.html: none.png is not there", "b.html: a.html#gone: there is no such place on that page",
    ]
