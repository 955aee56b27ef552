// The page: tabs, and the Workers behind them.
import { Client } from "../lib/client.js";
import { SETS } from "../lib/kernels.js";
import { startWorksheets } from "./worksheets.js";
import { startPlayground } from "./playground.js";
import { startModel } from "./model.js";
import { startTraining } from "./train.js";
import { startCells } from "./cells.js";

const address = (name) => new URL(name, document.baseURI);
const fetched = new Map();

/** What scripts/web-single put into the page, if this is the page in one file: files in base64, and the Worker. */
const packed = /** @type {any} */ (globalThis).packed;

/** The bytes of a file of the page, fetched once. @param {string} name @returns {Promise<ArrayBuffer>} */
export function load(name) {
  if (packed && !fetched.has(name))
    fetched.set(name, Promise.resolve(Uint8Array.from(atob(packed.files[name]), (character) => character.charCodeAt(0)).buffer));
  if (!fetched.has(name))
    fetched.set(name, fetch(address(name)).then((answer) => {
      if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
      return answer.arrayBuffer();
    }));
  return fetched.get(name);
}

/** attend.wasm, compiled while it arrives, once for all Workers. */
let compiled = null;
function wasm() {
  const whole = () => load("attend.wasm").then((bytes) => WebAssembly.compile(bytes));
  // A server that does not send application/wasm gets the slower way.
  compiled ??= packed || !WebAssembly.compileStreaming ? whole() : WebAssembly.compileStreaming(fetch(address("attend.wasm"))).catch(whole);
  return compiled;
}

/** Only the best kernels that this engine validates are fetched: a function with one instruction of each set is enough to know. */
const PROBES = {
  relaxed: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 17, 65, 0, 253, 17, 65, 0, 253, 17, 253, 133, 2, 11],
  simd: [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 17, 11],
};

async function kernels() {
  const set = SETS.find((name) => WebAssembly.validate(new Uint8Array(PROBES[name])));
  return set ? { [set]: await load(`kernels-${set}.wasm`) } : {};
}

/** Tells the visitor something that needs no answer. */
export function notice(text) {
  const place = /** @type {HTMLElement} */ (document.getElementById("notice"));
  place.hidden = text === "";
  place.textContent = text;
}

function newWorker() {
  if (!packed) return new Worker(address("lib/worker.js"), { type: "module" });
  return new Worker(URL.createObjectURL(new Blob([packed.worker], { type: "text/javascript" })));
}

/** A Worker of its own with the library in it. @param {(reason: string) => void} [onRestart] */
export function connect(onRestart) {
  return new Client({
    worker: newWorker,
    wasm,
    kernels,
    onRestart: (reason) => {
      notice(`The computation was started again: ${reason}. Nothing that you typed is lost.`);
      onRestart?.(reason);
    },
  });
}

// ---- tabs

const tabs = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[role="tab"]')]);

export function select(name) {
  for (const tab of tabs) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    /** @type {HTMLElement} */ (document.getElementById(tab.getAttribute("aria-controls") ?? "")).hidden = !chosen;
  }
  document.dispatchEvent(new CustomEvent("tab", { detail: name }));
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => select(tab.getAttribute("aria-controls")));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    select(next.getAttribute("aria-controls"));
    next.focus();
  });
}

// ---- start

const worksheets = startWorksheets({ connect, load, notice });
startPlayground({ client: worksheets.client, openSheet });
startModel({ connect, load, notice, select, openSheet });
startTraining({ connect, notice });
startCells({ connect, load, notice });

/** Opens a text in the first tab, with files that it loads. */
function openSheet(text, name, files) {
  worksheets.open(text, name, files);
  select("worksheets");
}

worksheets.client.ready.then(
  ({ version, cpu }) => (/** @type {HTMLElement} */ (document.getElementById("about")).textContent = `version ${version}, kernels: ${cpu}`),
  (error) => notice(`The page could not be started: ${error.message}`));
