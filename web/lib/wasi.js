// The part of WASI (preview 1) that libattend needs, with files in memory. The whole file system is
// one Map from absolute paths to bytes; a folder exists where a file lies below it. Nothing here
// reaches the network, the disk or another tab.

const OK = 0, BADF = 8, EXIST = 20, INVAL = 28, ISDIR = 31, NOENT = 44, NOSYS = 52, NOTDIR = 54, ROFS = 69;
const FILETYPE = { directory: 3, file: 4, character: 2 };
const OFLAGS = { create: 1, directory: 2, exclusive: 4, truncate: 8 };
const ROOT_FD = 3;

/** Thrown where the module ends itself, which the library never does on purpose. */
export class Exit extends Error {
  constructor(code) {
    super(`the module called exit(${code})`);
    this.code = code;
  }
}

/** "a/../b//c" as "/b/c". */
function normalize(path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return "/" + parts.join("/");
}

/** Files in memory. */
export class MemoryFiles {
  constructor() {
    /** @type {Map<string, {bytes: Uint8Array, size: number, time: bigint, inode: bigint}>} */
    this.files = new Map();
    this.inodes = 1n;
    this.clock = 0n;
  }

  /** @param {string} path @param {Uint8Array | string} contents */
  write(path, contents) {
    const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
    this.files.set(normalize(path), { bytes, size: bytes.length, time: ++this.clock, inode: ++this.inodes });
  }

  /** @param {string} path @returns {Uint8Array | undefined} */
  read(path) {
    const file = this.files.get(normalize(path));
    return file && file.bytes.slice(0, file.size);
  }

  /** @param {string} path */
  remove(path) {
    return this.files.delete(normalize(path));
  }

  /** Paths of all files. */
  list() {
    return [...this.files.keys()].sort();
  }

  isFolder(path) {
    const prefix = path === "/" ? "/" : path + "/";
    return path === "/" || this.list().some((name) => name.startsWith(prefix));
  }

  /** Names of what lies in a folder. */
  entries(path) {
    const prefix = path === "/" ? "/" : path + "/";
    const names = this.list().filter((name) => name.startsWith(prefix));
    return [...new Set(names.map((name) => name.slice(prefix.length).split("/")[0]))];
  }
}

/** Makes room for `size` bytes in a file. */
function grow(file, size) {
  if (size <= file.bytes.length) return;
  const bigger = new Uint8Array(Math.max(size, 2 * file.bytes.length, 1024));
  bigger.set(file.bytes.subarray(0, file.size));
  file.bytes = bigger;
}

/** The imports of a module that uses WASI. `bind` gives it the memory once there is one. */
export class Wasi {
  /** @param {{files?: MemoryFiles, environment?: Record<string, string>, onText?: (fd: number, text: string) => void}} [options] */
  constructor({ files = new MemoryFiles(), environment = {}, onText = () => {} } = {}) {
    this.files = files;
    this.environment = Object.entries(environment).map(([key, value]) => `${key}=${value}\0`);
    this.onText = onText;
    this.open = new Map();
    this.memory = /** @type {WebAssembly.Memory} */ (/** @type {unknown} */ (null));
  }

  /** @param {WebAssembly.Memory} memory */
  bind(memory) {
    this.memory = memory;
  }

  get view() {
    return new DataView(this.memory.buffer);
  }

  text(pointer, length) {
    return new TextDecoder().decode(new Uint8Array(this.memory.buffer, pointer, length));
  }

  path(fd, pointer, length) {
    const folder = fd === ROOT_FD ? "/" : this.open.get(fd)?.folder;
    return folder === undefined ? undefined : normalize(folder + "/" + this.text(pointer, length));
  }

  newFd(entry) {
    let fd = ROOT_FD + 1;
    while (this.open.has(fd)) fd++;
    this.open.set(fd, entry);
    return fd;
  }

  writeStat(pointer, type, file) {
    const view = this.view;
    view.setBigUint64(pointer, 1n, true);
    view.setBigUint64(pointer + 8, file?.inode ?? 1n, true);
    view.setBigUint64(pointer + 16, BigInt(type), true);
    view.setBigUint64(pointer + 24, 1n, true);
    view.setBigUint64(pointer + 32, BigInt(file?.size ?? 0), true);
    for (const at of [40, 48, 56]) view.setBigUint64(pointer + at, file?.time ?? 0n, true);
    return OK;
  }

  /** The buffers of a list of (pointer, length) pairs. */
  buffers(pointer, count) {
    const view = this.view, found = [];
    for (let i = 0; i < count; i++) {
      const start = view.getUint32(pointer + 8 * i, true), size = view.getUint32(pointer + 8 * i + 4, true);
      found.push(new Uint8Array(this.memory.buffer, start, size));
    }
    return found;
  }

