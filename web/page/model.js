// Tab 3: a model at work: output, alternatives step by step, attention.
import { choose, size } from "./files.js";
import { problem, show } from "./render.js";

const MAX_BYTES = 500e6;
const SAMPLE = "samples/reverse.safetensors";

const get = (id) => /** @type {any} */ (document.getElementById(id));

export function startModel({ connect, load, notice, select, openSheet }) {
  let client = null, bytes = null, name = "", opened = null, steps = [], at = 0, running = false, again = false;

  function start() {
    client ??= connect(() => bytes && open(bytes, name));
    return client;
  }

  async function open(contents, newName) {
    problem(get("model-problem"), null);
    try {
      const previous = opened;
      const found = await start().call("open", { bytes: contents, name: newName });
      [opened, bytes, name] = [found, contents, newName];
      if (previous) client.call("close", { model: previous.model }).catch(() => {});
      describeModel();
      await update();
    } catch (error) {
      problem(get("model-problem"), error);
    }
  }

  async function openFile(file) {
    if (file.size > MAX_BYTES)
      return problem(get("model-problem"), new Error(`${file.name} has ${size(file.size)}, more than the ${size(MAX_BYTES)} that fit into this page`));
    await open(new Uint8Array(await file.arrayBuffer()), file.name);
  }

  function describeModel() {
    const { type, info, attention } = opened;
    get("model-name").textContent = `${name}: ${type}, ${size(bytes.length)}`;
    get("model-use").hidden = false;
    get("model-info").textContent = JSON.stringify(info, null, 2);
    get("beam-part").hidden = type !== "seq2seq";
    const views = type === "seq2seq" ? [["output", "output to input"]] : [];
    for (const block of ["encoder", "decoder", "cross"]) {
      if (attention[block] === 0) continue;
      views.push([`${block} 0 0`, `${block}: all layers and heads`]);
      for (let layer = 1; layer <= attention[block]; layer++)
        for (let head = 1; head <= attention.heads; head++) views.push([`${block} ${layer} ${head}`, `${block}: layer ${layer}, head ${head}`]);
    }
    get("model-view").replaceChildren(...views.map(([value, text]) => new Option(text, value)));
    if (!get("model-input").value) get("model-input").value = type === "seq2seq" ? "abcddcab" : "";
  }

  function decoding() {
    const how = get("model-decoding").value, number = (id) => Number(get(id).value);
    if (how === "beam") return { beam: 4 };
    if (how === "greedy") return {};
    return { sample: true, temperature: number("model-temperature"), topK: number("model-topk"), topP: number("model-topp"), seed: number("model-seed") };
  }

  // ---- what is shown

  async function showOutput(line) {
    const { type, model } = opened;
    if (type === "lm") {
      const { text } = await client.call("complete", { model, prompt: line, tokens: 60, ...decoding() });
      get("model-output").textContent = line + text;
      return undefined;
    }
    const { output } = await client.call("run", { model, line, ...decoding() });
    const text = output.text ?? output.label ?? (output.labels ?? []).join(" ");
    get("model-output").textContent = text;
    return output;
  }

  /** Bars of one prediction of a classifier, or of one step of an output. */
  function bars(title, rows, chosen, current) {
    const box = document.createElement("div");
    box.className = current ? "step now" : "step";
    const heading = document.createElement("div");
    heading.textContent = title;
    box.append(heading, ...rows.map(([token, probability]) => {
      const row = document.createElement("div"), meter = document.createElement("div"), filled = document.createElement("div");
      row.className = token === chosen ? "alternative chosen" : "alternative";
      const parts = ["token", "number"].map((kind) => Object.assign(document.createElement("span"), { className: kind, dir: "auto" }));
      parts[0].textContent = token;
      parts[1].textContent = `${(100 * probability).toFixed(1)} %`;
      meter.className = "bar-of";
      filled.style.width = `${100 * probability}%`;
      meter.append(filled);
      row.append(parts[0], meter, parts[1]);
      return row;
    }));
    return box;
  }

  async function showSteps(line, output) {
    const { type, model } = opened;
    if (type === "classifier") {
      steps = [{ token: output.label, rows: Object.entries(output.probabilities ?? {}) }];
    } else if (type === "seq2seq" || type === "lm") {
      const found = await client.call("alternatives", { model, line, target: type === "seq2seq" ? output.text : undefined, count: 5 });
      steps = found.steps.map((step) => ({ token: step.token, rows: step.alternatives.map((entry) => [entry.token, entry.probability]) }));
    } else steps = [];
    at = Math.min(at, Math.max(0, steps.length - 1));
    drawSteps();
  }

  function drawSteps() {
    get("step-count").textContent = steps.length ? `step ${at + 1} of ${steps.length}` : "";
    get("step-back").disabled = at === 0;
    get("step-forward").disabled = at >= steps.length - 1;
    const said = steps.slice(0, at).map((step) => step.token ?? "").join(" ");
    get("model-steps").replaceChildren(...(steps.length ? [bars(said ? `after “${said}”` : "at the start", steps[at].rows, steps[at].token, true)] : []));
  }

  async function showMap(line, output) {
    const [block, layer, head] = (get("model-view").value || "none").split(" "), { model } = opened, arcs = get("model-arcs").checked;
    get("model-head-sheet").hidden = !(Number(head) > 0);
    if (block === "none") return show(get("model-map"), "<p>This model has no attention to show.</p>");
    if (block === "output") return show(get("model-map"), (await client.call("run", { model, line, arcs, ...decoding() })).map || "<p>This model has no attention.</p>");
    const target = opened.type === "seq2seq" && block !== "encoder" ? output?.text : undefined;
    show(get("model-map"), (await client.call("attentionMap", { model, line, block, layer: Number(layer), head: Number(head), target, arcs })).svg);
  }

  async function showTree(line) {
    if (!get("beam-part").open || opened.type !== "seq2seq") return;
    show(get("model-tree"), (await client.call("beamTree", { model: opened.model, line })).svg);
  }

  async function update() {
    for (const id of ["model-temperature", "model-topk", "model-topp", "model-seed"])
      get(id).parentElement.hidden = get("model-decoding").value !== "sample";
    if (!opened) return;
    if (running) return void (again = true);
    running = true;
    const line = get("model-input").value;
    try {
      const output = await showOutput(line);
      await showSteps(line, output);
      await showMap(line, output);
      await showTree(line);
      problem(get("model-problem"), null);
    } catch (error) {
      problem(get("model-problem"), error);
    }
    running = false;
    if (again) {
      again = false;
      update();
    }
  }

  async function openHeadSheet() {
    const [block, layer, head] = get("model-view").value.split(" ");
    try {
      const { text } = await client.call("headSheet", { model: opened.model, line: get("model-input").value, block, layer: Number(layer), head: Number(head) });
      openSheet(text, "head.att", { [name]: bytes });
    } catch (error) {
      problem(get("model-problem"), error);
    }
  }

  const openSample = async () => open(new Uint8Array(await load(SAMPLE)), "reverse.safetensors");
  for (const id of ["model-input", "model-decoding", "model-temperature", "model-topk", "model-topp", "model-seed", "model-view", "model-arcs"])
    get(id).addEventListener("input", update);
  get("beam-part").addEventListener("toggle", update);
  get("step-back").addEventListener("click", () => (at--, drawSteps()));
  get("step-forward").addEventListener("click", () => (at++, drawSteps()));
  get("model-sample").addEventListener("click", () => openSample().catch((error) => notice(error.message)));
  get("model-head-sheet").addEventListener("click", openHeadSheet);
  get("model-open").addEventListener("click", () => choose(".safetensors", openFile));
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file || !/\.safetensors$/.test(file.name)) return;
    select("model");
    openFile(file);
  });
  document.addEventListener("tab", (/** @type {any} */ event) => {
    if (event.detail === "model" && !bytes) openSample().catch((error) => notice(error.message));
  });
}
