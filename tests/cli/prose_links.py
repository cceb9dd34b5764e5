"""prose_links.py: links of pages, and paths that pages and comments name, lead somewhere. From the top folder."""

import glob
import os
import re
import sys

found = 0


def report(path, line, what):
    global found
    print(f"{path}:{line}: {what}")
    found += 1


def anchors(page):
    text = re.sub(r"^```.*?^```", "", open(page, encoding="utf-8").read(), flags=re.S | re.M)
    titles = re.findall(r"^#+ +(.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


pages = [p for p in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *glob.glob("docs/**/*.md", recursive=True),
                     *glob.glob("tests/**/*.md", recursive=True)] if os.path.exists(p)]
for page in pages:
    for number, line in enumerate(open(page, encoding="utf-8"), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            place = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(place):
                report(page, number, f"dead link {target}")
            elif anchor and place.endswith(".md") and anchor not in anchors(place):
                report(page, number, f"dead link {target}: no such heading")
        # A function named after a link to a source file is in that file.
        for path, function in re.findall(r"\]\((\S+\.(?:c|h|cu|cuh))\) `(\w+)`", line):
            place = os.path.normpath(os.path.join(os.path.dirname(page), path))
            if os.path.exists(place) and not re.search(rf"\b{function}\(", open(place, encoding="utf-8").read()):
                report(page, number, f"{place} has no function {function}")

FOLDERS = [os.path.basename(p.rstrip("/")) for p in glob.glob("src/*/")]
PATH = re.compile(r"(?<![\w/.$-])((?:src|cuda|docs|tests|jobs|examples|packaging|build-aux|" + "|".join(FOLDERS) +
                  r")/[\w/.-]*\w)")
sources = [p for kind in ("c", "h", "cu", "cuh") for top in ("src", "cuda")
           for p in glob.glob(f"{top}/**/*.{kind}", recursive=True)]
for path in sources + [p for p in pages if p != "CHANGELOG.md"]:
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.startswith("#include"):
            continue
        if not path.endswith(".md") and "//" not in line and "*" not in line:
            continue
        for name in PATH.findall(line):
            stem = name.rstrip(".")
            if re.search(r"NAME|FOLDER|\.(log|so|trs)$", stem):
                continue
            if not any(glob.glob(f"{top}{stem}{end}") for top in ("", "src/", "docs/", "tests/", "tests/unit/")
                       for end in ("", ".*", "/", "_*")):
                report(path, number, f"dead path {name}")
        for number_of in re.findall(r"decision (\d{3})", line):
            if not glob.glob(f"docs/decisions/{number_of}-*.md"):
                report(path, number, f"dead decision {number_of}")
sys.exit(1 if found else 0)
