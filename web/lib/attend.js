// libattend in JavaScript: include/attend.h, called through WebAssembly. Works in a page, a Worker and
// Node. Nothing is computed here: every number, text and figure comes from the library.
//
//   const attend = await Attend.load(await fetch("attend.wasm"));
//   attend.sheet({ text: "q = [1 2]\nk = [3 4]\ns = q k'\n", format: "text" }).output
import { Wasi, MemoryFiles } from "./wasi.js";
import { loadKernels } from "./kernels.js";

const STATUS = ["ok", "bad input", "no memory", "system error", "unsupported", "cancelled"];
export const FORMATS = { text: 0, markdown: 1, latex: 2, html: 3, json: 4, svg: 5 };
const DETAILS = { sheet: 0, none: 1, one: 2, all: 3 };
const TYPES = ["seq2seq", "lm", "classifier", "caption", "tagger"];
const BLOCKS = { encoder: 0, decoder: 1, cross: 2 };
const SIGNALS = { default: 0, hidden: 1, cell: 2 };
const PROGRESS = ["step", "steps", "epoch", "epochs", "loss", "learningRate", "tokensPerSecond", "secondsLeft"];
const VALIDATION = ["step", "epoch", "learningRate", "trainLoss", "trainAccuracy", "loss", "accuracy", "exactMatch",
  "tokenErrorRate", "bleu", "bitsPerCharacter", "perplexity", "truncatedOutputs", "f1"];

// att_error: status, line, column, place[256], message[768], excerpt[512]; att_string: data, length, capacity.
const ERROR = { size: 1548, line: 4, column: 8, place: 12, message: 268, excerpt: 1036 };
const STRING_SIZE = 12;

/** What attend.h says of a failed call. */
export class AttendError extends Error {
  /** @param {{status: string, message: string, place?: string, line?: number, column?: number, excerpt?: string}} detail */
  constructor(detail) {
    super(detail.message);
    this.name = "AttendError";
    this.status = detail.status;
    this.place = detail.place ?? "";
    this.line = detail.line ?? 0;
    this.column = detail.column ?? 0;
    this.excerpt = detail.excerpt ?? "";
  }
}

/** @typedef {{format?: keyof typeof FORMATS, digits?: number, detail?: keyof typeof DETAILS, only?: string,
 *   row?: number, head?: number, width?: number, arcs?: boolean}} RenderOptions */
/** @typedef {{beam?: number, nBest?: number, sample?: boolean, temperature?: number, topK?: number, topP?: number,
 *   seed?: number, maxOutputLength?: number}} DecodingOptions */

export class Attend {
  /** @param {WebAssembly.Instance} instance @param {MemoryFiles} files */
  constructor(instance, files) {
    this.exports = /** @type {Record<string, any>} */ (instance.exports);
    this.files = files;
    this.error = this.exports.malloc(ERROR.size);
    this.out = this.exports.malloc(STRING_SIZE + 4);
    this.models = new Map();
    this.runs = new Map();
    this.lastId = 0;
  }

  /** Loads attend.wasm. `kernels` has the side modules with vector kernels; the fastest that this
   * engine runs is used, unless `only` names one.
   * @param {Response | BufferSource | WebAssembly.Module} source
   * @param {{files?: MemoryFiles, kernels?: Record<string, BufferSource>, only?: string}} [options] */
  static async load(source, { files = new MemoryFiles(), kernels = {}, only } = {}) {
    const bytes = typeof Response !== "undefined" && source instanceof Response ? await source.arrayBuffer() : source;
    const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(/** @type {BufferSource} */ (bytes));
    const wasi = new Wasi({ files });
    const instance = await WebAssembly.instantiate(module, wasi.imports(module));
    const exports = /** @type {Record<string, any>} */ (instance.exports);
    wasi.bind(exports.memory);
    exports._initialize?.();
    await loadKernels(exports, kernels, only);
    return new Attend(instance, files);
  }

