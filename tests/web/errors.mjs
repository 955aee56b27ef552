// errors.mjs WEB: bad input gives an error that says what was expected, and the module works on afterwards. TAP.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const web = process.argv[2];
if (!existsSync(join(web, "attend.wasm"))) {
  console.log("1..1\nok 1 - bad input # SKIP the page was not built: make web");
  process.exit(0);
}
const { Attend } = await import(pathToFileURL(join(web, "lib/attend.js")).href);
const attend = await Attend.load(readFileSync(join(web, "attend.wasm")));
const sample = readFileSync(join(web, "samples/reverse.safetensors"));
const damaged = Uint8Array.from(sample);
damaged.fill(255, sample.length - 64); // NaN
let count = 0, failed = 0;

function check(fine, text, detail = "") {
  count++;
  failed += fine ? 0 : 1;
  console.log(`${fine ? "ok" : "not ok"} ${count} - ${text}${fine ? "" : `\n#   ${detail}`}`);
}

/** The call fails as bad input with a message of this form, and a sheet still works. */
function refuses(text, pattern, action) {
  let message = "no error";
  try {
    action();
  } catch (error) {
    message = `${error.status}: ${error.message}`;
  }
  const works = attend.sheet({ text: "x = 1 + 1\nexpect x = 2\n", format: "text" }).failures.length === 0;
  check(pattern.test(message) && works, text, message);
}

const sheet = (text) => () => attend.sheet({ text, format: "text" });
refuses("brackets 200,000 deep", /^bad input: .*nested/, sheet(`x = ${"(".repeat(200000)}1\n`));
refuses("a matrix of 80 GB", /^(bad input|no memory)/, sheet("x = ones(100000, 100000)\n"));
refuses("a sheet with a zero byte", /^bad input/, sheet("x = \u0000\n"));
refuses("an unknown format", /unknown format/, () => attend.sheet({ text: "x = 1\n", format: "docx" }));
refuses("bytes that are no model", /^bad input: .*expected a model/, () => attend.open({ bytes: new Uint8Array(100) }));
refuses("half a model", /^bad input/, () => attend.open({ bytes: sample.subarray(0, sample.length / 2) }));
refuses("a model with NaN", /^bad input/, () => attend.open({ bytes: damaged }));
const old = Buffer.from(sample.toString("latin1").replace('"attend.format":"2"', '"attend.format":"1"'), "latin1");
refuses("a model of 0.1", /^bad input: .*attend 0\.1/, () => attend.open({ bytes: old }));
refuses("a model for which the memory is too small", /^no memory/, () => {
  const { run } = attend.train({ task: "reverse", settings: { "hidden-size": 9000, "train-count": 100, "valid-count": 10 } });
  attend.advance({ run, steps: 1 });
});
refuses("a model that was not opened", /no model 99/, () => attend.run({ model: 99, line: "a" }));
refuses("an unknown task", /task expects/, () => attend.train({ task: "nonsense" }));
refuses("a misspelled setting", /did you mean hidden-size/, () => attend.train({ task: "reverse", settings: { "hiden-size": 3 } }));
refuses("a setting in a config that is no number", /expects a whole number/, () => attend.train({ task: "reverse", config: "hidden-size = many" }));
refuses("training data that is not there", /cannot open/, () => attend.train({ task: "lm", settings: { train: "x.txt" } }));
const { model } = attend.open({ bytes: sample, name: "reverse.safetensors" });
refuses("a head that the model lacks", /there is no layer 9/, () => attend.withoutHeads({ model, heads: [{ block: "cross", layer: 9, head: 1 }] }));
refuses("units of a Transformer", /^bad input/, () => attend.unit({ model, text: "abc", layer: 1, unit: 1 }));
refuses("a caption by a model of lines", /^bad input/, () => attend.caption({ model, pixels: new Uint8Array(12), rows: 2, columns: 2 }));
const shapes = attend.train({ task: "shapes", settings: { "hidden-size": 8, "train-count": 20, "valid-count": 2, steps: 1 } }).run;
attend.advance({ run: shapes, steps: 1 });
const describing = attend.trained({ run: shapes }).model;
refuses("an image of another size than the model reads", /^bad input/, () => attend.caption({ model: describing, pixels: new Uint8Array(12), rows: 2, columns: 2 }));
refuses("pixels that are no image", /12 bytes are no image of 3 × 2 pixels: expected 18/, () => attend.caption({ model: describing, pixels: new Uint8Array(12), rows: 3, columns: 2 }));
const npz = readFileSync(new URL("../../examples/debug-port/inputs.npz", import.meta.url));
const loads = (change) => () => {
  const bytes = Uint8Array.from(npz);
  attend.filesystem({ write: { "x.npz": change(bytes, new DataView(bytes.buffer)) ?? bytes } });
  return attend.sheet({ text: 'q = load "x.npz" "q"\n', folder: "/", format: "text" });
};
const row = npz.indexOf("PK\x01\x02", 0, "latin1"), end = npz.lastIndexOf("PK\x05\x06", npz.length, "latin1");
check(loads(() => null)().output.length > 0, "a .npz file is read");
refuses("half a .npz file", /no directory/, loads((bytes) => bytes.slice(0, bytes.length / 2)));
refuses("a .npz file of four bytes", /no directory/, loads((bytes) => bytes.slice(0, 4)));
refuses("a .npz file with a wrong checksum", /entry 'q.npy' has a wrong checksum/, loads((bytes) => void (bytes[150] ^= 1)));
refuses("a compressed .npz file", /entry 'q.npy' is compressed/, loads((_, view) => view.setUint16(row + 10, 8, true)));
refuses("an encrypted .npz file", /entry 'q.npy' is encrypted/, loads((_, view) => view.setUint16(row + 8, 1, true)));
refuses("an entry larger than its file", /states more bytes/, loads((_, view) => [20, 24].forEach((at) => view.setUint32(row + at, 4e9, true))));
refuses("an entry that begins behind the end", /directory is damaged/, loads((_, view) => view.setUint32(row + 42, 4e9, true)));
refuses("a directory behind the end", /directory is damaged/, loads((_, view) => view.setUint32(end + 16, 4294967295, true)));
refuses("a directory with a name beyond the end", /directory is damaged/, loads((_, view) => view.setUint16(row + 28, 65535, true)));
refuses("a directory with more entries than it has", /directory is damaged/, loads((_, view) => view.setUint16(end + 10, 9, true)));
const lstm = attend.open({ bytes: readFileSync(join(web, "samples/code.safetensors")), name: "code.safetensors" }).model;
refuses("a property that is no regular expression", /expected \)/, () => attend.cells({ model: lstm, text: "int x;\n".repeat(300), pattern: "call=(" }));
refuses("a unit that the model lacks", /^bad input/, () => attend.unit({ model: lstm, text: "int", layer: 1, unit: 97 }));
check(attend.run({ model, line: "abcd" }).output.text === "dcba", "the sample model still works");
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
