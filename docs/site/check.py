"""Looks at the rendered site: python docs/site/check.py FOLDER [SCREENSHOTS]

Every link, anchor and picture within the site has to be there. With a folder for screenshots a browser opens each page 390 and
1280 px wide, where nothing may reach beyond the screen's edge. Exit codes: 0 all is well, 1 it is not.
"""
import pathlib
import sys
import urllib.parse
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value is not None and tag in ("a", "img", "link", "script", "source"):
                self.links.append(value)


def broken(folder):
    """Sentences about links that lead nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    said = []
    for path, page in pages.items():
        for link in page.links:
            to = urllib.parse.urlsplit(link)
            if to.scheme or to.netloc or not (to.path or to.fragment):
                continue
            there = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            where = f"{path.relative_to(folder.resolve())}: {link}"
            if not there.is_file():
                said.append(f"{where} is not there")
            elif to.fragment and there in pages and urllib.parse.unquote(to.fragment) not in pages[there].ids:
                said.append(f"{where}: there is no such place on that page")
    return said


def look(folder, screenshots):
    """Sentences about pages that are wider than a screen, or say something in the console."""
    from playwright.sync_api import sync_playwright

    said = []
    screenshots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: said.append(f"{page.url}: {message.text}") if message.type == "error" and "ERR_" not in message.text else None)
        for path in sorted(folder.rglob("*.html")):
            name = path.relative_to(folder)
            if name.parts[0] in ("_static", "_modules"):
                continue
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                page.goto(path.resolve().as_uri(), wait_until="domcontentloaded")
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    said.append(f"{name}: {wide} px wide on a screen of {width}")
                if name.parts[0] != "tree":
                    page.screenshot(path=screenshots / f"{'-'.join(name.with_suffix('').parts)}-{width}.png")
        browser.close()
    return said


def main():
    folder = pathlib.Path(sys.argv[1])
    said = broken(folder)
    if len(sys.argv) > 2:
        said += look(folder, pathlib.Path(sys.argv[2]))
    print("\n".join(said) or f"{len(list(folder.rglob('*.html')))} pages: every link leads somewhere")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
