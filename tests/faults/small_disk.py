"""A small disk in memory in the place of a folder, which a test fills."""

import contextlib
import shutil
import subprocess


class Unavailable(Exception):
    """This machine lets nobody mount a disk; the text is the reason."""


class SmallDisk:
    """A mounted tmpfs with the files that were in the folder."""

    def __init__(self, folder, megabytes):
        self.folder = folder
        kept = folder.with_name(f"{folder.name}.kept")
        folder.rename(kept)
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            folder.rmdir()
            kept.rename(folder)
            raise Unavailable(f"no disk can be mounted: {getattr(error, 'stderr', error)}".strip()) from error
        subprocess.run(["cp", "-a", f"{kept}/.", folder], check=True)
        shutil.rmtree(kept)

    @contextlib.contextmanager
    def filled(self):
        path = self.folder / "filled"
        try:
            with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(64 * 1024))
            yield
        finally:
            path.unlink()

    def unmount(self):
        """Processes that still use its files keep them until they end."""
        subprocess.run(["umount", "--lazy", self.folder], check=True)