  // ---- calls

  get memory() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  /** A block of wasm memory with these bytes and a zero byte behind them. */
  copyIn(bytes) {
    const pointer = this.exports.malloc(bytes.length + 1);
    if (pointer === 0)
      throw new AttendError({ status: "no memory", message: `no memory for ${bytes.length} bytes` });
    this.memory.set(bytes, pointer);
    this.memory[pointer + bytes.length] = 0;
    return pointer;
  }

  textAt(pointer, limit = Infinity) {
    if (pointer === 0) return null;
    const memory = this.memory, most = Math.min(memory.length, pointer + limit);
    let end = pointer;
    while (end < most && memory[end] !== 0) end++;
    return new TextDecoder().decode(memory.subarray(pointer, end));
  }

  /** Calls an exported function. Strings and bytes are copied in for the time of the call; null is NULL. */
  call(name, ...values) {
    const borrowed = [];
    try {
      const plain = values.map((value) => {
        if (value === null || value === undefined) return 0;
        if (typeof value !== "string" && !(value instanceof Uint8Array)) return value;
        borrowed.push(this.copyIn(typeof value === "string" ? new TextEncoder().encode(value) : value));
        return borrowed[borrowed.length - 1];
      });
      return this.exports[name](...plain);
    } finally {
      for (const pointer of borrowed) this.exports.free(pointer);
    }
  }

  readError(status) {
    const view = new DataView(this.exports.memory.buffer);
    return new AttendError({
      status: STATUS[status] ?? "error",
      line: view.getInt32(this.error + ERROR.line, true),
      column: view.getInt32(this.error + ERROR.column, true),
      place: this.textAt(this.error + ERROR.place, 256) ?? "",
      message: this.textAt(this.error + ERROR.message, 768) ?? "",
      excerpt: this.textAt(this.error + ERROR.excerpt, 512) ?? "",
    });
  }

  /** Calls a function whose last argument is the att_error. */
  check(name, ...values) {
    this.memory.fill(0, this.error, this.error + ERROR.size);
    const status = this.call(name, ...values, this.error);
    if (status !== 0) throw this.readError(status);
  }

  /** Calls one that makes an object (`**out` first) and returns the pointer to it. */
  make(name, ...values) {
    const slot = this.out + STRING_SIZE;
    this.check(name, slot, ...values);
    return new DataView(this.exports.memory.buffer).getUint32(slot, true);
  }

  /** Calls one that appends to an att_string (first argument) and returns the bytes. */
  bytes(name, ...values) {
    this.memory.fill(0, this.out, this.out + STRING_SIZE);
    try {
      this.check(name, this.out, ...values);
      const view = new DataView(this.exports.memory.buffer);
      const data = view.getUint32(this.out, true), length = view.getUint32(this.out + 4, true);
      return this.memory.slice(data, data + length);
    } finally {
      this.exports.att_string_free(this.out);
    }
  }

  text(name, ...values) {
    return new TextDecoder().decode(this.bytes(name, ...values));
  }

  /** Runs `action` with copies of strings that an option struct keeps pointers to. */
  withStrings(strings, action) {
    const pointers = [];
    try {
      for (const text of strings)
        pointers.push(text === null || text === undefined ? 0 : this.copyIn(new TextEncoder().encode(text)));
      return action(...pointers);
    } finally {
      for (const pointer of pointers) if (pointer) this.exports.free(pointer);
    }
  }

  /** @param {RenderOptions} options @param {(options: number) => any} action */
  withRender(options, action) {
    const format = FORMATS[options.format ?? "text"], detail = DETAILS[options.detail ?? "sheet"];
    if (format === undefined)
      throw new AttendError({ status: "bad input", message: `unknown format '${options.format}'` });
    return this.withStrings([options.only], (only) =>
      action(this.exports.web_render_options(format, options.digits ?? 0, detail ?? 0, only, options.row ?? 0,
        options.head ?? 0, options.width ?? 0, options.arcs ?? false)));
  }

