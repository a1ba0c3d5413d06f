"""Puts the licences of the libraries that auditwheel grafted beside them: python add_licences.py WHEEL

Each library in warploom.libs is one of a Debian or RPM package of this machine, or was built from sources and has left its licence
in /usr/local/share/licenses/NAME. It goes into the wheel's dist-info/licenses, with the texts that it refers to (GMP: LGPL-3 and
GPL-3). A library without one is an error.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

COMMON = pathlib.Path("/usr/share/common-licenses")
BUILT_HERE = pathlib.Path("/usr/local/share/licenses")


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""


def licences_of(library):
    """The package of a grafted library, "libgmp-1a2b3c4d.so.10.4.1", and the files of its licence."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    built = BUILT_HERE / name.partition(".so")[0]
    if files := sorted(built.glob("*")):
        return built.name, files
    for line in output("dpkg", "-S", f"*/{name}").splitlines():
        package = line.split(":")[0]
        text = pathlib.Path("/usr/share/doc") / package / "copyright"
        if text.exists():
            # Debian's files name the texts that every system has.
            common = {COMMON / found for found in re.findall(r"common-licenses/((?:L?GPL|Apache)-[0-9.]*[0-9])", text.read_text())}
            more = {COMMON / "GPL-3"} if COMMON / "LGPL-3" in common else set()  # the LGPL adds to it
            return package, [text, *sorted(common | more)]
    for place in output("sh", "-c", f"ls /usr/lib64/{name} /usr/lib/{name} 2>/dev/null").split():
        package = output("rpm", "-qf", "--qf", "%{NAME}", place)
        files = output("rpm", "-q", "--licensefiles", package).split("\n") if package else []
        if any(files):
            return package, [pathlib.Path(file) for file in files if file]
    sys.exit(f"{library}: no package of this machine has it, or its licence: it may not be published so")


def main(wheel):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "-d", folder, wheel], check=True, stdout=subprocess.DEVNULL)
        (root,) = pathlib.Path(folder).iterdir()
        (info,) = root.glob("*.dist-info")
        named = []
        for library in sorted((root / "warploom.libs").iterdir()):
            package, files = licences_of(library.name)
            for file in files:
                to = info / "licenses" / "grafted" / package / file.name
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(file.read_bytes())
                named.append(to.relative_to(info / "licenses").as_posix())
            print(f"{library.name}: {package}: {', '.join(file.name for file in files)}")
        metadata = info / "METADATA"
        head, blank, body = metadata.read_text().partition("\n\n")
        metadata.write_text(head + "".join(f"\nLicense-File: {name}" for name in named) + blank + body)
        subprocess.run([sys.executable, "-m", "wheel", "pack", "-d", str(pathlib.Path(wheel).parent), str(root)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(sys.argv[1])
