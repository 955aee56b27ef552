// Loads vector kernels beside attend.wasm: modules of their own that share its memory and its table of
// functions, because an engine refuses a whole module that contains one instruction it lacks. All of them
// give the same bits; the first of SETS that this engine runs is used, or else the plain C of attend.wasm.

/** The fastest first. */
export const SETS = ["relaxed", "simd"];

// As web/CMakeLists.txt links them.
const TABLE_BASE = 8192;
const MEMORY_END = 5242880;

/** Instantiates one side module, or returns null where the engine refuses it or its multiply-add is not fused. */
async function instantiate(main, bytes, table) {
  if (!WebAssembly.validate(bytes)) return null;
  const { instance } = await WebAssembly.instantiate(bytes, { env: { memory: main.memory, __indirect_function_table: table } });
  const side = /** @type {Record<string, any>} */ (instance.exports);
  if (side.__heap_base.value > MEMORY_END) throw new Error("the kernels do not fit below the data of attend.wasm");
  return side.probe() ? side : null;
}

/** Returns the name of the set that was loaded: "relaxed", "simd" or "scalar".
 *  @param {Record<string, any>} main exports of attend.wasm
 *  @param {Record<string, BufferSource>} kernels side modules by name
 *  @param {string} [only] the one to load; fails where it cannot be */
export async function loadKernels(main, kernels, only) {
  const table = main.__indirect_function_table;
  if (table.length > TABLE_BASE) throw new Error(`attend.wasm has ${table.length} functions in its table, more than ${TABLE_BASE}`);
  for (const set of only ? [only] : SETS) {
    if (!kernels[set]) continue;
    if (table.length < 2 * TABLE_BASE) table.grow(2 * TABLE_BASE - table.length);
    const side = await instantiate(main, kernels[set], table);
    if (!side) continue;
    main.att_web_kernels_set(side[`att_kernels_${set}`].value);
    return set;
  }
  if (only && only !== "scalar") throw new Error(`this engine cannot run the kernels '${only}'`);
  return "scalar";
}