  /** @param {DecodingOptions & {target?: string, prefix?: string, allHeads?: boolean, layer?: number, head?: number}} o */
  withGenerate(o, action) {
    return this.withStrings([o.target, o.prefix], (target, prefix) =>
      action(this.exports.web_generate_options(this.decoding(o), o.allHeads ?? false, o.layer ?? 0, o.head ?? 0, target, prefix)));
  }

  /** @param {DecodingOptions} o */
  decoding(o) {
    return this.exports.web_decoding_options(o.beam ?? 0, o.nBest ?? 0, o.sample ?? false, o.temperature ?? 0,
      o.topK ?? 0, o.topP ?? 0, o.seed ?? 0, o.maxOutputLength ?? 0);
  }

  // ---- the library

  /** Version, kernels in use. */
  about() {
    return { version: this.textAt(this.exports.att_version()), cpu: this.textAt(this.exports.att_cpu_name()) };
  }

  /** Works out a sheet. Fails (AttendError with line and column) where it cannot be read.
   * @param {{text: string, name?: string, folder?: string} & RenderOptions} params */
  sheet({ text, name = "sheet.att", folder, ...render }) {
    const bytes = new TextEncoder().encode(text);
    const sheet = this.make("att_sheet_read", bytes, bytes.length, name, folder ?? null);
    try {
      const output = this.withRender({ format: "html", ...render }, (options) => this.text("att_sheet_render", sheet, options));
      return { output, checks: this.exports.att_sheet_checks(sheet), failures: this.failures(sheet), maps: this.maps(sheet) };
    } finally {
      this.exports.att_sheet_free(sheet);
    }
  }

  failures(sheet) {
    const count = this.exports.att_sheet_failures(sheet), found = [];
    for (let i = 0; i < count; i++) {
      this.exports.att_sheet_failure_get(this.error, sheet, i);
      const { line, column, message, excerpt } = this.readError(1);
      found.push({ line, column, message, excerpt });
    }
    return found;
  }

  /** The maps that `plot` lines ask for, as SVG. */
  maps(sheet) {
    const found = [];
    for (let i = 0; i < this.exports.att_sheet_map_count(sheet); i++)
      found.push(this.withRender({ format: "svg" }, (options) =>
        this.text("att_map_render", this.exports.att_sheet_map_get(sheet, i), options)));
    return found;
  }

  /** Puts files where sheets and training runs find them, and lists or reads them.
   * @param {{write?: Record<string, Uint8Array | string>, read?: string, remove?: string}} params */
  filesystem({ write = {}, read, remove }) {
    for (const [path, contents] of Object.entries(write)) this.files.write(path, contents);
    if (remove) this.files.remove(remove);
    return { files: this.files.list(), contents: read ? this.files.read(read) ?? null : null };
  }

  // ---- models

  /** Opens a model from the bytes of its file. @param {{bytes: Uint8Array, name?: string}} params */
  open({ bytes, name = "model.safetensors" }) {
    const pointer = this.make("att_model_read", bytes, bytes.length, name);
    this.files.write(name, bytes);
    const id = ++this.lastId;
    this.models.set(id, { pointer, name });
    return { model: id, ...this.info(pointer) };
  }

  info(pointer) {
    const layers = (block) => Number(this.exports.att_model_attention_layers(pointer, block));
    return {
      type: TYPES[this.exports.att_model_type_get(pointer)],
      info: JSON.parse(this.text("att_model_info", pointer, true)),
      attention: { encoder: layers(0), decoder: layers(1), cross: layers(2), heads: Number(this.exports.att_model_attention_heads(pointer)) },
    };
  }

  /** @param {{model: number}} params */
  close({ model }) {
    this.exports.att_model_free(this.find(model).pointer);
    this.models.delete(model);
    return {};
  }

