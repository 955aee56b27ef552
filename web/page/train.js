// Tab 4: training in the page, two runs side by side. Each run has a Worker of its own and advances in slices, so
// that Pause and Stop are heard.
import { download } from "./files.js";
import { problem, show } from "./render.js";

const SLICE_MILLISECONDS = 150;
const REDRAW_MILLISECONDS = 1000;
const MODEL_FILE = "model.safetensors";
const FEW_LINES = 400; // of these, the usual twentieth would be too few to validate on
const MAX_CAPTION = 10; // words: a model that has learned little says the same word again and again

/** label; the file that the data is put into; what the data looks like; an input to watch. */
const TASKS = {
  reverse: { label: "reverse a string", watch: "abcddcab" },
  copy: { label: "copy a string", watch: "abcddcab" },
  sort: { label: "sort a string", watch: "dcbaabcd" },
  shapes: { label: "describe shapes (captions of small images)" },
  pairs: { label: "pairs of lines (paste or drop)", file: "pairs.tsv", example: "source<TAB>target, one pair per line" },
  lm: { label: "text (paste or drop)", file: "text.txt", example: "a text to learn to continue" },
  classify: { label: "labeled sentences (paste or drop)", file: "labels.tsv", example: "sentence<TAB>label, one per line" },
  tag: { label: "tagged sentences (paste or drop)", file: "tags.txt", example: "token<TAB>label, one per line; an empty line ends a sentence" },
};

/** Tasks whose RNN has no decoder that attends. */
const UNATTENDED = ["lm", "classify", "tag"];

const CHOICES = {
  architecture: ["rnn", "transformer"],
  attention: ["general", "none", "dot", "scaled", "additive", "concat", "location", "local", "coverage"],
};

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const labeled = (text, input, className = "") => element("label", { className }, text, input);
const choice = (values, labels = values) => element("select", {}, ...values.map((value, i) => new Option(labels[i], value)));
const count = (value, min, max) => element("input", { type: "number", value, min, max, step: "any" });

