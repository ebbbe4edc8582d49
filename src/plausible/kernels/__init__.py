"""Compiled loops on plain arrays; the only place that knows Numba.

Numba keeps machine code on disk and notices when the file of a kernel changes, but not when a kernel that it calls, in
another file, does. So when any file here is newer than what was compiled, all of that is thrown away.
"""

from contextlib import suppress
from pathlib import Path

_FOLDER = Path(__file__).parent


def _forget_stale_machine_code() -> None:
    newest = max(file.stat().st_mtime_ns for file in _FOLDER.glob("*.py"))
    stamp = _FOLDER / "__pycache__" / "kernels.stamp"
    with suppress(OSError):  # a folder that can't be written to has files that don't change
        if stamp.exists() and stamp.read_text() == str(newest):
            return
        for compiled in (*stamp.parent.glob("*.nbi"), *stamp.parent.glob("*.nbc")):
            compiled.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(str(newest))


_forget_stale_machine_code()
