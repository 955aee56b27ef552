// Tab 2: attention by controls. The controls write a worksheet, and the library works it out: what is seen here is
// what tab 1 shows of the same sheet.
import { problem, show } from "./render.js";

const SCORES = ["scaled", "dot", "general", "additive", "concat", "gaussian", "cosine", "location"];
const NORMALIZERS = ["softmax", "sparsemax", "entmax", "sigmoid", "mean", "sum", "none"];
const MAX_TOKENS = 16;

const get = (id) => /** @type {any} */ (document.getElementById(id));

/** name, label, type, and the choices or [min, max, step]; then the value at the start. Every choice of an attention
 * computation in attend.h is reached by one of them: tests/web/playground.mjs. */
export const CONTROLS = [
  ["tokens", "Tokens", "text", null, "I go home now"],
  ["keys", "Other tokens to attend to (empty: the same)", "text", null, ""],
  ["score", "Score", "choice", SCORES, "scaled"],
  ["normalizer", "Normalizer", "choice", NORMALIZERS, "softmax"],
  ["heads", "Heads", "choice", ["1", "2", "4"], "1"],
  ["kvHeads", "Heads of keys and values", "choice", ["as many", "1", "2"], "as many"],
  ["size", "Size of a vector", "choice", ["4", "8"], "4"],
  ["positions", "Positions", "choice", ["none", "sinusoidal"], "none"],
  ["seed", "Seed of the numbers", "number", [0, 9999, 1], 1],
  ["token", "Values of token number", "number", [1, MAX_TOKENS, 1], 1],
  ["scale", "Scale of the score (0: its own)", "range", [0, 4, 0.1], 0],
  ["softcap", "Soft cap (0: none)", "range", [0, 5, 0.5], 0],
  ["alibi", "ALiBi slope (0: none)", "range", [0, 2, 0.1], 0],
  ["bias", "Random bias (0: none)", "range", [0, 3, 0.25], 0],
  ["dropout", "Dropout of the weights", "range", [0, 0.9, 0.1], 0],
  ["relative", "Bias by distance, as -1 0 2 0 -1", "text", null, ""],
  ["causal", "Causal mask", "tick", null, ""],
  ["left", "Window to the left (empty: none)", "number", [0, 16, 1], ""],
  ["right", "Window to the right (empty: none)", "number", [0, 16, 1], ""],
  ["offset", "Position of the first query", "number", [0, 16, 1], 0],
  ["length", "Keys in use (empty: all)", "number", [1, 16, 1], ""],
  ["block", "Size of blocks (empty: none)", "number", [1, 8, 1], ""],
  ["packed", "Lengths of packed sequences, as 2 2", "text", null, ""],
  ["masked", "Masked pairs query-key, as 1-2 3-4", "text", null, ""],
];
const WIDE = new Set(["tokens", "keys"]);
const NUMBERS = ["heads", "size", "scale", "softcap", "alibi", "bias", "dropout", "seed", "token", "offset"];
const OPTIONAL = ["left", "right", "length", "block"];

function control([name, label, type, choices, value]) {
  const box = document.createElement("label");
  box.textContent = label;
  let input;
  if (type === "choice") {
    input = document.createElement("select");
    input.append(...choices.map((choice) => new Option(choice, choice)));
  } else {
    input = document.createElement("input");
    input.type = type === "tick" ? "checkbox" : type;
    if (type === "text") input.dir = "auto";
    if (choices) [input.min, input.max, input.step] = choices.map(String);
  }
  input.id = `play-${name}`;
  input.value = String(value);
  if (type === "range") {
    const shown = document.createElement("span");
    const tell = () => (shown.textContent = `: ${input.value}`);
    input.addEventListener("input", tell);
    tell();
    box.replaceChildren(Object.assign(document.createElement("span"), { textContent: label }));
    box.firstElementChild.append(shown);
  }
  if (type === "tick") box.prepend(input);
  else box.append(input);
  box.className = WIDE.has(name) ? "wide" : type === "tick" ? "tick" : "";
  return box;
}

/** Quoted as a string of the worksheet language. */
const quote = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
const matrix = (rows, digits = 2) => `[${rows.map((row) => row.map((x) => x.toFixed(digits)).join(" ")).join("; ")}]`;

const numbersIn = (text) => (text.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
const grid = (rows, columns, cell) => Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => cell(i, j)));

