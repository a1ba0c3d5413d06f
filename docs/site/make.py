"""Makes the site: python docs/site/make.py FOLDER, with warploom importable and the tool in PATH.

Assembles FOLDER/source from the README, docs and the public headers, renders it to FOLDER/html, and checks that every link
leads somewhere. What is linked and lies elsewhere in the repository goes with it, below /tree.
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|!?\[[^\[\]]*\](?:\([^()]*\))?)*)\]\(([^()\s]+)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)
NOTEBOOKS = ["denoise", "gait", "kmers", "fold", "nussinov", "loops", "shared-memory"]
SYSTEMS = ["reuse", "wrap", "sim", "tile", "imaging", "segment", "register", "search", "table", "dp", "fold"]


def contents(caption, pages, depth=1):
    return f"\n```{{toctree}}\n:caption: {caption}\n:maxdepth: {depth}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


class Site:
    def __init__(self, folder):
        self.source, self.html = folder / "source", folder / "html"
        shutil.rmtree(folder, ignore_errors=True)
        self.tree = self.source / "tree" / "tree"
        self.tree.mkdir(parents=True)
        self.pages = {}  # of the repository's files that are pages: their page

    def add(self, file, page):
        self.pages[ROOT / file] = page

    def given(self, target, of):
        """Where a link of a file of the repository leads in the site."""
        path, _, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return target
        there = (of.parent / path).resolve()
        if not there.exists():
            raise SystemExit(f"{of.relative_to(ROOT)}: a link to {target}, which is not there")
        up = "../" * self.pages[of].count("/")
        if there in self.pages:
            return up + self.pages[there] + ".md" + (f"#{anchor}" if anchor else "")
        of_root = there.relative_to(ROOT)
        if of_root.parts[:2] == ("include", "warploom") and len(of_root.parts) > 2:
            return f"{up}cpp/{of_root.parts[2]}.md"
        return f"{up}tree/{self.keep(there)}"

    def keep(self, there):
        """Copies a file, or a folder with a list of what is in it; gives its place below /tree."""
        name = there.relative_to(ROOT).as_posix()
        to = self.tree / name
        if there.is_dir():
            files = subprocess.run(["git", "ls-files", "."], cwd=there, capture_output=True, text=True, check=True).stdout.split("\n")
            rows = ""
            for file in filter(None, files):
                kept = self.keep(there / file).removeprefix(f"{name}/")
                rows += f'<li><a href="{html.escape(kept)}">{html.escape(file)}</a></li>\n'
            (to / "index.html").write_text(
                f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                f"<title>{name}</title><h1>{name}</h1><ul>\n{rows}</ul></html>\n")
            return name + "/index.html"
        # Browsers show text, and would rather save what they do not know.
        plain = there.suffix not in (".png", ".svg", ".json", ".html")
        to = to.with_name(to.name + ".txt") if plain else to
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(there, to)
        return name + (".txt" if plain else "")

    def write(self, file, page, more=""):
        """A page of the repository, with links that hold in the site; code is left as it is."""
        text = (ROOT / file).read_text()
        up = "../" * page.count("/")

        def link(match):
            to = self.given(match[2], ROOT / file)
            inner = PICTURE.sub(picture, match[1])
            in_tree = to.startswith(up + "tree/")
            return f'<a href="{to}">{code_as_html(inner)}</a>' if in_tree else f"[{inner}]({to})"

        def picture(match):
            there = ((ROOT / file).parent / match[2]).resolve()
            to = self.source / page
            shutil.copy(there, to.parent / there.name)
            return f"![{match[1]}]({there.name})"

        parts = CODE.split(text)
        kept = []  # code, which a link's text may hold
        for k in range(1, len(parts), 2):
            kept.append(parts[k])
            parts[k] = f"\x00{len(kept) - 1}\x00"
        (self.source / page).parent.mkdir(parents=True, exist_ok=True)
        text = PICTURE.sub(picture, LINK.sub(link, "".join(parts)))

        def back(match):
            return kept[int(match[1])]

        text = re.sub(r"\x00(\d+)\x00", back, text)
        text = re.sub(r'(<a href="[^"]*">)(.*?)(</a>)', lambda m: m[1] + code_as_html(m[2]) + m[3], text, flags=re.S)
        (self.source / f"{page}.md").write_text(text + more)


def code_as_html(text):
    return re.sub(r"`([^`]+)`", lambda m: f"<code>{html.escape(m[1])}</code>", text)


def modules():
    return sorted(p.name for p in (ROOT / "include/warploom").iterdir())


def cpp_page(module):
    """A module's headers, each with what it declares."""
    lines = [f"# `warploom::{module}`\n"]
    for header in sorted((ROOT / "include/warploom" / module).iterdir()):
        lines += [f"## {header.name}\n", f"`#include <warploom/{module}/{header.name}>`\n",
                  f"```{{doxygenfile}} warploom/{module}/{header.name}\n:sections: innerclass enum func typedef var define user-defined public-func public-attrib public-type public-static-func public-static-attrib\n```\n"]
    return "\n".join(lines)


