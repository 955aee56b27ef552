// The page: tabs, and the Workers behind them.
import { Client } from "../lib/client.js";
import { kernels, load, newWorker, wasm } from "./start.js";
import { startWorksheets } from "./worksheets.js";
import { startPlayground } from "./playground.js";
import { startModel } from "./model.js";
import { startTraining } from "./train.js";
import { startCells } from "./cells.js";

/** Tells the visitor something that needs no answer. */
export function notice(text) {
  const place = /** @type {HTMLElement} */ (document.getElementById("notice"));
  place.hidden = text === "";
  place.textContent = text;
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
startModel({ connect, load, select, openSheet });
startTraining({ connect, notice });
startCells({ connect, load });

/** Opens a text in the first tab, with files that it loads. */
function openSheet(text, name, files) {
  worksheets.open(text, name, files);
  select("worksheets");
}

worksheets.client.ready.then(
  ({ version, cpu }) => (/** @type {HTMLElement} */ (document.getElementById("about")).textContent = `version ${version}, kernels: ${cpu}`),
  (error) => notice(`The page could not be started: ${error.message}`));