  find(model) {
    const found = this.models.get(model);
    if (!found) throw new AttendError({ status: "bad input", message: `there is no model ${model}` });
    return found;
  }

  /** One line through a model: the output, prediction or tagging as an object, and its map as SVG.
   * @param {{model: number, line: string, target?: string, prefix?: string, layer?: number, head?: number, arcs?: boolean} & DecodingOptions} params */
  run({ model, line, arcs = false, ...options }) {
    const { pointer } = this.find(model), type = TYPES[this.exports.att_model_type_get(pointer)];
    const output = JSON.parse(this.withGenerate(options, (generate) => this.text("web_model_run", pointer, line, generate)));
    if (type !== "seq2seq") return { output, map: "" };
    const map = this.withGenerate(options, (generate) =>
      this.withRender({ format: "svg", arcs }, (render) => this.text("web_model_map", pointer, line, generate, render)));
    return { output, map };
  }

  /** Image `index`, from 0, of those that the training of a caption model generated: red, green and blue, a byte each.
   * @param {{model: number, index?: number}} params */
  image({ model, index = 0 }) {
    const { pointer } = this.find(model), block = this.exports.malloc(16);
    this.memory.fill(0, block, block + 16);
    try {
      const pixels = this.bytes("web_model_image", pointer, index, block);
      const [images, rows, columns, channels] = new Int32Array(this.exports.memory.buffer, block, 4);
      if (channels !== 3) throw new AttendError({ status: "unsupported",
        message: "this caption model reads features of an image encoder, which the page does not have; the program attend has" });
      return { images, rows, columns, pixels };
    } finally {
      this.exports.free(block);
    }
  }

  /** The caption of an image, and as SVG what each word attends to. `pixels` as image() returns them, of that size.
   * @param {{model: number, pixels: Uint8Array, rows: number, columns: number} & DecodingOptions} params */
  caption({ model, pixels, rows, columns, ...options }) {
    const { pointer } = this.find(model);
    if (pixels.length !== rows * columns * 3)
      throw new AttendError({ status: "bad input", message: `${pixels.length} bytes are no image of ${rows} × ${columns} pixels: expected ${rows * columns * 3}` });
    const run = (render) => this.withGenerate(options, (generate) => this.text("web_model_caption", pointer, pixels, rows, columns, generate, render));
    return { output: JSON.parse(run(0)), overlay: this.withRender({ format: "svg" }, run) };
  }

  /** Continues a text. @param {{model: number, prompt: string, tokens?: number} & DecodingOptions} params */
  complete({ model, prompt, tokens = 50, ...options }) {
    return { text: this.text("web_model_complete", this.find(model).pointer, prompt, this.decoding(options), tokens) };
  }

  /** The most probable tokens of each step, or labels of a classifier or tagger.
   * @param {{model: number, line: string, target?: string, count?: number} & DecodingOptions} params */
  alternatives({ model, line, target, count = 5, ...options }) {
    const found = this.withStrings([target], (forced) => this.make("att_model_alternatives", this.find(model).pointer, line,
      this.exports.web_alternatives_options(count, forced, this.decoding(options))));
    try {
      return JSON.parse(this.withRender({ format: "json" }, (options) => this.text("att_alternatives_render", found, options)));
    } finally {
      this.exports.att_alternatives_free(found);
    }
  }

  /** A beam search as a tree: SVG, and its nodes. @param {{model: number, line: string} & DecodingOptions} params */
  beamTree({ model, line, ...options }) {
    const tree = this.make("att_model_beam_tree", this.find(model).pointer, line, this.decoding({ beam: 4, ...options }));
    const render = (format) => this.withRender({ format }, (as) => this.text("att_beam_tree_render", tree, as));
    try {
      return { svg: render("svg"), ...JSON.parse(render("json")) };
    } finally {
      this.exports.att_beam_tree_free(tree);
    }
  }

