"""Archives that are equal if their files are equal, because the names are sorted and all times and permissions equal.

``python tutorials/site/archive.py`` packs the built site into one file, ``dist/site.zip``. `make site` runs this
script.
"""

import os
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE, ARCHIVE, FOLDER = ROOT / "build" / "site", ROOT / "dist" / "site.zip", "nfa-site"
TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time that an archive can have


def add(archive: zipfile.ZipFile, name: str, content: str | bytes) -> None:
    """Add a file with read permission for everybody."""
    entry = zipfile.ZipInfo(name, TIME)
    entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    archive.writestr(entry, content)


def pack(folder: Path, archive: Path, inside: str) -> None:
    """Write an archive of a folder without hidden files. ``inside`` is the folder's name in the archive.

    A reader sees the old archive or the whole new archive, but never a part.

    Raises
    ------
    FileNotFoundError : if the folder has no index.html
    """
    if not (folder / "index.html").is_file():
        raise FileNotFoundError(f"{folder} has no index.html: build the site first")
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_name(f"{archive.name}.part")
    with zipfile.ZipFile(part, "w") as written:
        for name in sorted(found):
            if not any(step.startswith(".") for step in name.split("/")):
                add(written, f"{inside}/{name}", found[name].read_bytes())
    os.replace(part, archive)


if __name__ == "__main__":
    pack(SITE, ARCHIVE, FOLDER)
    size = ARCHIVE.stat().st_size / 1e6
    print(f"The site is in {SITE.relative_to(ROOT)}/index.html, and as one file in {ARCHIVE.relative_to(ROOT)}")
    print(f"({size:.0f} MB). To read it elsewhere, unpack that file and open {FOLDER}/index.html; no server is needed.")
