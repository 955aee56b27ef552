// The Worker: holds the module and answers messages (docs/web.md).
//   in   {id, method, params}        out   {id, result} or {id, error: {status, message, place, line, column, excerpt}}
// `load` must come first. An error with fatal: true means that the module is lost; client.js starts another Worker.
import { Attend } from "./attend.js";

/** Methods of Attend that a message may name. */
const METHODS = new Set(["about", "sheet", "filesystem", "open", "close", "run", "complete", "alternatives", "beamTree",
  "withoutHeads", "image", "caption", "attentionMap", "headSheet", "unit", "cells", "settings",
  "plot", "train", "advance", "trained", "save", "endRun"]);

/** @type {Attend | null} */
let attend = null;

/** @param {{wasm: ArrayBuffer | WebAssembly.Module, kernels?: Record<string, ArrayBuffer>, only?: string}} params */
async function load({ wasm, kernels = {}, only }) {
  attend = await Attend.load(wasm, { kernels, only });
  return attend.about();
}

async function answer(method, params) {
  if (method === "load") return load(params);
  if (!attend) throw new Error("the first message must be 'load'");
  if (!METHODS.has(method)) throw new Error(`unknown method '${method}'`);
  return attend[method](params ?? {});
}

function describe(error) {
  const fatal = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  const { status = "error", message, place = "", line = 0, column = 0, excerpt = "" } = error;
  return { status, message: fatal ? `the computation failed (${message})` : message, place, line, column, excerpt, fatal };
}

self.onmessage = async ({ data: { id, method, params } }) => {
  try {
    self.postMessage({ id, result: await answer(method, params) });
  } catch (error) {
    self.postMessage({ id, error: describe(error) });
  }
};
