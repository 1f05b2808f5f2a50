"""Whether a directory lies on a disk of this machine or on a file system that several machines share."""

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

_LOCAL = frozenset(
    [
        "apfs",
        "aufs",
        "bcachefs",
        "btrfs",
        "exfat",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "fuseblk",
        "hfs",
        "hfsplus",
        "jfs",
        "msdos",
        "ntfs",
        "ntfs3",
        "overlay",
        "ramfs",
        "reiserfs",
        "rootfs",
        "tmpfs",
        "ufs",
        "vfat",
        "xfs",
        "zfs",
    ]
)
"""Types of file systems of one machine; any other may be shared."""


def is_shared(path: str | Path) -> bool:
    """Return whether other machines may use the file system of an existing path; False if the system does not tell.

    Example:
        >>> is_shared("/")
        False
    """
    kind = file_system(path)
    return kind is not None and kind not in _LOCAL


def file_system(path: str | Path) -> str | None:
    """Return the type of a path's file system, such as "ext4" or "nfs4"; None if the system does not tell."""
    try:
        lines = MOUNTS.read_text().splitlines()
    except OSError:
        return None
    place = os.path.realpath(path)
    kind = None
    longest = -1
    for line in lines:
        fields, _, source = line.partition(" - ")
        mount = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
        within = place == mount or place.startswith(mount.rstrip("/") + "/")
        if within and len(mount) >= longest:  # the last mount at a place hides those before
            kind = source.split(" ")[0]
            longest = len(mount)
    return kind
