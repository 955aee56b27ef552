// A text editor with line numbers, an underlined error, matched brackets and completion of names: a textarea over
// a layer with the same text that carries the marks.

const PAIRS = { "(": ")", "[": "]", "{": "}" };
const MAX_MARKED = 1e6; // characters: line numbers and marks of more would stop the page
const CLOSING = Object.fromEntries(Object.entries(PAIRS).map(([open, close]) => [close, open]));

/** The index of the bracket that belongs to the one at `at`, or -1. */
function partner(text, at) {
  const character = text[at], forward = character in PAIRS, other = PAIRS[character] ?? CLOSING[character];
  if (!other) return -1;
  for (let i = at, depth = 0; i >= 0 && i < text.length; i += forward ? 1 : -1) {
    if (text[i] === character) depth++;
    if (text[i] === other && --depth === 0) return i;
  }
  return -1;
}

export class Editor {
  /** @param {HTMLElement} place @param {{label: string, onChange: () => void, onTooLarge?: (length: number) => void, words?: string[]}} options */
  constructor(place, { label, onChange, onTooLarge = () => {}, words = [] }) {
    this.words = words;
    this.bad = null;
    this.gutter = document.createElement("div");
    this.gutter.className = "gutter";
    this.gutter.setAttribute("aria-hidden", "true");
    this.layer = document.createElement("pre");
    this.layer.setAttribute("aria-hidden", "true");
    this.input = document.createElement("textarea");
    Object.assign(this.input, { spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off" });
    this.input.setAttribute("aria-label", label);
    this.list = document.createElement("ul");
    this.list.className = "names";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Names that begin so");
    this.list.hidden = true;
    const area = document.createElement("div");
    area.className = "area";
    area.append(this.layer, this.input, this.list);
    place.append(this.gutter, area);
    this.input.addEventListener("input", () => {
      this.bad = null;
      this.draw();
      if (this.value.length <= MAX_MARKED) this.suggest();
      onChange();
    });
    this.input.addEventListener("paste", (event) => {
      const length = event.clipboardData?.getData("text/plain").length ?? 0;
      if (this.value.length + length <= MAX_MARKED) return;
      event.preventDefault();
      onTooLarge(length);
    });
    this.input.addEventListener("scroll", () => this.scroll());
    this.input.addEventListener("blur", () => (this.list.hidden = true));
    this.input.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === this.input) this.draw();
    });
  }

  get value() {
    return this.input.value;
  }

  set value(text) {
    this.input.value = text;
    this.bad = null;
    this.draw();
  }

  /** Underlines from a line and column (both from 1) to the end of the word there. */
  mark(line, column, message) {
    this.bad = line > 0 ? { line, column: Math.max(1, column), message } : null;
    if (this.bad) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
    this.draw();
  }

  /** Puts the cursor at a line. */
  goTo(line) {
    const start = this.value.split("\n").slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0);
    this.input.focus();
    this.input.setSelectionRange(start, start);
    this.input.scrollTop = (line - 4) * (this.input.scrollHeight / Math.max(1, this.value.split("\n").length));
  }

  badRange(rows) {
    if (!this.bad || this.bad.line > rows.length) return null;
    const before = rows.slice(0, this.bad.line - 1).reduce((sum, row) => sum + row.length + 1, 0), row = rows[this.bad.line - 1];
    // Columns count characters, and JavaScript counts UTF-16 units.
    const column = Math.min([...row].slice(0, this.bad.column - 1).join("").length, Math.max(0, row.length - 1));
    const word = row.slice(column).match(/^[\p{L}\p{N}_.]+/u)?.[0].length ?? 1;
    return [before + column, before + column + Math.max(1, word)];
  }

  draw() {
    if (this.value.length > MAX_MARKED) {
      this.gutter.textContent = "";
      this.layer.replaceChildren();
      return;
    }
    const text = this.value, rows = text.split("\n"), marks = [];
    this.gutter.textContent = rows.map((_, i) => i + 1).join("\n");
    const bad = this.badRange(rows);
    if (bad) marks.push([...bad, "bad"]);
    const at = this.input.selectionStart;
    for (const here of [at - 1, at]) {
      const other = document.activeElement === this.input ? partner(text, here) : -1;
      if (other >= 0) {
        marks.push([here, here + 1, "bracket"], [other, other + 1, "bracket"]);
        break;
      }
    }
    this.layer.replaceChildren();
    let done = 0;
    for (const [start, end, kind] of marks.sort((a, b) => a[0] - b[0])) {
      if (start < done) continue;
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = text.slice(start, end);
      this.layer.append(text.slice(done, start), span);
      done = end;
    }
    this.layer.append(text.slice(done) + "\n");
    this.scroll();
  }

  scroll() {
    this.layer.scrollTop = this.gutter.scrollTop = this.input.scrollTop;
    this.layer.scrollLeft = this.input.scrollLeft;
  }

  // ---- completion

  /** The word before the cursor. */
  word() {
    return this.value.slice(0, this.input.selectionStart).match(/[\p{L}_][\p{L}\p{N}_]*$/u)?.[0] ?? "";
  }

  suggest() {
    const word = this.word();
    const names = new Set([...this.words, ...(this.value.match(/^[ \t]*[\p{L}_][\p{L}\p{N}_]*(?=\s*=)/gmu) ?? []).map((name) => name.trim())]);
    const found = word.length < 2 ? [] : [...names].filter((name) => name.startsWith(word) && name !== word).sort().slice(0, 8);
    this.list.replaceChildren(...found.map((name, i) => {
      const item = document.createElement("li");
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(i === 0));
      item.textContent = name;
      item.addEventListener("mousedown", (event) => (event.preventDefault(), this.complete(name)));
      return item;
    }));
    this.list.hidden = found.length === 0;
    if (!this.list.hidden) this.placeList();
  }

  placeList() {
    const before = this.value.slice(0, this.input.selectionStart).split("\n"), style = getComputedStyle(this.input);
    const height = parseFloat(style.lineHeight), width = parseFloat(style.fontSize) * 0.6;
    this.list.style.top = `${before.length * height + 10 - this.input.scrollTop}px`;
    this.list.style.left = `${Math.min(before[before.length - 1].length * width - this.input.scrollLeft, this.input.clientWidth - 120)}px`;
  }

  complete(name) {
    const start = this.input.selectionStart - this.word().length;
    this.input.setRangeText(name, start, this.input.selectionStart, "end");
    this.list.hidden = true;
    this.input.dispatchEvent(new Event("input"));
    this.list.hidden = true;
  }

  /** In the list: arrows choose, Enter or Tab takes, Escape closes. Elsewhere the keys do what they always do. */
  key(event) {
    if (this.list.hidden) return;
    const items = [...this.list.children], at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      items[at].setAttribute("aria-selected", "false");
      items[(at + step + items.length) % items.length].setAttribute("aria-selected", "true");
    } else if (event.key === "Tab" || event.key === "Enter") this.complete(items[at].textContent);
    else if (event.key === "Escape") this.list.hidden = true;
    else return;
    event.preventDefault();
  }
}