  /** A copy of a Transformer with heads switched off, opened.
   * @param {{model: number, heads: {block: keyof typeof BLOCKS, layer: number, head: number}[]}} params */
  withoutHeads({ model, heads }) {
    const { pointer, name } = this.find(model);
    const numbers = new Int32Array(heads.flatMap(({ block, layer, head }) => [BLOCKS[block] ?? -1, layer, head]));
    const copy = this.make("web_model_without_heads", pointer, new Uint8Array(numbers.buffer), heads.length);
    const id = ++this.lastId;
    this.models.set(id, { pointer: copy, name });
    return { model: id };
  }

  /** Attention inside a Transformer as SVG; without layer and head an overview of all.
   * @param {{model: number, line: string, block: keyof typeof BLOCKS, layer?: number, head?: number, target?: string, arcs?: boolean}} params */
  attentionMap({ model, line, block, layer = 0, head = 0, target, arcs = false }) {
    const { pointer } = this.find(model), overview = layer === 0 && head === 0;
    return this.withStrings([line, target], (input, forced) =>
      this.withRender({ format: "svg", arcs }, (render) => ({
        svg: this.text("web_attention_map", pointer, this.exports.web_head_selection(BLOCKS[block], layer, head, input, forced),
          head === 0, overview, render),
      })));
  }

  /** A head as a worksheet. @param {{model: number, line: string, block: keyof typeof BLOCKS, layer: number, head: number}} params */
  headSheet({ model, line, block, layer, head }) {
    const { pointer, name } = this.find(model);
    return this.withStrings([line], (input) => ({
      text: this.text("att_model_head_sheet", pointer, name, this.exports.web_head_selection(BLOCKS[block], layer, head, input, 0)),
    }));
  }

  /** A text colored by a unit of a recurrent model, HTML.
   * @param {{model: number, text: string, layer: number, unit: number, signal?: keyof typeof SIGNALS}} params */
  unit({ model, text, layer, unit, signal = "default" }) {
    return { html: this.withRender({ format: "html" }, (render) =>
      this.text("web_unit_render", this.find(model).pointer, text, layer, unit, SIGNALS[signal] ?? 0, render)) };
  }

  /** Units that track properties of a text, and for each property a passage colored by its best unit.
   * `pattern` is a further property, NAME=REGEX.
   * @param {{model: number, text: string, pattern?: string, nBest?: number, signal?: keyof typeof SIGNALS}} params */
  cells({ model, text, pattern, nBest = 3, signal = "default" }) {
    const cells = this.make("web_cells_new", this.find(model).pointer, text, SIGNALS[signal] ?? 0, nBest, pattern || null);
    try {
      const found = JSON.parse(this.withRender({ format: "json" }, (render) => this.text("att_cells_render", cells, render)));
      const samples = found.properties.map((_, i) =>
        this.withRender({ format: "html" }, (render) => this.text("web_cells_sample", cells, i, render)));
      return { ...found, samples };
    } finally {
      this.exports.att_cells_free(cells);
    }
  }

  // ---- training

  /** Every setting of training. @param {{task?: string}} params */
  settings({ task } = {}) {
    const made = this.make("att_settings_new", task ?? null), rows = [];
    for (let i = 0; i < this.exports.att_setting_count(); i++) {
      const row = this.exports.att_setting_get(i), view = new DataView(this.exports.memory.buffer);
      const key = this.textAt(view.getUint32(row, true)) ?? "";
      rows.push({ key, group: this.textAt(view.getUint32(row + 4, true)), help: this.textAt(view.getUint32(row + 16, true)),
        value: this.text("att_settings_get", made, key), applies: Boolean(this.exports.att_settings_applies(made, row)) });
    }
    this.exports.att_settings_free(made);
    return rows;
  }

