"""Hides things from a command before it begins, as process 1 of namespaces made for it.

Called by `enter` as `python -I -S enter.py [WORD VALUE]… -- COMMAND…`. A command that ends in `.py`
is a module whose `main` is called in this very interpreter; `check` tells whether the veil holds.
The words:

    hide DIR    is an empty folder that cannot be written to
    blank FILE  is an empty file
    freeze DIR  can be read, and not written to
    keep PATH   is there all the same, although it lies in a hidden folder
    stand DIR   is where the command begins
    own IDS     `all` for root, else `UID:GID`: whom the command belongs to, without the right to
                take the veil away; left out when that is taken care of

What is only noted: `hidden DIR` and `kept PATH`, for `check`, when bubblewrap has hidden and kept
them already; `door SOCKET`, for `inside`, which reads it from this command line.
"""

# Every step waits for these imports, as it does for those of the warden.
# ruff: noqa: PTH103, PTH112, PTH120, PTH123, PTH208
import _ctypes
import os
import sys

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
# nosuid, nodev, noexec, noatime, nodiratime, relatime: as statvfs tells and as mount takes them.
_LASTING = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 2097152}
MNT_DETACH = 2
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SIGKILL = 9
# What root could write to make the kernel start a program outside.
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")

_WORDS = ("hide", "blank", "freeze", "keep", "stand", "own", "hidden", "kept", "door")

_Plan = dict[str, list[str]]


def main() -> None:
    cut = sys.argv.index("--")
    plan, command = _read(sys.argv[1:cut]), sys.argv[cut + 1 :]
    if os.getpid() != 1:  # what follows would hide things from the whole machine
        sys.exit("The step could not be isolated: it has no process namespace of its own.")
    try:
        _hide(plan)
        for folder in plan["stand"]:
            os.chdir(folder)  # again: the one we stand in may be the one beneath the veil
        for ids in plan["own"]:
            _seal(ids)
        # Whoever made the namespaces waits outside; killing that one must end all in here.
        _call("prctl", PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if command == ["check"]:
            _check(plan)
            return
    except OSError as error:
        sys.exit(f"The step could not be isolated: {error}.")
    _become(command)


def _read(words: list[str]) -> _Plan:
    plan: _Plan = {name: [] for name in _WORDS}
    for name, value in zip(words[::2], words[1::2], strict=True):
        plan[name].append(value)
    return plan


def _hide(plan: _Plan) -> None:
    kept = [(path, os.open(path, os.O_PATH)) for path in plan["keep"]]
    for folder in plan["hide"]:
        _mount("tmpfs", folder, MS_NOSUID | MS_NODEV | MS_NOEXEC, "tmpfs", "size=4k,mode=0755")
    for path, file in kept:
        _make_place(path, file)
        _mount(f"/proc/self/fd/{file}", path, MS_BIND | MS_REC)
        os.close(file)
    for path in plan["freeze"]:
        _mount(path, path, MS_BIND | MS_REC)
        # What the mount beneath forbids has to stay forbidden, or the kernel refuses.
        there = os.statvfs(path).f_flag
        lasting = sum(flag for told, flag in _LASTING.items() if there & told)
        _mount(path, path, MS_REMOUNT | MS_BIND | MS_RDONLY | lasting)
    for path in plan["blank"]:
        _mount(os.devnull, path, MS_BIND)
    for path in plan["hide"]:
        _mount("tmpfs", path, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if plan["own"] == ["all"]:
        for path in filter(os.path.exists, _KERNEL):
            _mount(path, path, MS_BIND | MS_REC)
            _mount(path, path, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _make_place(path: str, file: int) -> None:
    """Something to mount on: a folder or a file, as what is mounted."""
    if os.path.isdir(f"/proc/self/fd/{file}"):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))


def _seal(ids: str) -> None:
    """Leave the mounts to a namespace above, so that nothing below can undo them."""
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if ids == "all":
        _seal_as_root()
        return
    uid, gid = ids.split(":")
    outer_uid, outer_gid = os.getuid(), os.getgid()
    _call("unshare", CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {outer_uid} 1")
    _write("/proc/self/gid_map", f"{gid} {outer_gid} 1")


def _seal_as_root() -> None:
    """Root keeps every user it knows, so files of others stay what they are."""
    maps = {name: _same(f"/proc/self/{name}") for name in ("uid_map", "gid_map")}
    veiled, (reading, writing) = os.getpid(), os.pipe()
    helper = os.fork()
    if helper == 0:  # only from outside the new namespace may all of them be written
        os.read(reading, 1)
        for name, lines in maps.items():
            _write(f"/proc/{veiled}/{name}", lines)
        os._exit(0)
    _call("unshare", CLONE_NEWUSER)
    os.write(writing, b"!")
    os.close(reading)
    os.close(writing)
    if os.waitpid(helper, 0)[1]:
        raise OSError("its users cannot be mapped")


def _same(file: str) -> str:
    with open(file) as lines:
        ranges = [line.split() for line in lines]
    return "".join(f"{first} {first} {count}\n" for first, _, count in ranges)


def _check(plan: _Plan) -> None:
    """Whether the veil does what it is for."""
    kept = [path.split("/") for path in plan["keep"] + plan["kept"]]
    for folder in plan["hide"] + plan["hidden"]:
        depth = len(folder.split("/"))
        if set(os.listdir(folder)) - {path[depth] for path in kept if len(path) > depth}:
            raise OSError(f"{folder} can be seen")
        if _called("umount2", folder.encode(), MNT_DETACH) == 0:
            raise OSError(f"{folder} can be uncovered")
    if [name for name in os.listdir("/proc") if name.isdigit()] != ["1"]:
        raise OSError("other processes can be seen")


def _become(command: list[str]) -> None:
    if not command[0].endswith(".py"):
        os.execvp(command[0], command)  # noqa: S606 - without a shell on purpose
    sys.argv = command
    folder, _, name = command[0].rpartition("/")
    sys.path[0] = folder
    __import__(name.removesuffix(".py")).main()


def _mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    words = (source.encode(), os.fsencode(target), kind.encode() or None, flags)
    if _called("mount", *words, options.encode() or None) != 0:
        raise OSError(f"{target} cannot be mounted")


def _call(name: str, *words: int) -> None:
    if _called(name, *words) != 0:
        raise OSError(f"{name} is not permitted")


def _called(name: str, *words: int | bytes | None) -> int:
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    return int(_ctypes.call_function(address, words))


def _write(file: str, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