/** Values of settings as words of a command line. */
function commandLine(task, settings, config) {
  const extra = config.split("\n").map((line) => line.replace(/#.*/, "").trim()).filter(Boolean)
    .map((line) => line.split("=").map((part) => part.trim()));
  const words = [...Object.entries(settings), ...extra].map(([key, value]) => `--${key} ${/[^\w.,:-]/.test(String(value)) ? `'${value}'` : value}`);
  return `attend train ${task} ${words.join(" ")}`;
}

async function sha256(bytes) {
  if (!crypto.subtle) return "(needs https)";
  return Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Run {
  constructor({ connect, notice }, title, attention) {
    this.connect = connect;
    this.notice = notice;
    this.state = "idle";
    this.build(title, attention);
  }

  build(title, attention) {
    this.heading = element("h3", { textContent: title });
    this.task = choice(Object.keys(TASKS), Object.values(TASKS).map((task) => task.label));
    this.architecture = choice(CHOICES.architecture);
    this.attention = choice(CHOICES.attention);
    this.attention.value = attention;
    this.hidden = count(48, 4, 1024);
    this.steps = count(800, 1, 1e6);
    this.rate = count(0.004, 0, 1);
    this.seed = count(1, 0, 1e9);
    this.watch = element("input", { value: TASKS.reverse.watch, autocomplete: "off", dir: "auto" });
    this.data = element("textarea", { spellcheck: false, dir: "auto" });
    this.config = element("textarea", { spellcheck: false, placeholder: "any setting, one per line: dropout = 0.1" });
    this.dataBox = labeled("Data", this.data, "wide");
    this.dataBox.hidden = true;
    this.controls = element("div", { className: "controls" }, labeled("Task", this.task, "wide"), labeled("Architecture", this.architecture),
      labeled("Attention", this.attention), labeled("Hidden size", this.hidden), labeled("Steps", this.steps),
      labeled("Learning rate", this.rate), labeled("Seed", this.seed), labeled("Input to watch", this.watch, "wide"), this.dataBox,
      element("details", { className: "wide" }, element("summary", { textContent: "More settings" }), labeled("Settings", this.config, "wide")));
    this.start = element("button", { className: "main", textContent: "Start" });
    this.pause = element("button", { textContent: "Pause", disabled: true });
    this.stop = element("button", { textContent: "Stop", disabled: true });
    this.save = element("button", { textContent: "Download the model", disabled: true });
    this.bar = element("progress", { max: 1, value: 0 });
    this.bar.setAttribute("aria-label", `progress of ${title}`);
    this.problem = element("p", { className: "problem", hidden: true });
    this.problem.setAttribute("role", "status");
    this.numbers = element("dl");
    this.loss = element("div", { className: "output", hidden: true });
    this.accuracy = element("div", { className: "output", hidden: true });
    this.map = element("div", { className: "output", hidden: true });
    this.digest = element("div", { hidden: true });
    this.watched = element("p", { className: "watched", dir: "auto" });
    this.watched.dataset.task = "reverse";
    this.box = element("div", { className: "run" }, this.heading, this.controls,
      element("div", { className: "bar" }, this.start, this.pause, this.stop, this.save), this.bar, this.problem, this.numbers,
      this.digest, this.loss, this.accuracy, this.watched, this.map);
    for (const menu of [this.task, this.architecture, this.attention]) menu.addEventListener("change", () => this.chooseTask());
    this.start.addEventListener("click", () => this.begin());
    this.pause.addEventListener("click", () => this.togglePause());
    this.stop.addEventListener("click", () => {
      this.state = "stopped";
      this.wake?.();
    });
    this.save.addEventListener("click", () => download(MODEL_FILE, this.model));
    this.data.addEventListener("drop", async (event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      event.stopPropagation();
      this.data.value = await file.text();
    });
  }

  chooseTask() {
    const task = TASKS[this.task.value];
    this.dataBox.hidden = !task.file;
    this.data.placeholder = task.example ?? "";
    if (this.watched.dataset.task !== this.task.value) this.watch.value = task.watch ?? "";
    this.watched.dataset.task = this.task.value;
    this.watch.parentElement.hidden = this.task.value === "shapes";
    this.attention.disabled = UNATTENDED.includes(this.task.value) || this.architecture.value === "transformer";
    const attends = this.architecture.value === "transformer" || (!UNATTENDED.includes(this.task.value) && this.attention.value !== "none");
    this.heading.textContent = attends ? "With attention" : "Without attention";
  }

  settings() {
    const task = TASKS[this.task.value];
    const found = { architecture: this.architecture.value, "hidden-size": this.hidden.value, steps: this.steps.value,
      epochs: this.steps.value, // so that the steps alone end the run: few examples are read as often as it takes
      "learning-rate": this.rate.value, seed: this.seed.value, "validate-every": Math.max(1, Math.round(Number(this.steps.value) / 12)) };
    if (this.architecture.value === "rnn" && !UNATTENDED.includes(this.task.value)) found.attention = this.attention.value;
    if (task.file) found.train = task.file;
    if (task.file && this.data.value.split("\n").length < FEW_LINES) found["valid-fraction"] = 0.2;
    return { ...found, out: MODEL_FILE };
  }

  buttons() {
    const training = this.state === "training" || this.state === "paused";
    this.start.disabled = training;
    this.pause.disabled = this.stop.disabled = !training;
    this.pause.textContent = this.state === "paused" ? "Continue" : "Pause";
    for (const input of this.controls.querySelectorAll("input, select, textarea")) input.disabled = training && input !== this.watch;
  }

  togglePause() {
    if (this.state !== "training" && this.state !== "paused") return;
    this.state = this.state === "paused" ? "training" : "paused";
    this.buttons();
    this.wake?.();
  }

  async begin() {
    const task = TASKS[this.task.value];
    problem(this.problem, null);
    this.save.disabled = true;
    this.digest.hidden = true;
    this.validations = [];
    this.image = null;
    this.state = "training";
    this.buttons();
    this.client ??= this.connect((reason) => {
      this.client = null;
      this.fail(new Error(reason));
    });
    try {
      if (this.run) await this.client.call("endRun", { run: this.run });
      this.run = null;
      const made = await this.client.call("train", { task: this.task.value, settings: this.settings(), config: this.config.value,
        files: task.file ? { [task.file]: this.data.value } : {} });
      this.run = made.run;
      this.type = made.type;
      this.drawn = 0;
      this.command = commandLine(this.task.value, this.settings(), this.config.value);
      await this.loop();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    this.state = "idle";
    this.buttons();
    problem(this.problem, error);
  }

  /** Slices until the run is finished or stopped; between two of them the buttons are heard. */
  async loop() {
    let finished = false;
    while (!finished && this.state !== "stopped") {
      if (this.state === "paused") {
        await new Promise((resolve) => (this.wake = resolve));
        continue;
      }
      const slice = await this.client.call("advance", { run: this.run, milliseconds: SLICE_MILLISECONDS });
      finished = slice.finished;
      this.validations.push(...slice.validations);
      this.tell(slice.progress, slice.steps);
      if (finished || slice.validations.length || performance.now() - this.drawn > REDRAW_MILLISECONDS) await this.redraw();
    }
    this.state = finished ? "finished" : "stopped";
    await this.end();
    this.buttons();
  }

  tell(progress, steps) {
    const last = this.validations.at(-1);
    this.bar.value = progress.steps > 0 ? steps / progress.steps : 0;
    if (Number.isFinite(progress.loss)) this.lastLoss = progress.loss.toFixed(4);
    const rows = [["step", `${steps} of ${progress.steps || "?"}`], ["training loss", this.lastLoss ?? "…"]];
    if (progress.tokensPerSecond >= 1) this.lastRate = Math.round(progress.tokensPerSecond).toLocaleString("en");
    rows.push(["tokens per second", this.lastRate ?? "…"]);
    if (last) {
      rows.push(["validation loss", Number.isFinite(last.loss) ? last.loss.toFixed(4) : "–"], ["token accuracy", `${(100 * last.accuracy).toFixed(2)} %`]);
      if (Number.isFinite(last.exactMatch)) rows.push(["whole lines right", `${(100 * last.exactMatch).toFixed(2)} %`]);
    }
    this.numbers.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", { textContent: name }), element("dd", { textContent: value })]));
  }

  async redraw() {
    this.drawn = performance.now();
    if (this.validations.length > 1) await this.drawCurves();
    if (this.type !== "caption" && !this.watch.value.trim()) return;
    const { model, attention } = await this.client.call("trained", { run: this.run });
    try {
      const { text, map } = await this.example(model, attention);
      this.watched.textContent = text;
      show(this.map, map || (this.type === "seq2seq" || this.type === "caption" ? "<p>no attention: only the last state reaches the decoder</p>"
        : "<p>no attention to show: choose the architecture “transformer” for a map</p>"));
    } finally {
      await this.client.call("close", { model });
    }
  }

  /** What the model of now makes of the example, and its attention. */
  async example(model, attention) {
    const line = this.watch.value;
    if (this.type === "caption") {
      this.image ??= await this.client.call("image", { model });
      const { pixels, rows, columns } = this.image;
      const { output, overlay } = await this.client.call("caption", { model, pixels, rows, columns, maxOutputLength: MAX_CAPTION });
      return { text: output.text, map: overlay };
    }
    if (this.type === "seq2seq") {
      const { output, map } = await this.client.call("run", { model, line });
      return { text: `${line} → ${output.text}`, map };
    }
    const map = attention.heads ? (await this.client.call("attentionMap", { model, line, block: this.type === "lm" ? "decoder" : "encoder" })).svg : "";
    if (this.type === "lm") return { text: line + (await this.client.call("complete", { model, prompt: line, tokens: 40 })).text, map };
    const { output } = await this.client.call("run", { model, line });
    return { text: `${line} → ${output.label ?? output.labels.join(" ")}`, map };
  }

  async drawCurves() {
    const rows = this.validations, range = { first: rows[0].step, last: rows.at(-1).step, xLabel: "step" };
    const values = (key) => rows.map((row) => row[key]);
    const loss = await this.client.call("plot", { ...range, title: "Loss", yLabel: "nats per token",
      curves: [{ name: "training", values: values("trainLoss") }, { name: "validation", values: values("loss") }] });
    const accuracy = await this.client.call("plot", { ...range, title: "Accuracy", yLabel: "part of tokens", linear: true,
      curves: [{ name: "training", values: values("trainAccuracy") }, { name: "validation", values: values("accuracy") }] });
    show(this.loss, loss.svg);
    show(this.accuracy, accuracy.svg);
  }

  async end() {
    const saved = await this.client.call("save", { run: this.run });
    const model = saved.model ?? (await this.client.call("trained", { run: this.run })).bytes; // no validation yet
    this.model = model;
    this.save.disabled = false;
    const digest = await sha256(model);
    this.digest.hidden = false;
    this.digest.replaceChildren(
      element("p", {}, "SHA-256 of the model: ", element("code", { className: "sha", textContent: digest })),
      element("p", { className: "soft" }, this.state === "finished" ? "The same digest natively: " : "Stopped early. To its end natively: ",
        element("code", { textContent: `${this.command} && sha256sum ${MODEL_FILE}` })));
  }
}

export function startTraining(page) {
  const runs = [new Run(page, "With attention", "general"), new Run(page, "Without attention", "none")];
  /** @type {any} */ (document.getElementById("train-runs")).append(...runs.map((run) => run.box));
}