  /** Starts a training run: it has trained nothing yet. `files` are written first.
   * `config` has further settings, one `key = value` per line.
   * @param {{task: string, settings?: Record<string, string | number>, config?: string, files?: Record<string, Uint8Array | string>}} params */
  train({ task, settings = {}, config = "", files = {} }) {
    this.filesystem({ write: files });
    const made = this.make("att_settings_new", task);
    let pointer;
    try {
      const lines = new TextEncoder().encode(config);
      this.check("att_settings_read", made, lines, lines.length, "settings");
      for (const [key, value] of Object.entries(settings)) this.check("att_settings_set", made, key, String(value));
      this.check("att_settings_check", made);
      pointer = this.make("att_training_new", made, null);
    } catch (error) {
      this.exports.att_settings_free(made);
      throw error;
    }
    const id = ++this.lastId;
    this.runs.set(id, { pointer, settings: made, validations: [] });
    return { run: id, report: this.text("att_training_report", pointer), type: TYPES[this.exports.att_training_model_type(pointer)] };
  }

  findRun(run) {
    const found = this.runs.get(run);
    if (!found) throw new AttendError({ status: "bad input", message: `there is no training run ${run}` });
    return found;
  }

  numbers(names, action) {
    const block = this.exports.malloc(8 * names.length);
    try {
      if (action(block) === false) return null;
      const values = new Float64Array(this.exports.memory.buffer, block, names.length);
      return Object.fromEntries(names.map((name, i) => [name, values[i]]));
    } finally {
      this.exports.free(block);
    }
  }

  /** Trains for a slice and returns how far the run is, with the validations since the last call.
   * @param {{run: number, steps?: number, milliseconds?: number}} params */
  advance({ run, steps = 1e9, milliseconds = 100 }) {
    const found = this.findRun(run), news = [];
    const progress = this.numbers(PROGRESS, (block) => this.check("web_training_advance", found.pointer, steps, milliseconds, block));
    for (;;) {
      const index = found.validations.length;
      const row = this.numbers(VALIDATION, (block) => Boolean(this.exports.web_training_validation(found.pointer, index, block)));
      if (!row) break;
      found.validations.push(row);
      news.push(row);
    }
    return { progress, validations: news, steps: Number(this.exports.att_training_steps(found.pointer)),
      finished: Boolean(this.exports.att_training_finished(found.pointer)) };
  }

  /** One or two curves over steps, SVG. @param {{title: string, xLabel: string, yLabel: string, linear?: boolean,
   *   first: number, last: number, curves: {name: string, values: number[]}[]}} params */
  plot({ title, xLabel, yLabel, linear = false, first, last, curves }) {
    const values = new Float64Array(curves.flatMap(({ values: row }) => row)), count = curves[0].values.length;
    return { svg: this.text("web_plot", title, xLabel, yLabel, curves[0].name, curves[1]?.name ?? null,
      new Uint8Array(values.buffer), curves.length, count, linear, first, last) };
  }

  /** The best model of a run so far, opened. @param {{run: number, name?: string}} params */
  trained({ run, name = "model.safetensors" }) {
    const model = this.make("att_training_model", this.findRun(run).pointer);
    try {
      const bytes = this.bytes("att_model_write", model);
      return { bytes, ...this.open({ bytes, name }) };
    } finally {
      this.exports.att_model_free(model);
    }
  }

  /** Saves checkpoint and model, as `attend train` does, and returns the bytes of both files. @param {{run: number}} params */
  save({ run }) {
    const { pointer } = this.findRun(run);
    this.check("att_training_save", pointer);
    const read = (getter) => this.files.read(this.textAt(this.exports[getter](pointer)) ?? "") ?? null;
    return { model: read("att_training_model_path"), checkpoint: read("att_training_checkpoint_path") };
  }

  /** Ends a run. @param {{run: number}} params */
  endRun({ run }) {
    const { pointer, settings } = this.findRun(run);
    this.exports.att_training_free(pointer);
    this.exports.att_settings_free(settings);
    this.runs.delete(run);
    return {};
  }
}
