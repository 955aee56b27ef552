"""States that a power failure may leave on disk, from the recorded calls of a process.

The model is what POSIX promises, not what a file system does in practice:

- Data of a file is durable once the file was synced. Of later writes every page may have arrived or
  not, and the new length may have arrived without the data, whose pages then are zeros.
- Entries of a directory (create, rename, link, unlink) are durable once the directory was synced.
  Of later changes any may be lost, but changes of the same entry keep their order. Syncing a file
  does not make its entry durable.
- A rename is atomic.

Where there are too many states, a fixed sample of them is taken.
"""
import itertools
import os
import random

PAGE = 4096
MOST_SUBSETS = 64   # of directory changes that were not synced
PAGE_SAMPLES = 3    # random sets of pages of a file that was not synced


def read_trace(path):
    """The records of record_calls.c as tuples: name, fields, bytes."""
    with open(path, "rb") as file:
        data = file.read()
    records, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, *fields = data[at:end].decode().split("\t")
        at = end + 1
        size = int(fields[2]) if name == "write" else 0
        records.append((name, fields, data[at:at + size]))
        at += size
    return records


class File:
    """Contents with every write, and durable contents."""

    def __init__(self):
        self.now = b""
        self.durable = b""
        self.dirty = False

    def write(self, offset, data):
        padded = self.now.ljust(offset, b"\0")
        self.now = padded[:offset] + data + padded[offset + len(data):]
        self.dirty = True

    def truncate(self, length):
        self.now = self.now[:length].ljust(length, b"\0")
        self.dirty = True

    def sync(self):
        self.durable, self.dirty = self.now, False

    def outcomes(self, chance):
        """Contents that a crash may leave."""
        if not self.dirty:
            return [self.now]
        pages = range((max(len(self.now), len(self.durable)) + PAGE - 1) // PAGE)
        kept = [set(), set(pages), set(pages[:len(pages) // 2]), set(pages[len(pages) // 2:])]
        kept += [{page for page in pages if chance.random() < 0.5} for _ in range(PAGE_SAMPLES)]
        found = {self.durable, self.now, self.now[:len(self.now) // 2 // PAGE * PAGE]}
        return sorted(found | {self.mix(pages, chosen) for chosen in kept})

    def mix(self, pages, chosen):
        """The new length with the chosen pages new and the others old, or zeros where none was."""
        old = self.durable.ljust(len(self.now), b"\0")
        parts = [(self.now if page in chosen else old)[page * PAGE:(page + 1) * PAGE] for page in pages]
        return b"".join(parts)[:len(self.now)]


class Change:
    """A change of directory entries: names to files, or to None where an entry goes."""

    def __init__(self, entries):
        self.entries = entries


class Disk:
    """One folder, as the recorded calls change it."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        self.now = {}        # name: File
        self.durable = {}
        self.pending = []    # changes since the folder was synced
        self.open = {}       # descriptor: File, or "folder"

    def name(self, path):
        """The name in the folder, or None for a file elsewhere."""
        path = os.path.normpath(os.path.join(self.folder, path))
        return os.path.basename(path) if os.path.dirname(path) == self.folder else None

    def change(self, entries):
        self.pending.append(Change(entries))
        apply(self.now, entries)

    def play(self, record):
        """Applies a record; whether it changed what a crash may leave."""
        name, fields, data = record
        return getattr(self, "play_" + name)(data, *fields) is not False

    def play_begin(self, _):
        self.open = {}
        return False

    def play_open(self, _, fd, path, created, truncated):
        name = self.name(path)
        if os.path.normpath(os.path.join(self.folder, path)) == self.folder:
            self.open[fd] = "folder"
        elif name and int(created):
            self.open[fd] = File()
            self.change({name: self.open[fd]})
            return True
        elif name in self.now:
            self.open[fd] = self.now[name]
            if int(truncated):
                self.now[name].truncate(0)
                return True
        return False

    def play_close(self, _, fd):
        self.open.pop(fd, None)
        return False

    def play_write(self, data, fd, offset, _length):
        file = self.open.get(fd)
        if not isinstance(file, File):
            return False
        file.write(int(offset), data)
        return True

    def play_truncate(self, _, fd, length):
        file = self.open.get(fd)
        if not isinstance(file, File):
            return False
        file.truncate(int(length))
        return True

    def play_sync(self, _, fd):
        file = self.open.get(fd)
        if file == "folder":
            self.durable, self.pending = dict(self.now), []
        elif file:
            file.sync()
        return file is not None

    def play_rename(self, _, old, new):
        old, new = self.name(old), self.name(new)
        if old not in self.now:
            return False
        self.change({old: None, new: self.now[old]})
        return True

    def play_link(self, _, old, new):
        self.change({self.name(new): self.now[self.name(old)]})

    def play_unlink(self, _, path):
        name = self.name(path)
        if name not in self.now:
            return False
        self.change({name: None})
        return True

    def entry_outcomes(self, chance):
        """Directories that a crash may leave, each as names and files."""
        count = len(self.pending)
        if 2 ** count <= MOST_SUBSETS:
            choices = itertools.product((False, True), repeat=count)
        else:
            choices = [[chance.random() < 0.5 for _ in range(count)] for _ in range(MOST_SUBSETS - 2)]
            choices += [[False] * count, [True] * count]
        for choice in choices:
            entries = self.apply_changes(choice)
            if entries is not None:
                yield entries

    def apply_changes(self, choice):
        """The durable directory with the chosen changes; None if one lacks an earlier one of its entries."""
        entries, lost = dict(self.durable), set()
        for change, happened in zip(self.pending, choice):
            if not happened:
                lost |= set(change.entries)
            elif lost & set(change.entries):
                return None
            else:
                apply(entries, change.entries)
        return entries

    def crash_states(self, chance):
        """Names and contents of the folder after a crash now. Files vary one at a time, and all together."""
        for entries in self.entry_outcomes(chance):
            names = sorted(entries)
            outcomes = [entries[name].outcomes(chance) for name in names]
            for i, name in enumerate(names):
                for contents in outcomes[i]:
                    yield {**{other: entries[other].now for other in names}, name: contents}
            yield {name: entries[name].durable for name in names}


def apply(entries, changes):
    for name, file in changes.items():
        if file is None:
            entries.pop(name, None)
        else:
            entries[name] = file


class Versions:
    """The contents that a process gave to a file by renames, in order. A save has ended for its caller
    when the next call creates a file, at the latest."""

    def __init__(self, name):
        self.name = name
        self.saved = []
        self.ended = 0

    def note(self, disk, record):
        name, fields, _ = record
        if name == "open" and int(fields[2]) and disk.name(fields[1]) or name == "end":
            self.ended = len(self.saved)
        if name == "rename" and disk.name(fields[1]) == self.name:
            self.saved.append(disk.now[self.name].now)

    def problem(self, state):
        """What is wrong with a state, or None: the file must be the last version whose save ended, or a later one."""
        found = state.get(self.name)
        if found is None:
            return f"{self.name} is missing, although it was saved" if self.ended else None
        if found in self.saved[max(self.ended - 1, 0):]:
            return None
        if found in self.saved:
            return f"{self.name} is an old version, although a newer one was saved"
        return f"{self.name} is no version that was saved: {len(found)} bytes, {found.count(0)} of them zero"


def examine(records, folder, names, visit=lambda state: None, seed=1):
    """All crash states at every point of the trace. Returns their count and the set of problems."""
    disk, versions = Disk(folder), [Versions(name) for name in names]
    chance, count, problems = random.Random(seed), 0, set()
    for record in [*records, ("end", [], b"")]:
        changed = record[0] == "end" or disk.play(record)
        for version in versions:
            version.note(disk, record)
        for state in disk.crash_states(chance) if changed else []:
            count += 1
            problems |= {version.problem(state) for version in versions} - {None}
            visit(state)
    return count, problems, disk, versions