  readAt(file, position, pointer, count, result) {
    let done = 0;
    for (const buffer of this.buffers(pointer, count)) {
      const part = file.bytes.subarray(position + done, Math.min(file.size, position + done + buffer.length));
      buffer.set(part);
      done += part.length;
      if (part.length < buffer.length) break;
    }
    this.view.setUint32(result, done, true);
    return done;
  }

  openPath(fd, path, flags, result) {
    if (path === undefined) return BADF;
    const found = this.files.files.get(path);
    if (!found && this.files.isFolder(path)) {
      this.view.setUint32(result, this.newFd({ folder: path, position: 0 }), true);
      return OK;
    }
    if (flags & OFLAGS.directory) return found ? NOTDIR : NOENT;
    if (!found && !(flags & OFLAGS.create)) return NOENT;
    if (found && flags & OFLAGS.exclusive) return EXIST;
    if (!found || flags & OFLAGS.truncate) this.files.write(path, new Uint8Array(0));
    const file = this.files.files.get(path);
    this.view.setUint32(result, this.newFd({ file, position: 0 }), true);
    return OK;
  }

  seek(entry, offset, whence, result) {
    const base = [0, entry.position, entry.file.size][whence] ?? 0;
    const position = base + Number(offset);
    if (position < 0) return INVAL;
    entry.position = position;
    this.view.setBigUint64(result, BigInt(position), true);
    return OK;
  }

  write(fd, pointer, count, result) {
    const parts = this.buffers(pointer, count), entry = this.open.get(fd);
    const total = parts.reduce((sum, part) => sum + part.length, 0);
    if (fd === 1 || fd === 2) {
      for (const part of parts) this.onText(fd, new TextDecoder().decode(part));
    } else if (!entry?.file) {
      return BADF;
    } else {
      grow(entry.file, entry.position + total);
      for (const part of parts) {
        entry.file.bytes.set(part, entry.position);
        entry.position += part.length;
      }
      entry.file.size = Math.max(entry.file.size, entry.position);
      entry.file.time = ++this.files.clock;
    }
    this.view.setUint32(result, total, true);
    return OK;
  }

  /** Entries of a folder: cookie, inode, length of the name, type, and the name. */
  readFolder(entry, pointer, size, cookie, result) {
    const names = this.files.entries(entry.folder), view = this.view;
    let at = 0;
    for (let i = Number(cookie); i < names.length && at < size; i++) {
      const name = new TextEncoder().encode(names[i]), row = new Uint8Array(24 + name.length);
      const header = new DataView(row.buffer);
      header.setBigUint64(0, BigInt(i + 1), true);
      header.setBigUint64(8, 1n, true);
      header.setUint32(16, name.length, true);
      header.setUint8(20, this.files.files.has(normalize(`${entry.folder}/${names[i]}`)) ? FILETYPE.file : FILETYPE.directory);
      row.set(name, 24);
      const part = row.subarray(0, size - at);
      new Uint8Array(this.memory.buffer, pointer + at, part.length).set(part);
      at += part.length;
    }
    view.setUint32(result, at, true);
    return OK;
  }

  rename(from, to) {
    const file = this.files.files.get(from);
    if (!file) return NOENT;
    if (this.files.isFolder(to)) return ISDIR;
    this.files.files.delete(from);
    this.files.files.set(to, file);
    return OK;
  }

  statPath(path, result) {
    if (path === undefined) return BADF;
    const file = this.files.files.get(path);
    if (file) return this.writeStat(result, FILETYPE.file, file);
    return this.files.isFolder(path) ? this.writeStat(result, FILETYPE.directory, null) : NOENT;
  }

  statFd(fd, result) {
    const entry = this.open.get(fd);
    if (fd <= 2) return this.writeStat(result, FILETYPE.character, null);
    if (entry?.file) return this.writeStat(result, FILETYPE.file, entry.file);
    return fd === ROOT_FD || entry ? this.writeStat(result, FILETYPE.directory, null) : BADF;
  }

  fdStatus(fd, result) {
    const entry = this.open.get(fd), bytes = new Uint8Array(this.memory.buffer, result, 24);
    if (fd > ROOT_FD && !entry) return BADF;
    bytes.fill(255); /* every right */
    bytes.fill(0, 0, 8);
    bytes[0] = fd <= 2 ? FILETYPE.character : entry?.file ? FILETYPE.file : FILETYPE.directory;
    return OK;
  }