/** 1 where a query may attend to a key by the blocks, the packed sequences and the single pairs; null: everywhere. */
function maskOf(chosen, queries, keys) {
  const pairs = [...chosen.masked.matchAll(/(\d+)-(\d+)/g)].map(([, i, j]) => [Number(i) - 1, Number(j) - 1]);
  const starts = [];
  numbersIn(chosen.packed).reduce((sum, length) => (starts.push(sum + length), sum + length), 0);
  if (!chosen.block && !starts.length && !pairs.length) return null;
  const sequence = (at) => starts.filter((end) => at >= end).length, block = (at) => Math.floor(at / (chosen.block || 1));
  return grid(queries, keys, (i, j) => Number((!chosen.block || block(i) === block(j)) && sequence(i) === sequence(j) &&
    !pairs.some(([query, key]) => query === i && key === j)));
}

/** The table of a relative bias, [2 R + 1], as the matrix that it adds. */
function relativeBias(table, queries, keys, offset) {
  const reach = (table.length - 1) / 2;
  return grid(queries, keys, (i, j) => table[Math.max(-reach, Math.min(reach, j - i - offset)) + reach]);
}

/** Options of attention() and the lines that its parameters need. */
function options(chosen, queries, keys) {
  const size = chosen.size / chosen.heads, seed = chosen.seed, lines = [], words = [`score = ${chosen.score}`];
  const parameter = (name, rows, columns, offset) => {
    lines.push(`${name} = random(${rows}, ${columns}, seed = ${seed + offset}, normal)`);
    return name;
  };
  if (chosen.score === "general") words.push(`W = ${parameter("W_a", size, size, 11)}`);
  if (chosen.score === "additive")
    words.push(`W = ${parameter("W_a", size, size, 11)}`, `U = ${parameter("U_a", size, size, 12)}`, `v = ${parameter("v_a", 1, size, 13)}`);
  if (chosen.score === "concat") words.push(`v = ${parameter("v_a", 1, 2 * size, 13)}`);
  if (chosen.score === "location") words.push(`W = ${parameter("W_a", size, keys, 11)}`);
  words.push(`normalizer = ${chosen.normalizer}`);
  if (chosen.causal) words.push("causal");
  if (chosen.left !== null || chosen.right !== null) words.push(`window = [${chosen.left ?? 16} ${chosen.right ?? 16}]`);
  if (chosen.offset > 0) words.push(`offset = ${chosen.offset}`);
  if (chosen.length !== null) words.push(`length = ${Math.max(1, Math.min(keys, chosen.length))}`);
  const mask = maskOf(chosen, queries, keys), table = numbersIn(chosen.relative);
  if (mask) lines.push(`allowed = ${matrix(mask, 0)}`), words.push("mask = allowed");
  const biases = [];
  if (chosen.bias > 0) biases.push(`${chosen.bias} * ${parameter("B_a", queries, keys, 14)}`);
  if (table.length % 2 === 1) {
    lines.push(`R_a = ${matrix(relativeBias(table, queries, keys, chosen.offset))}`);
    biases.push("R_a");
  }
  if (biases.length) words.push(`bias = ${biases.join(" + ")}`);
  if (chosen.scale > 0) words.push(`scale = ${chosen.scale}`);
  if (chosen.softcap > 0) words.push(`softcap = ${chosen.softcap}`);
  if (chosen.alibi > 0) words.push(`alibi = ${chosen.alibi}`);
  return { lines, words: words.join(", ") };
}

/** The projections: matrices, or with fewer heads of keys and values lists of them. */
function projections(chosen) {
  const { size, heads, seed } = chosen, kv = chosen.kvHeads === "as many" ? heads : Math.min(heads, Number(chosen.kvHeads));
  const draw = (name, columns, offset) => `${name} = random(${size}, ${columns}, seed = ${seed + offset}, normal)`;
  if (kv === heads)
    return { lines: [draw("W_q", size, 1), draw("W_k", size, 2), draw("W_v", size, 3)], words: "W_q, W_k, W_v", heads: heads > 1 ? `, heads = ${heads}` : "" };
  const list = (letter, count, offset) => Array.from({ length: count }, (_, i) => [`W_${letter}${i + 1}`, offset + i]);
  const lists = [list("q", heads, 30), list("k", kv, 40), list("v", kv, 50)];
  return { lines: lists.flat().map(([name, offset]) => draw(name, size / heads, offset)),
    words: lists.map((names) => `{${names.map(([name]) => name).join(", ")}}`).join(", "), heads: "" };
}

