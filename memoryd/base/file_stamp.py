"""What the file system says about a file: enough to tell whether it is still the same one."""

import msgspec

Identity = tuple[int, int]


class FileStamp(msgspec.Struct, frozen=True, gc=False):
    """Device, inode, size and times. In a cursor, `size` is how far the file has been read."""

    device: int = 0
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0

    @property
    def identity(self) -> Identity:
        return self.device, self.inode
