// driver.mjs WEB [--kernels NAME] COMMAND…: runs the module of the page in Node, for tests.
//   sheets FILE…                   prints {"FILE": JSON text or error} of every worksheet
//   train FOLDER OUT TASK KEY=VALUE…  trains in slices with the files of FOLDER, writes OUT and OUT.last
//   about                          prints version and kernels
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [web, ...rest] = process.argv.slice(2);
const only = rest[0] === "--kernels" ? rest.splice(0, 2)[1] : undefined;
const [command, ...words] = rest;
const { Attend } = await import(pathToFileURL(join(web, "lib/attend.js")).href);

const kernels = Object.fromEntries(readdirSync(web).filter((name) => /^kernels-.*\.wasm$/.test(name))
  .map((name) => [name.slice(8, -5), readFileSync(join(web, name))]));
const attend = await Attend.load(readFileSync(join(web, "attend.wasm")), { kernels, only });

function sheets(files) {
  const found = {};
  for (const file of files) {
    const text = readFileSync(file, "utf8"), data = file.slice(0, -".att".length);
    if (existsSync(data)) for (const name of readdirSync(data)) attend.files.write(join(data, name), readFileSync(join(data, name)));
    try {
      found[file] = attend.sheet({ text, name: file, folder: dirname(file), format: "json" }).output;
    } catch (error) {
      found[file] = `${error.name}: ${error.message}`;
    }
  }
  process.stdout.write(JSON.stringify(found));
}

function train(folder, out, task, settings) {
  const files = Object.fromEntries(readdirSync(folder).filter((name) => /\.(tsv|txt|npy|conll)$/.test(name))
    .map((name) => [name, readFileSync(join(folder, name))]));
  const pairs = settings.map((word) => [word.split("=", 1)[0], word.slice(word.indexOf("=") + 1)]);
  const { run } = attend.train({ task, settings: { ...Object.fromEntries(pairs), out: "model.safetensors" }, files });
  const start = performance.now();
  let slices = 0, last;
  do {
    last = attend.advance({ run, milliseconds: 50 });
    slices++;
  } while (!last.finished);
  const seconds = (performance.now() - start) / 1000;
  const { model, checkpoint } = attend.save({ run });
  writeFileSync(out, model);
  if (checkpoint) writeFileSync(`${out}.last`, checkpoint); // a run that averaged its checkpoints has none left
  attend.endRun({ run });
  process.stdout.write(JSON.stringify({ steps: last.steps, slices, seconds, cpu: attend.about().cpu }));
}

if (command === "sheets") sheets(words);
else if (command === "train") train(words[0], words[1], words[2], words.slice(3));
else process.stdout.write(JSON.stringify(attend.about()));
