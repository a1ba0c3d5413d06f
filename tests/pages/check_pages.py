"""Makes every page and picture with the tool, looks at them as a person would, and says what is wrong.

    python3 tests/pages/check_pages.py WARPLOOM FOLDER

Each page is opened 375 and 1280 px wide, light and dark: nothing may reach beyond the screen's edge, nothing may go
wrong in the console, every drawing has a name or is hidden from readers of the screen, what is pressed with a finger
is 24 px tall, what is drawn can be seen, and axe-core has no serious finding. In print nothing stays folded. Screenshots
go to FOLDER. Exit codes: 0 all is well, 1 it is not, 77 playwright, axe or a browser is missing.
"""
import gzip
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import zlib

try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Error, sync_playwright
except ImportError:
    print("skipped: pip install playwright axe-playwright-python, and a browser: apt-get install chromium")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTHS, SCHEMES = (375, 1280), ("light", "dark")

# What is seen of a page at this width, as sentences.
LOOK = r"""screen => {
  const said = [], root = document.documentElement;
  const name = e => `<${e.tagName.toLowerCase()} class="${e.getAttribute('class') ?? ''}"> ${(e.textContent ?? '').replace(/\s+/g, ' ').trim().slice(0, 40)}`;
  const shown = e => e.checkVisibility() && e.getBoundingClientRect().width > 0;
  if (root.scrollWidth > screen) {
    said.push(`${root.scrollWidth} px wide on a screen of ${screen}`);
    for (const e of document.querySelectorAll('body *'))
      if (shown(e) && e.getBoundingClientRect().right > screen + 1 && !e.closest('.scroll, pre') && said.length < 6)
        said.push('reaches beyond the edge: ' + name(e));
  }
  for (const e of document.querySelectorAll('svg, canvas, img')) {
    if (e.parentElement.closest('svg')) continue;
    if (e.closest('[aria-hidden=true]')) {  // only a key's patches and what cannot be seen
      if (e.getBoundingClientRect().width > 40) said.push('a hidden drawing: ' + name(e));
      continue;
    }
    const label = e.getAttribute('aria-label') || e.getAttribute('alt') || e.querySelector(':scope > title')?.textContent;
    if (!(e.getAttribute('role') || e.tagName === 'IMG') || !label) said.push('a drawing without role or label: ' + name(e));
    if (shown(e) && e.getBoundingClientRect().width < 120) said.push(`a drawing ${e.getBoundingClientRect().width} px wide: ` + name(e));
  }
  for (const e of document.querySelectorAll('button, summary, label:has(input), .chips a'))
    if (shown(e) && e.getBoundingClientRect().height < 24) said.push('too small to press: ' + name(e));
  let level = 1;
  for (const e of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (+e.tagName[1] > level + 1) said.push(`a heading of level ${e.tagName[1]} after one of level ${level}: ` + name(e));
    level = +e.tagName[1];
  }
  for (const mark of ['h1', 'main', 'header', 'footer'])
    if (document.querySelectorAll(mark).length !== 1) said.push(`not one <${mark}>`);
  return said;
}"""


