// Tab 3: a model at work: output, alternatives step by step, attention.
import { choose, size } from "./files.js";
import { problem, show } from "./render.js";

const MAX_BYTES = 500e6;
const MAX_IMAGE_BYTES = 50e6;
const SAMPLE = "samples/reverse.safetensors";
/** Heads of an overview: as buttons, and crossed out where they are switched off. */
const PANELS = `[role="button"]{cursor:pointer}[role="button"]:focus-visible{outline:3px solid #1a6fb5;outline-offset:2px}
  [aria-pressed="false"]>rect{opacity:.3}[aria-pressed="false"]>path{stroke:#a01818;stroke-width:2;fill:none}`;

const get = (id) => /** @type {any} */ (document.getElementById(id));

export function startModel({ connect, load, select, openSheet }) {
  let client = null, bytes = null, name = "", opened = null, steps = [], at = 0, running = false, again = false;
  let off = new Set(), whole = 0, focused = ""; // heads that are switched off; the model with all heads, while some are; the panel in focus
  let image = null; // of a caption model: the one that is described
  let asked = 0, shown = 0; // models that were asked for so far, and the number of the open one: an older one that arrives late is not shown
  let refused = null; // why a file was refused, until something else is asked for: what is drawn meanwhile must not hide it

  function start() {
    client ??= connect(() => bytes && open(async () => bytes, name));
    return client;
  }

  function refuse(error) {
    problem(get("model-problem"), (refused = error));
  }

  /** @param {() => Promise<Uint8Array>} read @param {string} newName */
  async function open(read, newName) {
    const mine = ++asked;
    problem(get("model-problem"), (refused = null));
    try {
      const contents = await read(), found = await start().call("open", { bytes: contents, name: newName });
      if (mine < shown) return void (await client.call("close", { model: found.model }));
      const previous = opened ? [opened.model, ...(whole ? [whole] : [])] : [];
      [shown, opened, bytes, name, off, whole, image] = [mine, found, contents, newName, new Set(), 0, null];
      for (const model of previous) client.call("close", { model }).catch(() => {});
      describeModel();
      await update();
    } catch (error) {
      refuse(error);
    }
  }

  async function openFile(file) {
    if (file.size > MAX_BYTES) return refuse(new Error(`${file.name} has ${size(file.size)}, more than the ${size(MAX_BYTES)} that fit into this page`));
    await open(async () => new Uint8Array(await file.arrayBuffer()), file.name);
  }

  function describeModel() {
    const { type, info, attention } = opened;
    get("model-name").textContent = `${name}: ${type}, ${size(bytes.length)}`;
    get("model-use").hidden = false;
    get("model-info").textContent = JSON.stringify(info, null, 2);
    get("beam-part").hidden = !["seq2seq", "lm"].includes(type);
    get("model-input").parentElement.hidden = get("steps-part").hidden = type === "caption";
    get("model-view").parentElement.hidden = get("model-arcs").parentElement.hidden = type === "caption";
    for (const id of ["model-image-part", "model-image-open"]) get(id).hidden = type !== "caption";
    const views = type === "seq2seq" ? [["output", "output to input"]] : [];
    for (const block of ["encoder", "decoder", "cross"]) {
      if (attention[block] === 0) continue;
      views.push([`${block} 0 0`, `${block}: all layers and heads`]);
      for (let layer = 1; layer <= attention[block]; layer++)
        for (let head = 1; head <= attention.heads; head++) views.push([`${block} ${layer} ${head}`, `${block}: layer ${layer}, head ${head}`]);
    }
    get("model-view").replaceChildren(...views.map(([value, text]) => new Option(text, value)));
    drawHeads();
    if (!get("model-input").value) get("model-input").value = type === "seq2seq" ? "abcddcab" : "";
  }

  function decoding() {
    const how = get("model-decoding").value, number = (id) => Number(get(id).value);
    if (how === "beam") return { beam: 4 };
    if (how === "greedy") return {};
    return { sample: true, temperature: number("model-temperature"), topK: number("model-topk"), topP: number("model-topp"), seed: number("model-seed") };
  }

  // ---- heads, switched off and on

  function drawHeads() {
    const { attention } = opened;
    get("head-part").hidden = !attention.heads;
    get("model-compared").textContent = "";
    const rows = [];
    for (const block of ["encoder", "decoder", "cross"])
      for (let layer = 1; layer <= attention[block]; layer++) {
        const row = document.createElement("div"), label = document.createElement("span");
        row.className = "heads";
        label.textContent = `${block} ${layer}`;
        row.append(label, ...Array.from({ length: attention.heads }, (_, i) => headButton(block, layer, i + 1)));
        rows.push(row);
      }
    get("model-heads").replaceChildren(...rows);
  }

  function headButton(block, layer, head) {
    const button = document.createElement("button"), key = `${block} ${layer} ${head}`;
    button.textContent = String(head);
    button.setAttribute("aria-label", `${block}, layer ${layer}, head ${head}`);
    button.setAttribute("aria-pressed", "true");
    button.dataset.head = key;
    button.addEventListener("click", () => toggleHead(key));
    return button;
  }

  function toggleHead(key) {
    off.has(key) ? off.delete(key) : off.add(key);
    get("model-heads").querySelector(`[data-head="${key}"]`).setAttribute("aria-pressed", String(!off.has(key)));
    return switchHeads();
  }

  /** Panels of an overview are buttons: a click, Enter or Space switches the head off or on. */
  function attachPanels(body, block) {
    const svg = body.querySelector("svg"), { heads } = opened.attention;
    svg.setAttribute("role", "group");
    [...svg.querySelectorAll(":scope > g")].forEach((panel, i) => {
      const [layer, head] = [Math.floor(i / heads) + 1, (i % heads) + 1], key = `${block} ${layer} ${head}`, frame = panel.querySelector("rect:last-of-type");
      const toggle = () => (focused = key, toggleHead(key));
      const attributes = { role: "button", tabindex: 0, "aria-pressed": !off.has(key), "aria-label": `${block}, layer ${layer}, head ${head}`, "data-head": key };
      for (const [word, value] of Object.entries(attributes)) panel.setAttribute(word, String(value));
      panel.querySelector("title").textContent = `${block}, layer ${layer}, head ${head}: click to switch it ${off.has(key) ? "on" : "off"}`;
      panel.addEventListener("click", toggle);
      panel.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), toggle()));
      if (off.has(key)) panel.append(crossed(Number(frame.getAttribute("width")), Number(frame.getAttribute("height"))));
      if (focused === key) panel.focus();
    });
    focused = "";
  }

  function crossed(width, height) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M0 0H${width}V${height}H0ZM0 0L${width} ${height}M0 ${height}L${width} 0`);
    return path;
  }

  /** Everything below is computed by a copy of the model without these heads. */
  async function switchHeads() {
    try {
      const previous = opened.model;
      whole ||= previous;
      const heads = [...off].map((key) => key.split(" ")).map(([block, layer, head]) => ({ block, layer: Number(layer), head: Number(head) }));
      opened.model = heads.length ? (await client.call("withoutHeads", { model: whole, heads })).model : whole;
      if (previous !== whole) client.call("close", { model: previous }).catch(() => {});
      await update();
    } catch (error) {
      problem(get("model-problem"), error);
    }
  }

  async function compareHeads(line, output) {
    if (!off.size) return void (get("model-compared").textContent = "");
    const before = opened.type === "lm" ? (await client.call("complete", { model: whole, prompt: line, tokens: 60, ...decoding() })).text
      : textOf((await client.call("run", { model: whole, line, ...decoding() })).output);
    const now = output === undefined ? get("model-output").textContent.slice(line.length) : textOf(output);
    const many = off.size === 1 ? "one head" : `${off.size} heads`;
    get("model-compared").textContent = before === now ? `Without ${many}: the same output.` : `Without ${many}: ${now}; with all heads: ${before}`;
  }

  const textOf = (output) => output.text ?? output.label ?? (output.labels ?? []).join(" ");

  // ---- what is shown

  async function showOutput(line) {
    const { type, model } = opened;
    if (type === "lm") {
      const { text } = await client.call("complete", { model, prompt: line, tokens: 60, ...decoding() });
      get("model-output").textContent = line + text;
      return undefined;
    }
    const { output } = await client.call("run", { model, line, ...decoding() });
    get("model-output").textContent = textOf(output);
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

  /** Of the output that is shown, token by token: its text would be cut into other tokens where it has an unknown one. */
  async function showSteps(line) {
    const { type, model } = opened;
    if (type !== "caption") {
      const found = await client.call("alternatives", { model, line, count: 5, ...decoding() });
      steps = found.steps.map((step) => ({ token: step.token, source: step.source, rows: step.alternatives.map((entry) => [entry.token, entry.probability]) }));
    } else steps = [];
    at = Math.min(at, Math.max(0, steps.length - 1));
    drawSteps();
  }

  function drawSteps() {
    get("step-count").textContent = steps.length ? `step ${at + 1} of ${steps.length}` : "";
    get("step-back").disabled = at === 0;
    get("step-forward").disabled = at >= steps.length - 1;
    const said = steps.slice(0, at).map((step) => step.token ?? "").join(" "), step = steps[at];
    const place = step?.source ? `“${step.source}”` : opened.type === "classifier" ? "labels" : said ? `after “${said}”` : "at the start";
    get("model-steps").replaceChildren(...(step ? [bars(place, step.rows, step.token, true)] : []));
  }

  async function showMap(line, output) {
    const [block, layer, head] = (get("model-view").value || "none").split(" "), { model } = opened, arcs = get("model-arcs").checked;
    for (const id of ["model-head-sheet", "model-head-switch"]) get(id).hidden = !(Number(head) > 0);
    get("model-head-switch").textContent = `Switch this head ${off.has(get("model-view").value) ? "on" : "off"}`;
    get("model-hint").hidden = !(Number(head) === 0);
    if (block === "none") return show(get("model-map"), "<p>This model has no attention to show.</p>");
    if (block === "output") return show(get("model-map"), (await client.call("run", { model, line, arcs, ...decoding() })).map || "<p>This model has no attention.</p>");
    const target = opened.type === "seq2seq" && block !== "encoder" ? output?.text : undefined;
    const { svg } = await client.call("attentionMap", { model, line, block, layer: Number(layer), head: Number(head), target, arcs });
    const body = show(get("model-map"), svg, Number(head) ? "" : PANELS);
    if (!Number(head)) attachPanels(body, block);
  }

  // ---- images

  async function showCaption() {
    const { model } = opened;
    image ??= await client.call("image", { model, index: Number(get("model-image").value) - 1 });
    get("model-image").max = image.images;
    const { output, overlay } = await client.call("caption", { model, pixels: image.pixels, rows: image.rows, columns: image.columns, ...decoding() });
    get("model-output").textContent = output.text;
    show(get("model-map"), overlay);
  }

  /** The center square of an image file, decoded and scaled by the browser to the size that the model reads. */
  async function openImage(file) {
    try {
      if (opened?.type !== "caption") throw new Error(`${file.name} is an image: the open model has no use for it; open a caption model first`);
      if (file.size > MAX_IMAGE_BYTES) throw new Error(`${file.name} has ${size(file.size)}, more than the ${size(MAX_IMAGE_BYTES)} that this page decodes`);
      const decoded = await createImageBitmap(file).catch(() => {
        throw new Error(`${file.name} is no image that this browser can decode`);
      });
      const { rows, columns, images } = image ?? (await client.call("image", { model: opened.model }));
      const side = Math.min(decoded.width, decoded.height), canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [columns, rows];
      const pen = /** @type {any} */ (canvas.getContext("2d", { willReadFrequently: true }));
      pen.fillStyle = "white";
      pen.fillRect(0, 0, columns, rows);
      pen.drawImage(decoded, (decoded.width - side) / 2, (decoded.height - side) / 2, side, side, 0, 0, columns, rows);
      const pixels = Uint8Array.from(pen.getImageData(0, 0, columns, rows).data.filter((_, i) => i % 4 < 3));
      image = { rows, columns, images, pixels };
      refused = null;
      await update();
    } catch (error) {
      refuse(error);
    }
  }

  async function showTree(line) {
    if (!get("beam-part").open || !["seq2seq", "lm"].includes(opened.type)) return;
    const { svg, nodes } = await client.call("beamTree", { model: opened.model, line });
    show(get("model-tree"), svg);
    get("model-nodes").replaceChildren(...treeOf(nodes, -1));
  }

  /** Nodes of the search below `parent`; those that lead to the best output are open. */
  function treeOf(nodes, parent) {
    return nodes.flatMap((node, i) => (node.parent === parent ? [nodeOf(nodes, node, i)] : []));
  }

  function nodeOf(nodes, node, i) {
    const inner = nodes.some((other) => other.parent === i), box = document.createElement(inner ? "details" : "div");
    const line = inner ? document.createElement("summary") : box, token = document.createElement("b"), numbers = document.createElement("span");
    const fate = { best: "best", finished: "an output", kept: "kept", dropped: "dropped" }[node.fate];
    token.textContent = node.token;
    token.dir = "auto";
    numbers.className = "soft";
    const normalized = node.normalized_score === null ? "" : `, ${node.normalized_score.toFixed(2)} per token`;
    numbers.textContent = ` ${(100 * Math.exp(node.log_prob)).toFixed(1)} %, sum ${node.score.toFixed(2)}${normalized}: ${fate}`;
    line.append(token, numbers);
    box.classList.add("node", node.fate);
    if (!inner) return box;
    box.append(line);
    if (node.fate === "best") box.append(...treeOf(nodes, i)), box.setAttribute("open", "");
    else box.addEventListener("toggle", () => box.append(...treeOf(nodes, i)), { once: true });
    return box;
  }

  async function update() {
    for (const id of ["model-temperature", "model-topk", "model-topp", "model-seed"])
      get(id).parentElement.hidden = get("model-decoding").value !== "sample";
    if (!opened) return;
    if (running) return void (again = true);
    running = true;
    const line = get("model-input").value;
    try {
      if (opened.type === "caption") await showCaption();
      else await showLine(line);
      problem(get("model-problem"), refused);
    } catch (error) {
      problem(get("model-problem"), refused ?? error);
    }
    running = false;
    if (again) {
      again = false;
      update();
    }
  }

  async function showLine(line) {
    const output = await showOutput(line);
    await showSteps(line);
    await showMap(line, output);
    await showTree(line);
    await compareHeads(line, output);
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

  const openSample = () => open(async () => new Uint8Array(await load(SAMPLE)), "reverse.safetensors");
  const changed = () => ((refused = null), update());
  for (const id of ["model-input", "model-decoding", "model-temperature", "model-topk", "model-topp", "model-seed", "model-view", "model-arcs"])
    get(id).addEventListener("input", changed);
  get("beam-part").addEventListener("toggle", changed);
  get("step-back").addEventListener("click", () => (at--, drawSteps()));
  get("step-forward").addEventListener("click", () => (at++, drawSteps()));
  get("model-sample").addEventListener("click", openSample);
  get("model-head-sheet").addEventListener("click", openHeadSheet);
  get("model-head-switch").addEventListener("click", () => toggleHead(get("model-view").value));
  get("model-image").addEventListener("input", () => (image = null, changed()));
  get("model-image-open").addEventListener("click", () => choose("image/*", openImage));
  get("model-open").addEventListener("click", () => choose(".safetensors", openFile));
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (file?.type?.startsWith("image/") && !get("model").hidden) return void openImage(file);
    if (!file || !/\.safetensors$/.test(file.name) || !get("cells").hidden) return; // tab 5 opens its own
    select("model");
    openFile(file);
  });
  document.addEventListener("tab", (/** @type {any} */ event) => {
    if (event.detail === "model" && !bytes) openSample();
  });
}
