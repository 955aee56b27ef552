// Tab 2: attention by controls. The controls write a worksheet, and the library works it out: what is seen here is
// what tab 1 shows of the same sheet.
import { problem, show } from "./render.js";

const SCORES = ["scaled", "dot", "general", "additive", "concat", "gaussian", "cosine", "location"];
const NORMALIZERS = ["softmax", "sparsemax", "entmax", "sigmoid", "mean", "sum", "none"];
const MAX_TOKENS = 16;

const get = (id) => /** @type {any} */ (document.getElementById(id));

/** name, label, type, and the choices or [min, max, step]; then the value at the start. */
const CONTROLS = [
  ["tokens", "Tokens", "text", null, "I go home now"],
  ["score", "Score", "choice", SCORES, "scaled"],
  ["normalizer", "Normalizer", "choice", NORMALIZERS, "softmax"],
  ["mask", "Mask", "choice", ["none", "causal", "window", "length"], "none"],
  ["window", "Window on both sides, or length", "number", [0, 16, 1], 1],
  ["heads", "Heads", "choice", ["1", "2", "4"], "1"],
  ["size", "Size of a vector", "choice", ["4", "8"], "4"],
  ["scale", "Scale of the score (0: its own)", "range", [0, 4, 0.1], 0],
  ["softcap", "Soft cap (0: none)", "range", [0, 5, 0.5], 0],
  ["alibi", "ALiBi slope (0: none)", "range", [0, 2, 0.1], 0],
  ["seed", "Seed of the numbers", "number", [0, 9999, 1], 1],
  ["token", "Values of token number", "number", [1, MAX_TOKENS, 1], 1],
];

function control([name, label, type, choices, value]) {
  const box = document.createElement("label");
  box.textContent = label;
  let input;
  if (type === "choice") {
    input = document.createElement("select");
    input.append(...choices.map((choice) => new Option(choice, choice)));
  } else {
    input = document.createElement("input");
    input.type = type;
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
  box.append(input);
  if (type === "text") box.className = "wide";
  return box;
}

/** Quoted as a string of the worksheet language. */
const quote = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
const matrix = (rows) => `[${rows.map((row) => row.map((x) => x.toFixed(2)).join(" ")).join("; ")}]`;

/** Options of attention() and the lines that its parameters need. */
function options(chosen, count) {
  const size = chosen.size / chosen.heads, seed = chosen.seed, lines = [], words = [`score = ${chosen.score}`];
  const parameter = (name, rows, columns, offset) => {
    lines.push(`${name} = random(${rows}, ${columns}, seed = ${seed + offset}, normal)`);
    return name;
  };
  if (chosen.score === "general") words.push(`W = ${parameter("W_a", size, size, 11)}`);
  if (chosen.score === "additive")
    words.push(`W = ${parameter("W_a", size, size, 11)}`, `U = ${parameter("U_a", size, size, 12)}`, `v = ${parameter("v_a", 1, size, 13)}`);
  if (chosen.score === "concat") words.push(`v = ${parameter("v_a", 1, 2 * size, 13)}`);
  if (chosen.score === "location") words.push(`W = ${parameter("W_a", size, count, 11)}`);
  words.push(`normalizer = ${chosen.normalizer}`);
  if (chosen.mask === "causal") words.push("causal");
  if (chosen.mask === "window") words.push(`window = ${chosen.window}`);
  if (chosen.mask === "length") words.push(`length = ${Math.max(1, Math.min(count, chosen.window))}`);
  if (chosen.scale > 0) words.push(`scale = ${chosen.scale}`);
  if (chosen.softcap > 0) words.push(`softcap = ${chosen.softcap}`);
  if (chosen.alibi > 0) words.push(`alibi = ${chosen.alibi}`);
  return { lines, words: words.join(", ") };
}

/** The worksheet of the controls. */
export function sheetText(chosen, tokens, values) {
  const { lines, words } = options(chosen, tokens.length), size = chosen.size;
  const weight = (name, offset) => `${name} = random(${size}, ${size}, seed = ${chosen.seed + offset}, normal)`;
  return ["# Attention playground", "", "One row for each token.", "", `X = ${matrix(values)}`,
    `label X ${tokens.map(quote).join(" ")}`, "", weight("W_q", 1), weight("W_k", 2), weight("W_v", 3), ...lines, "",
    chosen.heads > 1 ? `a = multihead(X, W_q, W_k, W_v, heads = ${chosen.heads}, ${words})` : `a = self_attention(X, W_q, W_k, W_v, ${words})`,
    "plot a", ""].join("\n");
}

export function startPlayground({ client, openSheet }) {
  const form = get("play-form");
  form.append(...CONTROLS.map(control));
  const sliders = document.createElement("div");
  sliders.className = "wide controls";
  form.append(sliders);
  let values = [], drawn = "", text = "", running = false, again = false;

  function read() {
    const chosen = Object.fromEntries(CONTROLS.map(([name]) => [name, get(`play-${name}`).value]));
    for (const name of ["window", "heads", "size", "scale", "softcap", "alibi", "seed", "token"]) chosen[name] = Number(chosen[name]);
    const tokens = chosen.tokens.trim().split(/\s+/).filter(Boolean).slice(0, MAX_TOKENS);
    return { chosen, tokens: tokens.length ? tokens : ["token"] };
  }

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
      const { chosen, tokens } = read();
      await drawValues(chosen, tokens.length);
      if (slidersToo) drawSliders(chosen, tokens);
      text = sheetText(chosen, tokens, values.slice(0, tokens.length));
      const { maps } = await client.call("sheet", { text, format: "json" });
      show(get("play-map"), maps[0] ?? "");
      problem(get("play-problem"), null);
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