def sort_by_header(xml):
    """Doxygen tells of what namespaces hold by namespace, and a page of ours by header: each declaration moves to its file's
    XML, under its full name. Files are named by their paths, since several modules have one of a name."""
    files, paths = {}, {}
    for file in xml.glob("*.xml"):
        root = ElementTree.parse(file).getroot()
        compound = root.find("compounddef[@kind='file']")
        if compound is not None:
            place = compound.find("location").get("file")
            files[place], paths[file.stem] = (file, root, compound), place.removeprefix("include/")
            for inner in compound.findall("innernamespace"):
                compound.remove(inner)
    for file in sorted(xml.glob("namespace*.xml")):
        for section in ElementTree.parse(file).getroot().findall("compounddef/sectiondef"):
            for member in section.findall("memberdef"):
                member.find("name").text = member.findtext("qualifiedname")
                for text in member.iter():  # Doxygen takes 1'000 apart
                    text.text = re.sub(r"(?<=\d) '(?=\d{3})", "'", text.text or "")
                _, _, compound = files[member.find("location").get("file")]
                to = compound.find(f"sectiondef[@kind='{section.get('kind')}']")
                if to is None:
                    to = ElementTree.Element("sectiondef", kind=section.get("kind"))
                    compound.insert(list(compound).index(compound.find("detaileddescription")) - 1, to)
                to.append(member)
    for file, root, _ in files.values():
        ElementTree.ElementTree(root).write(file)
    index = xml / "index.xml"
    index.write_text(re.sub(r'refid="(\S+)" kind="file"><name>[^<]*<', lambda m: f'refid="{m[1]}" kind="file"><name>{paths[m[1]]}<', index.read_text()))


PYTHON = {
    "data": ("Data", "warploom", ["denoise", "Denoised", "register", "Registration", "segment", "Segmentation", "search", "Index", "Matches", "Match",
                                  "distance_matrix", "distance_profile", "fold", "Folding", "Foldings", "fold_eval", "Evaluation", "Loop", "fold_suboptimal", "Suboptimal", "fold_ensemble", "Ensemble", "fold_unpaired", "Unpaired", "fold_windows", "Windows", "fold_mutants", "Mutants", "HashTable", "Outcomes", "kmers", "Counts", "cohort", "Cohort", "CohortItem"]),
    "dp": ("warploom.dp", "warploom.dp", None), "reuse": ("warploom.reuse", "warploom.reuse", None),
    "sim": ("warploom.sim", "warploom.sim", None), "tile": ("warploom.tile", "warploom.tile", None),
    "hooks": ("warploom.hooks", "warploom.hooks", None), "plot": ("warploom.plot", "warploom.plot", None),
    "common": ("Errors, progress, devices", "warploom", ["BadInput", "NoDevice", "OutOfMemory", "Error", "Internal", "ProgressState", "devices"]),
}


def python_page(title, module, names):
    if names is None:
        return f"# {title}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"
    parts = []
    for name in names:
        kind = "exception" if name in ("BadInput", "NoDevice", "OutOfMemory", "Error", "Internal") else "class" if name[0].isupper() else "function"
        parts.append(f".. auto{kind}:: {module}.{name}\n")
    return f"# {title}\n\n```{{eval-rst}}\n" + "\n".join(parts) + "```\n"


def assemble(site):
    guides = sorted(p.stem for p in (ROOT / "docs/guide").glob("*.md"))
    first = ["first-steps", "install", "python", "library"]
    further = [g for g in guides if g not in first + SYSTEMS + ["reference"]]
    for folder in ("guide", "results", "design"):
        for page in sorted((ROOT / "docs" / folder).glob("*.md")):
            site.add(f"docs/{folder}/{page.name}", f"{folder}/{page.stem}")
    for name in NOTEBOOKS:
        site.add(f"docs/notebooks/{name}.md", f"notebooks/{name}")
    for file, page in {"README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "docs/plan.md": "plan"}.items():
        site.add(file, page)
    site.add("docs/guide", "guide/first-steps")  # a link to the folder
    site.add("docs/design", "design/0001-tree-and-parts")
    of = lambda folder: [page for file, page in site.pages.items() if file.is_file() and page.startswith(folder + "/")]
    (site.source / "cpp").mkdir()
    for module in modules():
        (site.source / f"cpp/{module}.md").write_text(cpp_page(module))
    (site.source / "python").mkdir()
    for name, what in PYTHON.items():
        (site.source / f"python/{name}.md").write_text(python_page(*what))
    toctree = (
        contents("Begin", [f"guide/{g}" for g in first]) + contents("Systems", [f"guide/{g}" for g in SYSTEMS])
        + contents("Notebooks", [f"notebooks/{n}" for n in NOTEBOOKS])
        + contents("Reference", ["Command line <guide/reference>", *(f"python/{n}" for n in PYTHON), *(f"cpp/{m}" for m in modules())])
        + contents("More", [*(f"guide/{g}" for g in further), *of("results"), *of("design"), "plan", "contributing", "changelog"]))
    for file, page in list(site.pages.items()):
        if file.is_dir():
            continue
        name = page.removeprefix("notebooks/")
        download = f'\n<p><a href="{name}.ipynb" download>This notebook as it ran, {name}.ipynb</a></p>\n'
        site.write(file.relative_to(ROOT), page, toctree if page == "index" else download if name != page else "")


def main():
    site = Site(pathlib.Path(sys.argv[1]).resolve())
    assemble(site)
    for name in ("conf.py", "site.css"):
        to = site.source / ("_static" if name.endswith("css") else ".")
        to.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs/site" / name, to)
    doxyfile = (ROOT / "docs/site/Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {site.source}\n"
    subprocess.run(["doxygen", "-"], input=doxyfile, text=True, cwd=ROOT, check=True)
    sort_by_header(site.source / "xml")
    # A warning is a link without its end, a name that is not documented, a cell that failed.
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", "html", "--keep-going", *os.environ.get("SPHINX_OPTIONS", "-W -q").split(), site.source, site.html], check=True)
    for name in NOTEBOOKS:  # as they ran
        shutil.copy(site.source.parent / "jupyter_execute/notebooks" / f"{name}.ipynb", site.html / "notebooks")


if __name__ == "__main__":
    main()
