"""``make release VERSION=1.2.3``: everything up to the upload. It ends with a commit and a tag here, and pushes nothing.

The version is written where it stands, lint, tests, pages and distributions are made, and the wheel is installed from a package
index on this machine, as a user would. Where a step fails, the files that were changed are put back.
"""

import datetime
import functools
import re
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The places of the version, each a line that holds nothing else that looks like one.
PLACES = {
    "pyproject.toml": r'^version = "(.*)"',
    "papers/pyproject.toml": r'^version = "(.*)"',
    "CITATION.cff": r"^version: (.*)",
    "conda/recipe.yaml": r'^  version: "(.*)"',
    "CHANGELOG.md": r"^## (\S+ \(.*\))",
}


def run(*command, **options):
    print("$", *command, flush=True)
    return subprocess.run(command, cwd=ROOT, check=True, **options)


def told(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def rewritten(text, pattern, value):
    """The text with the value at the first place of the pattern's group."""
    found = re.search(pattern, text, re.M)
    return text[: found.start(1)] + value + text[found.end(1) :]


def write_version(version, today):
    for name, pattern in PLACES.items():
        path, value = ROOT / name, f"{version} ({today})" if name == "CHANGELOG.md" else version
        path.write_text(rewritten(path.read_text("utf-8"), pattern, value), "utf-8")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def try_from_an_index(version):
    """Install the wheel from a package index on the loopback interface, and try it."""
    serve = functools.partial(Quiet, directory=str(ROOT / "out/index"))
    pages = ROOT / "out/index/simple/lapwing"
    pages.mkdir(parents=True, exist_ok=True)
    files = sorted((ROOT / "dist").glob("lapwing-*"))
    for file in files:
        (pages / file.name).write_bytes(file.read_bytes())
    (pages / "index.html").write_text("".join(f'<a href="{file.name}">{file.name}</a>' for file in files))
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    python = "out/clean/bin/python"  # as `make dist` left it, with all that the command line needs
    index = f"http://127.0.0.1:{server.server_port}/simple"
    try:
        run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "lapwing")
        only = ("--no-deps", "--no-cache-dir", "--index-url", index)
        run(python, "-m", "pip", "install", "--quiet", *only, f"lapwing=={version}")
        subprocess.run(["clean/bin/python", "../tests/installed.py", "--cli"], cwd=ROOT / "out", check=True)
    finally:
        server.shutdown()


def main(version):
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise SystemExit(f"release: VERSION={version!r} must be a version, as in make release VERSION=0.1.0")
    if told("git", "status", "--porcelain"):
        raise SystemExit("release: there are changes that are not committed; commit or stash them")
    if f"v{version}" in told("git", "tag").split():
        raise SystemExit(f"release: the tag v{version} exists; choose the next version")
    try:
        write_version(version, datetime.date.today().isoformat())
        for target in ("lint", "test", "docs", "dist"):
            run("make", target)
        try_from_an_index(version)
    except BaseException:
        run("git", "checkout", "--quiet", "--", *PLACES)
        raise
    if told("git", "status", "--porcelain"):  # nothing where the version was written before
        run("git", "commit", "--quiet", "--message", f"Version {version}", "--", *PLACES)
    run("git", "tag", f"v{version}")
    print(f"ready, and not uploaded: git push --atomic origin HEAD v{version} has the workflow release.yml publish it")


if __name__ == "__main__":
    main(*sys.argv[1:])
