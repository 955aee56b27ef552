// What takes longest is begun first, before the rest of the page is there: attend.wasm, the kernels, and the
// Worker of the first tab. Imports nothing, so that it runs as soon as it has arrived.

const address = (name) => new URL(name, document.baseURI);
const fetched = new Map();

/** What scripts/web-single put into the page, if this is the page in one file: files in base64, and the Worker. */
const packed = /** @type {any} */ (globalThis).packed;

/** The bytes of a file of the page, fetched once. @param {string} name @returns {Promise<ArrayBuffer>} */
export function load(name) {
  if (packed && !fetched.has(name))
    fetched.set(name, Promise.resolve(Uint8Array.from(atob(packed.files[name]), (character) => character.charCodeAt(0)).buffer));
  if (!fetched.has(name)) {
    const bytes = fetch(address(name)).then((answer) => {
      if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
      return answer.arrayBuffer();
    });
    bytes.catch(() => fetched.delete(name)); // the next one who asks tries again
    fetched.set(name, bytes);
  }
  return fetched.get(name);
}

/** attend.wasm, compiled while it arrives, once for all Workers. */
let compiled = null;
export function wasm() {
  const whole = () => load("attend.wasm").then((bytes) => WebAssembly.compile(bytes));
  // A server that does not send application/wasm gets the slower way.
  compiled ??= packed || !WebAssembly.compileStreaming ? whole() : WebAssembly.compileStreaming(fetch(address("attend.wasm"))).catch(whole);
  return compiled;
}

/** The sets of kernels, the fastest first, each with a function of one of its instructions: only the first set that this
 * engine validates is fetched. */
const PROBES = {
  relaxed: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 17, 65, 0, 253, 17, 65, 0, 253, 17, 253, 133, 2, 11],
  simd: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 17, 11],
};

export async function kernels() {
  const set = Object.keys(PROBES).find((name) => WebAssembly.validate(new Uint8Array(PROBES[name])));
  return set ? { [set]: await load(`kernels-${set}.wasm`) } : {};
}

function makeWorker() {
  if (!packed) return new Worker(address("lib/worker.js"), { type: "module" });
  return new Worker(URL.createObjectURL(new Blob([packed.worker], { type: "text/javascript" })));
}

/** The first Worker, until somebody takes it; null if it could not be started: whoever asks for one then tries again. */
let first = makeWorker();
first.onerror = (event) => {
  event.preventDefault();
  first = null;
};

export function newWorker() {
  const worker = first ?? makeWorker();
  first = null;
  return worker;
}

// Who waits for these later gets the same promises, and their errors.
for (const early of [wasm(), kernels()]) early.catch(() => {});