def write_series(folder):
    """A ball with a crossing bundle, 12 directions and noise: dwi.nii.gz, dwi.bval, dwi.bvec."""
    draw, nx, ny, nz = random.Random(1), 44, 52, 28
    golden = math.pi * (3 - math.sqrt(5))
    directions = [(0.0, 0.0, 0.0)]
    for k in range(12):
        z = 1 - (k + 0.5) / 12
        r = math.sqrt(1 - z * z)
        directions.append((r * math.cos(golden * k), r * math.sin(golden * k), z))
    inside = lambda x, y, z: ((x - 22) / 19) ** 2 + ((y - 26) / 23) ** 2 + ((z - 14) / 12) ** 2 < 1
    values = []
    for g in directions:
        b = 1000 if any(g) else 0
        for z in range(nz):
            for y in range(ny):
                for x in range(nx):
                    if not inside(x, y, z):
                        values.append(abs(draw.gauss(0, 12)))
                        continue
                    along = 0 if abs(y - 26) < 5 else 1 if abs(x - 22) < 5 else 2 if abs(z - 14) < 3 and x < 16 else None
                    d = 0.8 if along is None else 0.4 + 1.2 * g[along] ** 2
                    values.append(abs(600 * math.exp(-b / 1000 * (d if b else 0)) + draw.gauss(0, 25)))
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 4, nx, ny, nz, len(directions), 1, 1, 1)
    struct.pack_into("<2h", head, 70, 16, 32)
    struct.pack_into("<8f", head, 76, 1, 2, 2, 2, 1, 1, 1, 1)
    struct.pack_into("<2f", head, 108, 352, 1)
    struct.pack_into("<2b", head, 123, 2, 0)
    struct.pack_into("<2h", head, 252, 0, 1)
    for row, at in enumerate((280, 296, 312)):
        struct.pack_into("<4f", head, at, *[-2.0 if row == c == 0 else 2.0 if row == c else 0.0 for c in range(3)], 0)
    head[344:348] = b"n+1\0"
    (folder / "dwi.nii.gz").write_bytes(gzip.compress(bytes(head) + struct.pack(f"<{len(values)}f", *values), 1))
    (folder / "dwi.bval").write_text(" ".join("1000" if any(g) else "0" for g in directions) + "\n")
    (folder / "dwi.bvec").write_text("".join(" ".join(f"{g[a]:.5f}" for g in directions) + "\n" for a in range(3)))


def write_cells(path):
    """Bright discs on a dark ground, as a PNG in grey."""
    draw, n = random.Random(2), 160
    discs = [(40, 50, 22), (110, 45, 26), (75, 115, 30)]
    rows = b""
    for y in range(n):
        rows += b"\0" + bytes(
            max(0, min(255, round((190 if any(math.hypot(x - a, y - b) < r for a, b, r in discs) else 60) + draw.gauss(0, 18))))
            for x in range(n))
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">2I5B", n, n, 8, 0, 0, 0, 0))
                     + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


def make(tool, folder):
    """Every page and picture that the tool writes."""
    examples = ROOT / "examples"
    write_series(folder)
    write_cells(folder / "cells.png")
    long_name = "kernels_under_a_name_that_is_longer_than_a_phone_is_wide.sm_90.ptx"
    ptx = (examples / "cub_tempstorage.sm_90.ptx").read_text()
    kernel = ptx[ptx.index("// .globl"):]
    other = "rank_keys_of_" + "pairs_" * 12
    (folder / long_name).write_text(ptx + kernel.replace("rank_keys", other))
    walk = examples / "walk.csv"
    found = ["search", walk, walk, "--label-column", "limp", "--from", "7.2", "--to", "8.3", "--best", "4"]
    tile, rna = examples / "tile", examples / "trna_phe.fa"
    commands = [
        ["reuse", long_name, "--no-ptxas", "-o", "out.ptx", "--html", "reuse.html"],
        ["denoise", "dwi.nii.gz", "--bval", "dwi.bval", "--bvec", "dwi.bvec", "-o", "dti", "--qc", "denoise.html"],
        [*found, "--html", "-o", "found"],
        ["tile", tile / "polybench/gemm.c", "--html", "tile-gemm.html"],
        ["tile", tile / "lecture/not_permutable.c", "--html", "tile-not-permutable.html"],
        ["tile", tile / "polybench/lu.c", "--html", "tile-lu.html"],
        ["segment", "cells.png", "-o", "mask.png", "--overlay", "overlay.png", "--contour", "segment.svg"],
        ["dp", "nussinov", rna, "--svg", "arcs.svg"],
        ["dp", "polygon", examples / "polygon.csv", "--svg", "triangles.svg"],
        ["example", "heads"],
        ["register", "head1.nii.gz", "head2.nii.gz", "-o", "warped.nii.gz", "--qc", "register.html"],
        ["fold", rna, "--svg", "radial.svg", "--layout", "radial"],
        ["fold", rna, "--ensemble", "--bpp", "dot-plot.svg"],
        ["fold", "mutants", rna, "--svg", "mutants.svg", "-o", "mutants.tsv"],
        ["example", "reads"],
        ["table", "count", "reads.fa", "--kmer", "21", "--histogram", "histogram.svg"],
        ["table", "bench", "--svg", "throughput.svg", "-o", "bench.json"],
    ]
    for command in commands:
        run = subprocess.run([tool, *map(str, command)], cwd=folder, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"warploom {' '.join(map(str, command))}: exit code {run.returncode}\n{run.stderr}")
    (folder / "found/walk.html").rename(folder / "search.html")
    return sorted(folder.glob("*.html")), sorted(folder.glob("*.svg"))