/** The worksheet of the controls. `others` are the tokens that are attended to, or none: the same. */
export function sheetText(chosen, tokens, values, others = []) {
  const keys = others.length || tokens.length, { lines, words } = options(chosen, tokens.length, keys), w = projections(chosen);
  const named = (letter, labels) => `label ${letter} ${labels.map(quote).join(" ")}`;
  const placed = (letter, count) => (chosen.positions === "sinusoidal" ? [`${letter} = ${letter} + positional(${count}, ${chosen.size})`] : []);
  const other = others.length ? [`Y = random(${keys}, ${chosen.size}, seed = ${chosen.seed + 20}, normal)`, named("Y", others), ...placed("Y", keys)] : [];
  const call = chosen.heads > 1 ? `multihead(X, ${w.words}${w.heads}${others.length ? ", from = Y" : ""}, ${words})`
    : others.length ? `cross_attention(X, Y, ${w.words}, ${words})` : `self_attention(X, ${w.words}, ${words})`;
  const dropped = chosen.dropout > 0 ? [`D = dropout(a${chosen.heads > 1 ? ".head[1]" : ""}.weights, ${chosen.dropout}, seed = ${chosen.seed})`, "plot D"] : [];
  return ["# Attention playground", "", "One row for each token.", "", `X = ${matrix(values)}`, named("X", tokens), ...placed("X", tokens.length), ...other, "",
    ...w.lines, ...lines, "", `a = ${call}`, "plot a", ...dropped, ""].join("\n");
}

/** What the controls say, from the value of each (a tick: "yes" or ""). @param {Record<string, string>} fields */
export function readControls(fields) {
  /** @type {Record<string, any>} */
  const chosen = { ...fields };
  for (const name of NUMBERS) chosen[name] = Number(chosen[name]);
  for (const name of OPTIONAL) chosen[name] = chosen[name] === "" ? null : Number(chosen[name]);
  const words = (text) => text.trim().split(/\s+/).filter(Boolean), cut = (list) => list.slice(0, MAX_TOKENS);
  const tokens = words(fields.tokens), others = words(fields.keys), most = Math.max(tokens.length, others.length);
  const leftOut = most > MAX_TOKENS ? new Error(`the first ${MAX_TOKENS} of ${most} tokens are used`) : null;
  return { chosen, tokens: tokens.length ? cut(tokens) : ["token"], others: cut(others), leftOut };
}

export function startPlayground({ client, openSheet }) {
  const form = get("play-form");
  form.append(...CONTROLS.map(control));
  const sliders = document.createElement("div");
  sliders.className = "wide controls";
  form.append(sliders);
  let values = [], drawn = "", text = "", running = false, again = false;

  const read = () => readControls(Object.fromEntries(CONTROLS.map(([name, , type]) => {
    const input = get(`play-${name}`);
    return [name, type === "tick" ? (input.checked ? "yes" : "") : input.value];
  })));

  /** Numbers come from the library's generator; a slider changes one of them. */
  async function drawValues(chosen, count) {
    const wanted = `${chosen.seed} ${chosen.size}`;
    if (drawn === wanted && values.length >= count) return;
    const sheet = `X = random(${MAX_TOKENS}, ${chosen.size}, seed = ${chosen.seed}, normal)\n`;
    const { output } = await client.call("sheet", { text: sheet, format: "json" });
    values = JSON.parse(output).sheets[0].steps[0].value.data;
    drawn = wanted;
  }

  function drawSliders(chosen, tokens) {
    const at = Math.max(0, Math.min(tokens.length, chosen.token) - 1);
    sliders.replaceChildren(...values[at].map((value, i) => {
      const box = control([`value-${i}`, `${tokens[at]} [${i + 1}]`, "range", [-3, 3, 0.05], value.toFixed(2)]);
      box.querySelector("input").addEventListener("input", (event) => {
        values[at][i] = Number(event.target.value);
        event.stopPropagation();
        update(false);
      });
      return box;
    }));
  }

  async function update(slidersToo = true) {
    if (running) return void (again = true);
    running = true;
    try {
      const { chosen, tokens, others, leftOut } = read();
      await drawValues(chosen, tokens.length);
      if (slidersToo) drawSliders(chosen, tokens);
      text = sheetText(chosen, tokens, values.slice(0, tokens.length), others);
      const { maps } = await client.call("sheet", { text, format: "json" });
      show(get("play-map"), maps.join(""));
      problem(get("play-problem"), leftOut);
    } catch (error) {
      problem(get("play-problem"), error);
    }
    running = false;
    if (again) {
      again = false;
      update(slidersToo);
    }
  }

  form.addEventListener("input", () => update());
  form.addEventListener("submit", (event) => event.preventDefault());
  get("play-sheet").addEventListener("click", () => openSheet(text, "playground.att"));
  document.addEventListener("tab", (/** @type {any} */ event) => {
    if (event.detail === "playground") update();
  });
}