  strings(list, pointers, buffer) {
    for (const text of list) {
      const bytes = new TextEncoder().encode(text);
      this.view.setUint32(pointers, buffer, true);
      new Uint8Array(this.memory.buffer, buffer, bytes.length).set(bytes);
      pointers += 4;
      buffer += bytes.length;
    }
    return OK;
  }

  stringSizes(list, count, size) {
    this.view.setUint32(count, list.length, true);
    this.view.setUint32(size, list.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0), true);
    return OK;
  }

  /** The functions of "wasi_snapshot_preview1". Those that are not here return ENOSYS. */
  functions() {
    const withFile = (fd, action) => {
      const entry = this.open.get(fd);
      return entry?.file ? action(entry) : entry ? ISDIR : BADF;
    };
    return {
      args_get: () => OK,
      args_sizes_get: (count, size) => this.stringSizes([], count, size),
      environ_get: (pointers, buffer) => this.strings(this.environment, pointers, buffer),
      environ_sizes_get: (count, size) => this.stringSizes(this.environment, count, size),
      clock_time_get: (id, _precision, result) => {
        const milliseconds = id === 0 ? Date.now() : performance.now();
        this.view.setBigUint64(result, BigInt(Math.round(milliseconds * 1e6)), true);
        return OK;
      },
      clock_res_get: (_id, result) => (this.view.setBigUint64(result, 1000n, true), OK),
      random_get: (pointer, size) => {
        for (let at = 0; at < size; at += 65536)
          crypto.getRandomValues(new Uint8Array(this.memory.buffer, pointer + at, Math.min(65536, size - at)));
        return OK;
      },
      proc_exit: (code) => {
        throw new Exit(code);
      },
      sched_yield: () => OK,
      fd_advise: () => OK,
      fd_sync: () => OK,
      fd_datasync: () => OK,
      fd_fdstat_set_flags: () => OK,
      fd_close: (fd) => (this.open.delete(fd) ? OK : BADF),
      fd_fdstat_get: (fd, result) => this.fdStatus(fd, result),
      fd_filestat_get: (fd, result) => this.statFd(fd, result),
      fd_filestat_set_size: (fd, size) =>
        withFile(fd, ({ file }) => (grow(file, Number(size)), (file.size = Number(size)), OK)),
      fd_prestat_get: (fd, result) => {
        if (fd !== ROOT_FD) return BADF;
        this.view.setUint32(result, 0, true);
        this.view.setUint32(result + 4, 1, true);
        return OK;
      },
      fd_prestat_dir_name: (fd, pointer) => (this.view.setUint8(pointer, "/".charCodeAt(0)), fd === ROOT_FD ? OK : BADF),
      fd_read: (fd, pointer, count, result) => {
        if (fd === 0) return (this.view.setUint32(result, 0, true), OK);
        return withFile(fd, (entry) => {
          entry.position += this.readAt(entry.file, entry.position, pointer, count, result);
          return OK;
        });
      },
      fd_pread: (fd, pointer, count, offset, result) =>
        withFile(fd, ({ file }) => (this.readAt(file, Number(offset), pointer, count, result), OK)),
      fd_write: (fd, pointer, count, result) => this.write(fd, pointer, count, result),
      fd_seek: (fd, offset, whence, result) => withFile(fd, (entry) => this.seek(entry, offset, whence, result)),
      fd_tell: (fd, result) => withFile(fd, (entry) => this.seek(entry, 0, 1, result)),
      fd_readdir: (fd, pointer, size, cookie, result) => {
        const entry = fd === ROOT_FD ? { folder: "/" } : this.open.get(fd);
        return entry?.folder ? this.readFolder(entry, pointer, size, cookie, result) : BADF;
      },
      path_open: (fd, _lookup, pointer, length, flags, _rights, _inheriting, _fdflags, result) =>
        this.openPath(fd, this.path(fd, pointer, length), flags, result),
      path_filestat_get: (fd, _lookup, pointer, length, result) => this.statPath(this.path(fd, pointer, length), result),
      path_unlink_file: (fd, pointer, length) => (this.files.remove(this.path(fd, pointer, length) ?? "") ? OK : NOENT),
      path_rename: (fd, from, fromLength, toFd, to, toLength) =>
        this.rename(this.path(fd, from, fromLength), this.path(toFd, to, toLength)),
      path_readlink: () => INVAL,
      path_create_directory: () => ROFS,
    };
  }

  /** All that `module` imports. @param {WebAssembly.Module} module */
  imports(module) {
    const functions = /** @type {Record<string, Function>} */ (this.functions()), needed = {};
    for (const { module: space, name } of WebAssembly.Module.imports(module))
      if (space === "wasi_snapshot_preview1") needed[name] = functions[name] ?? (() => NOSYS);
    return { wasi_snapshot_preview1: needed };
  }
}
