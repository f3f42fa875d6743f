"""Disk: everything the store asks of the file system; the one seam where tests put a disk that fails."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from nbagent.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER, FILE = 0o700, 0o600
"""Who may do what: the user everything, everybody else nothing."""
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Disk:
    """The file system as it is. Every method may raise OSError."""

    def make_folder(self, folder: Path) -> None:
        """Makes it, and those around it, for the user alone; one that is there already stays as it is.

        Raises StoreError where it is a link, or belongs to somebody else: whoever owns it can change what is in it.
        """
        if not folder.exists():
            if not folder.parent.exists():
                self.make_folder(folder.parent)
            with suppress(FileExistsError):  # another process was faster
                folder.mkdir(FOLDER)
            self.sync_folder(folder.parent)
        about = folder.lstat()
        if stat.S_ISLNK(about.st_mode):
            raise StoreError(f"store: {folder} is a link; name the folder that it leads to")
        if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
            raise StoreError(f"store: the folder {folder} belongs to another user; name one of your own")

    def names(self, folder: Path, suffix: str) -> list[str]:
        """The names of the files in a folder that end so, without it; none where there is no folder."""
        try:
            found = os.listdir(folder)
        except FileNotFoundError:
            return []
        return [name.removesuffix(suffix) for name in found if name.endswith(suffix)]

    def create(self, path: Path) -> int:
        """A new file, open for appending. Raises FileExistsError where there is one."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _FLAGS, FILE)

    def open(self, path: Path, *, make: bool = False) -> int:
        """A file, open for reading and appending."""
        return os.open(path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if make else 0) | _FLAGS, FILE)

    def read(self, path: Path, start: int = 0, size: int = -1) -> bytes:
        """What is in the file from `start` on, from its end where negative."""
        fd = os.open(path, os.O_RDONLY | _FLAGS)
        with os.fdopen(fd, "rb") as file:
            if start:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(0, end + start if start < 0 else start))
            return file.read(size)

    def write(self, fd: int, data: bytes) -> int:
        """Appends, and says how many bytes were taken."""
        return os.write(fd, data)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def sync(self, fd: int) -> None:
        """Returns when what was written is where no loss of power reaches it."""
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        os.close(fd)

    def sync_folder(self, folder: Path) -> None:
        """The same for the names in a folder."""
        if os.name == "nt":  # it opens no folders, and needs none of this
            return
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def replace(self, path: Path, data: bytes) -> None:
        """Puts a small file in the place of another one, whole or not at all."""
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, FILE)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    """Appends all of it; a disk may take less at a time."""
    left = memoryview(data)
    while left:
        left = left[disk.write(fd, bytes(left)) :]


def why(error: OSError) -> str:
    """`No space left on device`."""
    return error.strerror or type(error).__name__
