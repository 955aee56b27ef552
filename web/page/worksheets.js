// Tab 1: a worksheet, worked out as one types.
import { Editor } from "./editor.js";
import { choose, download, size } from "./files.js";
import { describe, problem, show } from "./render.js";

const KEPT = "attend-sheet";
const MAX_BYTES = 1e6;
const EXTENSIONS = { html: "html", latex: "tex", markdown: "md", text: "txt", json: "json" };
const FUNCTIONS = `attention softmax sparsemax entmax sigmoid tanh relu exp log sqrt sum mean max min transpose expect
  plot label heading load given ask hint detail precision random zeros ones identity concat layernorm linear multihead
  positional onehot topk argmax norm cosine gradient`.split(/\s+/);

const FOLDS = ".fold>summary{cursor:pointer;color:var(--soft);font-size:.88rem;margin:.3rem 0}";

const get = (id) => /** @type {any} */ (document.getElementById(id));

/** Text as a part of an address, and back. */
export function toLink(text) {
  const bytes = new TextEncoder().encode(text);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function fromLink(word) {
  const binary = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
}

/** Lays out a formula while the Worker starts: a browser looks for fonts only when they are needed, and takes long. */
function lookUpFonts() {
  const make = (tag, ...children) => {
    const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
    made.append(...children);
    return made;
  };
  const formula = make("math", make("msqrt", make("mi", "x")), make("mo", "="), make("mn", "1"));
  formula.classList.add("unseen");
  document.body.append(formula);
  formula.getBoundingClientRect();
  formula.remove();
}

/** How the element in row r and column c of a value is computed, as the library wrote it; or null. */
export function derivationOf(value, calculations, r, c) {
  if (!value || !calculations?.length) return null;
  const columns = value.cols;
  const row = calculations.filter((entry) => (entry.row ?? 1) === r + 1);
  const found = row.length === columns ? row[c] : row.length === 1 ? row[0] : calculations[r * columns + c];
  return found ? `${found.left} = ${found.right} = ${found.value?.data?.map((line) => line.join(" ")).join("; ") ?? ""}` : null;
}

/** The scores behind a map that `plot` drew, from the trace of the sheet; undefined where it is no map of attention. */
export function scoresOf(steps, plot, panel) {
  const [, name, head] = plot.formula.match(/^([\p{L}_][\p{L}\p{N}_]*)(?:\.head\[(\d+)\])?(?:\.weights)?$/u) ?? [];
  const made = steps.filter((step) => step.name === name && step.parts && step.line < plot.line).at(-1);
  const found = made?.parts.filter((part) => part.name === "scores") ?? [];
  return (found.find((part) => part.head === (head ? Number(head) : panel + 1)) ?? (found.length === 1 ? found[0] : undefined))?.value;
}

export function startWorksheets({ connect, load, notice }) {
  const client = connect(() => write(files)); // a new Worker has none of the files that the sheet loads
  const editor = new Editor(get("editor"), { label: "Worksheet", onChange: changed, words: FUNCTIONS,
    onTooLarge: (length) => notice(`What you pasted has ${size(length)} and was left out: this page takes sheets of up to 1 MB; the program attend takes larger ones.`) });
  let name = "sheet.att", folder = "/", running = false, again = false, timer = 0, trace = null;
  const folded = new Set();
  let examples = [], files = {}, drawnOnce = () => {}; // what can wait for the first sheet
  const firstSheet = new Promise((resolve) => (drawnOnce = () => resolve(undefined)));

  function keep() {
    if (editor.value.length > MAX_BYTES) return; // more than a browser keeps; what was kept before stays
    try {
      localStorage.setItem(KEPT, JSON.stringify({ name, text: editor.value }));
    } catch {
      notice("This browser keeps nothing: what you type is lost when the page is closed.");
    }
  }

  function changed() {
    keep();
    clearTimeout(timer);
    timer = setTimeout(compute, 120);
  }

  function fail(error) {
    problem(get("sheet-problem"), error);
    get("sheet-failures").replaceChildren();
    editor.mark(error.line ?? 0, error.column ?? 1, error.message);
    get("sheet-checks").textContent = "The sheet below is the last one without an error.";
  }

  function succeed({ output, checks, failures }) {
    problem(get("sheet-problem"), null);
    const first = failures[0];
    editor.mark(first?.line ?? 0, first?.column || 1, first?.message ?? "");
    get("sheet-failures").replaceChildren(...failures.map((failure) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.textContent = describe(failure);
      button.addEventListener("click", () => editor.goTo(failure.line));
      item.append(button);
      return item;
    }));
    get("sheet-checks").textContent = checks === 0 ? "This sheet expects nothing." : checks === 1 ? `The one check ${failures.length ? "fails" : "holds"}.` :
      failures.length === 0 ? `All ${checks} checks hold.` : `${failures.length} of ${checks} checks fail.`;
    const body = show(get("sheet-output"), output, FOLDS);
    for (const section of body.querySelectorAll("section.step")) fold(section);
    return body;
  }

  /** The steps of a result in a box that folds; what was folded stays so while one types. */
  function fold(section) {
    const parts = [...section.querySelectorAll(":scope > .part")];
    if (!parts.length) return;
    const box = document.createElement("details"), summary = document.createElement("summary");
    box.className = "fold";
    summary.textContent = parts.length === 1 ? "1 step" : `${parts.length} steps`;
    box.open = !folded.has(section.id);
    parts[0].before(box);
    box.append(summary, ...parts);
    box.addEventListener("toggle", () => (box.open ? folded.delete(section.id) : folded.add(section.id)));
  }

  /** One computation at a time; what was typed meanwhile is computed next. */
  async function compute() {
    if (running) return void (again = true);
    if (editor.value.length > MAX_BYTES)
      return fail(new Error(`the sheet has ${size(editor.value.length)}: this page takes sheets of up to 1 MB; the program attend takes larger ones`));
    running = true;
    const params = { text: editor.value, name, folder, detail: get("sheet-detail").value };
    const slow = setTimeout(() => get("sheet-checks").textContent = "working …", 1000);
    try {
      const worked = await client.call("sheet", { ...params, format: "html" });
      clearTimeout(slow);
      const body = succeed(worked);
      if (!performance.getEntriesByName("first-map").length) performance.mark("first-map");
      trace = JSON.parse((await client.call("sheet", { ...params, format: "json" })).output).sheets[0];
      attachDerivations(body);
    } catch (error) {
      fail(error);
    }
    clearTimeout(slow);
    drawnOnce();
    running = false;
    if (again) {
      again = false;
      compute();
    }
  }

  // ---- where a number comes from

  /** Cells of result tables tell how they are computed, when pointed at or focused. */
  function attachDerivations(body) {
    for (const section of body.querySelectorAll("section.step")) {
      const step = trace?.steps[Number(section.id.split("-")[1]) - 1];
      if (!step) continue;
      const parts = [...section.querySelectorAll(":scope > .fold > .part")];
      parts.forEach((part, i) => attachTable(part.querySelector("table.matrix"), step.parts?.[i]));
      if (parts.length === 0) attachTable(section.querySelector("table.matrix"), step);
      if (step.kind === "plot") attachMap(section, step);
    }
  }

  /** Cells of a map tell query, key, score and weight. */
  function attachMap(section, step) {
    const tell = (text) => (get("sheet-derivation").textContent = text);
    const panels = [...new Set([...section.querySelectorAll("rect[data-query]")].map((cell) => cell.parentElement))];
    panels.forEach((panel, index) => {
      const cells = [...panel.querySelectorAll("rect[data-query]")], scores = scoresOf(trace.steps, step, index);
      const places = (name) => [...new Set(cells.map((cell) => Number(cell.getAttribute(name))))].sort((a, b) => a - b);
      const [rows, columns] = [places("y"), places("x")];
      for (const cell of cells) {
        const score = scores?.data[rows.indexOf(Number(cell.getAttribute("y")))]?.[columns.indexOf(Number(cell.getAttribute("x")))];
        const { query, key, value } = cell.dataset;
        const text = `query “${query}”, key “${key}”: ${score === undefined ? "" : `score ${Number(score.toPrecision(6))}, `}weight ${value}`;
        cell.querySelector("title").textContent = text;
        cell.addEventListener("pointerenter", () => tell(text));
      }
    });
  }

  function attachTable(table, result) {
    if (!table || !result) return;
    [...table.querySelectorAll("tbody tr")].forEach((row, r) => {
      [...row.querySelectorAll("td:not(.open):not(.close)")].forEach((cell, c) => {
        const text = derivationOf(result.value, result.calculations ?? result.derivation?.at(-1)?.calculations, r, c);
        if (!text) return;
        cell.tabIndex = 0;
        const tell = () => (get("sheet-derivation").textContent = text);
        cell.addEventListener("pointerenter", tell);
        cell.addEventListener("focus", tell);
      });
    });
  }

  // ---- files, links, export

  function open(text, newName = "sheet.att", loaded = null) {
    name = newName;
    folded.clear();
    editor.value = text;
    keep();
    files = { ...files, ...loaded };
    if (loaded) write(loaded);
    else compute();
  }

  const write = (contents) => client.call("filesystem", { write: contents }).then(compute, fail);

  async function openFile(file) {
    if (file.size > MAX_BYTES)
      return notice(`${file.name} has ${size(file.size)}: this page takes sheets of up to 1 MB; the program attend takes larger ones.`);
    open(await file.text(), file.name);
  }

  async function exportAs(format) {
    if (format === "print") return window.print();
    if (!EXTENSIONS[format]) return;
    try {
      const { output } = await client.call("sheet", { text: editor.value, name, folder, format, detail: get("sheet-detail").value });
      download(name.replace(/\.att$/, "") + "." + EXTENSIONS[format], output, "text/plain;charset=utf-8");
    } catch (error) {
      fail(error);
    }
  }

  async function copyLink() {
    const address = new URL(location.href);
    address.hash = `sheet=${toLink(editor.value)}`;
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address.href);
      notice("The link is copied. It contains the whole sheet.");
    } catch {
      notice("The link with the sheet is now in the address bar.");
    }
  }

  async function listExamples() {
    examples = JSON.parse(new TextDecoder().decode(await load("examples/index.json")));
    get("sheet-examples").append(...examples.map((example) => new Option(example.title, example.name)));
  }

  async function openExample(example) {
    if (!example) return;
    open(new TextDecoder().decode(await load(`examples/${example}`)), example, await filesOf(example));
  }

  /** The files that an example loads, or null. */
  async function filesOf(example) {
    const names = examples.find((row) => row.name === example)?.files;
    return names ? Object.fromEntries(await Promise.all(names.map(async (file) => [file, new Uint8Array(await load(`examples/${file}`))]))) : null;
  }

  function startText() {
    const shared = location.hash.match(/^#sheet=([\w-]*)$/)?.[1];
    if (shared !== undefined) {
      try {
        return open(fromLink(shared), "shared.att");
      } catch {
        notice("The link is damaged: it does not contain a sheet.");
      }
    }
    try {
      const kept = JSON.parse(localStorage.getItem(KEPT) ?? "null");
      if (kept?.text) return open(kept.text, kept.name);
    } catch { /* nothing was kept */ }
    return openExample("h01-dot.att");
  }

  get("sheet-examples").addEventListener("change", (event) => openExample(event.target.value).catch(fail));
  get("sheet-open").addEventListener("click", () => choose(".att,.txt", openFile));
  get("sheet-save").addEventListener("click", () => download(name, editor.value, "text/plain;charset=utf-8"));
  get("sheet-link").addEventListener("click", copyLink);
  get("sheet-export").addEventListener("change", (event) => {
    exportAs(event.target.value);
    event.target.value = "";
  });
  get("sheet-detail").addEventListener("change", compute);
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    event.preventDefault();
    if (file && /\.(att|txt)$/.test(file.name) && !get("worksheets").hidden) openFile(file);
  });
  /** A sheet that was kept may be an example with files. */
  const reopenFiles = async () => {
    const found = await filesOf(name);
    files = { ...files, ...found };
    if (found) await write(found);
  };
  firstSheet.then(listExamples).then(reopenFiles).catch((error) => notice(`The list of examples could not be read: ${error.message}`));
  Promise.resolve(startText()).catch(fail);
  lookUpFonts();
  return { client, open };
}