def look(browser, page, folder):
    """Sentences about what is wrong with a page."""
    faults, axe = [], Axe()
    for width in WIDTHS:
        for scheme in SCHEMES:
            where = f"{page.name}, {width} px, {scheme}: "
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme,
                                          is_mobile=width < 500, has_touch=width < 500)
            tab = context.new_page()
            told = []
            tab.on("console", lambda message: told.append(message.text) if message.type == "error" else None)
            tab.on("pageerror", lambda error: told.append(str(error)))
            tab.goto(page.as_uri())
            tab.screenshot(path=folder / f"{page.stem}-{width}-{scheme}.png", full_page=True)
            tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            tab.wait_for_timeout(100)
            faults += [where + said for said in tab.evaluate(LOOK, width)]
            for finding in axe.run(tab).response["violations"]:
                if finding["impact"] in ("serious", "critical"):
                    first = finding["nodes"][0]
                    faults.append(f"{where}axe: {finding['impact']}: {finding['help']} ({finding['id']}, "
                                  f"{len(finding['nodes'])} times), first {first['html'][:160]}")
            faults += [where + "console: " + text for text in told]
            context.close()
    # In print, from the page as it opens.
    context = browser.new_context(viewport={"width": 1000, "height": 900}, color_scheme="dark")
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.emulate_media(media="print")
    tab.pdf(path=folder / f"{page.stem}.pdf", format="A4")
    hidden = tab.evaluate("""() => [...document.querySelectorAll('details:not([open]) > :not(summary)')]
        .filter(e => getComputedStyle(e).display !== 'none')
        .filter(e => !e.checkVisibility({contentVisibilityAuto: false}) || e.getBoundingClientRect().height === 0).length""")
    if hidden:
        faults.append(f"{page.name}, print: {hidden} parts stay folded")
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = tab.evaluate("getComputedStyle(document.body).color")
    if ground != "rgb(255, 255, 255)" or max(map(int, ink[4:-1].split(","))) > 96:
        faults.append(f"{page.name}, print: {ink} on {ground} in a dark scheme")
    context.close()
    return faults


def look_at_svg(browser, picture, folder):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(picture.as_uri())
    tab.screenshot(path=folder / f"{picture.stem}-svg.png")
    root = tab.evaluate("""() => [document.documentElement.getAttribute('role'),
        document.documentElement.getAttribute('aria-label') || document.querySelector('svg > title')?.textContent]""")
    beyond = tab.evaluate("""() => {
        const whole = document.documentElement.getBoundingClientRect();
        return [...document.querySelectorAll('text')].filter(e => {
          const it = e.getBoundingClientRect();
          return it.left < whole.left - 1 || it.top < whole.top - 1 || it.right > whole.right + 1 || it.bottom > whole.bottom + 1;
        }).map(e => e.textContent.slice(0, 60));
    }""")
    tab.close()
    faults = [f"{picture.name}: reaches beyond the edge: {text}" for text in beyond]
    return faults if root[0] == "img" and root[1] else [*faults, f"{picture.name}: a drawing without role or label"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        except Error as error:
            print(f"skipped: no browser ({str(error).splitlines()[0]}); apt-get install chromium")
            return 77
        pages, pictures = make(tool, folder)
        faults = [said for page in pages for said in look(browser, page, folder)]
        faults += [said for picture in pictures for said in look_at_svg(browser, picture, folder)]
        browser.close()
    for said in faults:
        print(said)
    print(f"{len(pages)} pages and {len(pictures)} pictures, {len(faults)} faults; screenshots: {folder}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
