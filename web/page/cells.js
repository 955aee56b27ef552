// Tab 5: inside a recurrent language model: its text colored by a unit, and the units that track something.
import { choose, size } from "./files.js";
import { problem, show } from "./render.js";

const SAMPLE = "samples/code.safetensors", SAMPLE_TEXT = "samples/code.txt";
const MAX_COLORED = 4000; // characters: a page of more is slow to draw
const MAX_SEARCHED = 200000;
const MAX_BYTES = 500e6;

/** A page about highlighted text as a part of this one. */
const PART = "main{padding:.25rem .75rem .75rem}h1{font-size:1rem;margin:.25rem 0}main>p{margin:.25rem 0;font-size:.9rem}.highlight{padding:.5rem .6rem}footer{display:none}";

const get = (id) => /** @type {any} */ (document.getElementById(id));

export function startCells({ connect, load }) {
  let client = null, bytes = null, name = "", model = 0, units = 0, layers = 0, running = false, waiting = [], found = null;
  let asked = 0, shown = 0, refused = null; // as in model.js: an older model that arrives late is not shown, and no drawing hides a refusal

  const start = () => (client ??= connect(() => bytes && open(async () => bytes, name)));

  function refuse(error) {
    problem(get("cells-problem"), (refused = error));
  }

  /** @param {() => Promise<Uint8Array>} read @param {string} newName */
  async function open(read, newName) {
    const mine = ++asked;
    problem(get("cells-problem"), (refused = null));
    try {
      const contents = await read(), opened = await start().call("open", { bytes: contents, name: newName });
      await client.call("unit", { model: opened.model, text: " ", layer: 1, unit: 1, signal: "hidden" }).catch((error) => { // none: the one before stays
        client.call("close", { model: opened.model }).catch(() => {});
        throw error;
      });
      if (mine < shown) return void (await client.call("close", { model: opened.model }));
      if (model) client.call("close", { model }).catch(() => {});
      [shown, bytes, name, model, found] = [mine, contents, newName, opened.model, null];
      const { settings } = opened.info;
      [layers, units] = [Number(settings?.layers ?? 1), Number(settings?.["hidden-size"] ?? 1)];
      get("cells-name").textContent = `${name}: ${opened.type}, ${size(bytes.length)}, ${layers} × ${units} units`;
      get("cells-layer").max = layers;
      get("cells-unit").max = units;
      await alone(search);
    } catch (error) {
      refuse(error);
    }
  }

  const openSample = () => open(async () => {
    const [contents, text] = await Promise.all([load(SAMPLE), load(SAMPLE_TEXT)]);
    if (!get("cells-text").value) get("cells-text").value = new TextDecoder().decode(text);
    return new Uint8Array(contents);
  }, "code.safetensors");

  function openFile(file) {
    if (file.size > MAX_BYTES) return refuse(new Error(`${file.name} has ${size(file.size)}, more than the ${size(MAX_BYTES)} that fit into this page`));
    return open(async () => new Uint8Array(await file.arrayBuffer()), file.name);
  }

  /** One call at a time; what was asked for meanwhile follows, each once. */
  async function alone(action) {
    if (!model) return;
    if (running) return void (waiting.includes(action) || waiting.push(action));
    running = true;
    try {
      await action();
      problem(get("cells-problem"), refused);
    } catch (error) {
      problem(get("cells-problem"), refused ?? error);
    }
    running = false;
    if (waiting.length) alone(waiting.shift());
  }

  /** What a person asks for; it replaces the message about a refused file. */
  const ask = (action) => ((refused = null), alone(action));

  async function color() {
    const text = get("cells-text").value.slice(0, MAX_COLORED);
    if (!text) return show(get("cells-view"), "<p>Type a text to color.</p>");
    const layer = Number(get("cells-layer").value), unit = Number(get("cells-unit").value);
    const { html } = await client.call("unit", { model, text, layer, unit, signal: get("cells-signal").value });
    show(get("cells-view"), html, PART);
  }

  const number = (value, digits = 2) => (value === null || value === undefined ? "" : value.toFixed(digits));

  function row(entry, i) {
    const best = entry.top[0], line = document.createElement("tr"), place = document.createElement("td"), button = document.createElement("button");
    button.textContent = entry.property;
    button.title = entry.description;
    button.disabled = !best;
    button.addEventListener("click", () => ((refused = null), choosePlace(best, i)));
    place.append(button);
    const cells = best ? [`${best.layer}:${best.unit}`, number(best.test_correlation ?? best.search_correlation), number(best.auc)] : ["does not change", "", ""];
    line.append(place, ...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return line;
  }

  function choosePlace(best, i) {
    get("cells-layer").value = best.layer;
    get("cells-unit").value = best.unit;
    get("cells-sample-title").textContent = `“${found.properties[i].property}” (${found.properties[i].description}) and unit ${best.layer}:${best.unit}`;
    show(get("cells-sample"), found.samples[i], `${PART}h1,main>p{display:none}`);
    alone(color);
  }

  const strength = (entry) => Math.abs(entry.top[0]?.test_correlation ?? entry.top[0]?.search_correlation ?? 0);

  /** Compares every unit with every property, the clearest first. */
  async function search() {
    const pattern = get("cells-pattern").value.trim(), text = get("cells-text").value.slice(0, MAX_SEARCHED);
    found = await client.call("cells", { model, text, signal: get("cells-signal").value,
      pattern: pattern ? (/^[\w-]+=/.test(pattern) ? pattern : `own=${pattern}`) : undefined });
    const order = found.properties.map((_, i) => i).sort((a, b) => strength(found.properties[b]) - strength(found.properties[a]));
    const own = pattern ? found.properties.length - 1 : -1;
    if (own >= 0) order.unshift(...order.splice(order.indexOf(own), 1));
    get("cells-found").replaceChildren(...order.map((i) => row(found.properties[i], i)));
    get("cells-count").textContent = `chosen on ${found.search_tokens} characters, measured on the ${found.test_tokens} after them`;
    const first = order.find((i) => found.properties[i].top.length > 0);
    if (first !== undefined) choosePlace(found.properties[first].top[0], first);
  }

  const find = () => ask(search);

  /** Writes on where the text ends. */
  async function write() {
    const text = get("cells-text").value, seed = Math.floor(Number(get("cells-seed").value));
    const more = await client.call("complete", { model, prompt: text.slice(-MAX_COLORED), tokens: 300, sample: true, temperature: 0.7, seed });
    get("cells-text").value = text.slice(-MAX_COLORED / 2) + more.text;
    get("cells-seed").value = seed + 1;
    await color();
  }

  let timer = 0;
  get("cells-text").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask(color), 200);
  });
  for (const id of ["cells-layer", "cells-unit"]) get(id).addEventListener("input", () => ask(color));
  const step = (by) => {
    const at = (Number(get("cells-layer").value) - 1) * units + Number(get("cells-unit").value) - 1 + by, all = layers * units;
    const next = ((at % all) + all) % all;
    get("cells-layer").value = Math.floor(next / units) + 1;
    get("cells-unit").value = (next % units) + 1;
    ask(color);
  };
  get("cells-back").addEventListener("click", () => step(-1));
  get("cells-forward").addEventListener("click", () => step(1));
  get("cells-signal").addEventListener("change", find);
  get("cells-find").addEventListener("click", find);
  get("cells-pattern").addEventListener("keydown", (event) => event.key === "Enter" && find());
  get("cells-write").addEventListener("click", () => ask(write));
  get("cells-model").addEventListener("click", () => choose(".safetensors", openFile));
  get("cells-reset").addEventListener("click", () => {
    get("cells-text").value = "";
    openSample();
  });
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (file && /\.safetensors$/.test(file.name) && !get("cells").hidden) openFile(file);
  });
  document.addEventListener("tab", (/** @type {any} */ event) => {
    if (event.detail === "cells" && !bytes) openSample();
  });
}
