"""Write `manifest.json` beside the files built for notebooks: hashes of what they are made from and of themselves.

`make web` runs it after building. A test compares, so that what is built is never older than what it is built from.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

WEB = Path(__file__).resolve().parent
ROOMS = WEB.parent / "src" / "plausible"
#: What the build depends on.
_SOURCES = ("package.json", "package-lock.json", "svelte.config.js", "tsconfig.json", "vite.config.ts", "src/**/*")
#: What the build makes, by the folder where it lies.
BUILT = {
    "plotting/static": ("widget.css", "widget.js"),
    "studio/static": ("studio.css", "studio.js"),
}


def manifest() -> dict[str, object]:
    """The hash of all sources, and one of each built file."""
    files = sorted({file for pattern in _SOURCES for file in WEB.glob(pattern) if file.is_file()})
    return {
        "sources": _hash(
            *(part for file in files for part in (file.relative_to(WEB).as_posix().encode(), _text(file)))
        ),
        "built": {name: _hash(_text(ROOMS / folder / name)) for folder, names in BUILT.items() for name in names},
    }


def _text(file: Path) -> bytes:
    """What is in a file, with the line ends of no system in particular."""
    return file.read_bytes().replace(b"\r\n", b"\n")


def _hash(*parts: bytes) -> str:
    return sha256(b"\0".join(parts)).hexdigest()


if __name__ == "__main__":
    (ROOMS / "plotting" / "static" / "manifest.json").write_text(
        json.dumps(manifest(), indent=2) + "\n", encoding="utf-8"
    )
