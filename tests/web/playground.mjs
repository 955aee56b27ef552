// playground.mjs WEB: every choice of an attention computation in attend.h is reached by a control of the playground.
// The names are read from the header, so that a new choice without a control fails. Reports in TAP.
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const web = process.argv[2], root = new URL("../../", import.meta.url);
if (!existsSync(join(web, "attend.wasm"))) {
  console.log("1..1\nok 1 - the playground # SKIP the page was not built: make web");
  process.exit(0);
}
const { Attend } = await import(pathToFileURL(join(web, "lib", "attend.js")).href);
const { CONTROLS, readControls, sheetText } = await import(new URL("web/page/playground.js", root).href);
const header = readFileSync(new URL("include/attend.h", root), "utf8");
const attend = await Attend.load(readFileSync(join(web, "attend.wasm")));

let count = 0, failed = 0;
function check(fine, text) {
  console.log(`${fine ? "ok" : "not ok"} ${++count} - ${text}`);
  if (!fine) failed++;
}

/** Members of a struct of the header. */
function members(name) {
  const body = header.match(new RegExp(`typedef struct ${name} \\{([^}]*)\\}`))[1].replace(/\/\*[^]*?\*\//g, "");
  return body.split(";").flatMap((line) => {
    const names = line.trim().replace(/^(const )?\w+ /, "");
    return names ? names.split(",").map((word) => word.replace(/\[.*\]/, "").replace("*", "").trim()) : [];
  });
}
const words = (name, prefix) => [...header.match(new RegExp(`typedef enum ${name} \\{([^}]*)\\}`))[1].replace(/\/\*[^]*?\*\//g, "").matchAll(/\w+/g)]
  .map(([word]) => word.replace(prefix, "").replace("15", "").toLowerCase());

/** Controls that reach a member, or why there is none: one sheet has one computation. */
const REACHED = {
  size: null, score: { score: "cosine" }, normalizer: { normalizer: "sparsemax" }, scale: { scale: "3" }, soft_cap: { softcap: "0.5" },
  causal: { causal: "yes" }, offset: { causal: "yes", offset: "1" }, offsets: "of a batch: offset", window: { left: "1", right: "0" },
  window_left: { left: "1" }, window_right: { right: "0" }, query_lengths: "of a batch: fewer tokens", key_lengths: { length: "2" },
  blocks: { block: "2" }, block_count: { block: "2" }, block_queries: { block: "2" }, block_keys: { block: "3" }, mask: { masked: "1-2 3-4" },
  mask_stride: null, sequences: { packed: "1 3" }, query_offsets: { packed: "2 2" }, key_offsets: { packed: "2 2" }, dropout: { dropout: "0.5" },
  dropout_seed: { dropout: "0.5", seed: "3" }, dropout_step: "of training", dropout_layer: "of training",
  query: { seed: "2" }, key: { keys: "to the sea" }, value: null, score_w: { score: "general" }, score_u: { score: "additive" },
  score_b: "a constant of the score", score_v: { score: "concat" }, bias: { bias: "2" }, alibi: { alibi: "1" }, relative: { relative: "-1 0 2 0 -1" },
};

const start = Object.fromEntries(CONTROLS.map(([name, , , , value]) => [name, String(value)]));
function maps(changes) {
  const { chosen, tokens, others } = readControls({ ...start, ...changes });
  const draw = (rows) => JSON.parse(attend.sheet({ text: `X = random(${rows}, ${chosen.size}, seed = ${chosen.seed}, normal)\n`, format: "json" }).output).sheets[0].steps[0].value.data;
  return attend.sheet({ text: sheetText(chosen, tokens, draw(tokens.length), others), format: "json" }).maps.join("");
}
const plain = maps({});
function reaches(changes) {
  try {
    return maps(changes) !== plain ? "" : "the map is the same";
  } catch (error) {
    return error.message;
  }
}

for (const member of [...members("att_attention_options"), ...members("att_attention_inputs")]) {
  const changes = REACHED[member];
  if (changes === undefined) check(false, `${member} of attend.h has a control`);
  else if (changes !== null && typeof changes !== "string") {
    const wrong = reaches(changes);
    check(wrong === "", `${member}: ${Object.entries(changes).map((pair) => pair.join(" ")).join(", ")} ${wrong}`);
  }
}
const choices = (name) => CONTROLS.find((row) => row[0] === name)[3];
for (const [name, type, prefix] of [["score", "att_score", "ATT_SCORE_"], ["normalizer", "att_normalizer", "ATT_NORMALIZE_"]])
  for (const word of words(type, prefix)) {
    const wrong = choices(name).includes(word) ? word === start[name] ? "" : reaches({ [name]: word }) : "is not in the menu";
    check(wrong === "", `${name} ${word} ${wrong}`);
  }
check(reaches({ heads: "4", kvHeads: "2" }) === "" && maps({ heads: "4", kvHeads: "2" }) !== maps({ heads: "4" }), "fewer heads of keys and values");
check(reaches({ positions: "sinusoidal" }) === "", "positions");
for (const score of choices("score")) // together
  check(reaches({ score, heads: "2", keys: "a b c", causal: "yes", offset: "1", bias: "1", alibi: "0.5", masked: "1-1", dropout: "0.3" }) === "", `${score} with masks, biases and dropout over other tokens`);
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
