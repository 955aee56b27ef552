// Puts HTML, MathML and SVG of the library into the page. Labels, titles and tokens in it come from files and
// links that anybody may have written. So nothing is inserted as markup: the text is parsed into a document that
// runs nothing, and only known elements and attributes are copied from there. The Content-Security-Policy of the
// page would stop a script even so.

const HTML = new Set(`article section main div p span a u h1 h2 h3 h4 table thead tbody tr th td figure figcaption details
  summary footer ul ol li em strong b i code pre sub sup br hr`.split(/\s+/));
const SVG = new Set(`svg g rect path line polyline polygon circle ellipse text tspan title desc defs pattern
  linearGradient stop clipPath use filter feGaussianBlur`.split(/\s+/));
const MATH = new Set(`math mrow mi mn mo mtext mspace msup msub msubsup mfrac msqrt mroot mtable mtr mtd mover munder
  munderover mstyle mpadded mphantom mfenced merror semantics annotation`.split(/\s+/));
const SPACES = { "http://www.w3.org/1999/xhtml": HTML, "http://www.w3.org/2000/svg": SVG, "http://www.w3.org/1998/Math/MathML": MATH };

function copyAttributes(from, to) {
  for (const { name, value } of from.attributes) {
    if (name === "style") to.style.cssText = value;
    else if (/^(xlink:)?href$/.test(name)) value.startsWith("#") && to.setAttribute("href", value); // within the drawing only
    else if (/^(on|src|xlink|xmlns|formaction|action)/i.test(name) || /url\(\s*["']?(?!#)/i.test(value)) continue;
    else to.setAttribute(name, value);
  }
}

function copy(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  const known = SPACES[node.namespaceURI ?? ""];
  if (!known?.has(node.localName)) return null;
  const made = document.createElementNS(node.namespaceURI, node.localName);
  copyAttributes(node, made);
  for (const child of node.childNodes) {
    const inner = copy(child);
    if (inner) made.append(inner);
  }
  return made;
}

/** Shows HTML or SVG text in `element`, in a shadow tree with the styles that it came with, and `rules` besides. */
export function show(element, text, rules = "") {
  const css = [];
  // Taken out before parsing: the policy of the page would report them even in a document that shows nothing.
  const markup = text.replace(/<style>([^]*?)<\/style>/g, (_, rules) => (css.push(rules), ""));
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const body = document.createElement("div");
  body.className = "body";
  for (const child of parsed.body.childNodes) {
    const made = copy(child);
    if (made) body.append(made);
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css.join("\n").replaceAll(":root", ":host").replace(/(^|[{},])body\b/gm, "$1.body") +
    "\n.body>svg{max-width:100%;height:auto;display:block}.body>p{margin:.75rem}.line{display:none}main{padding-top:.5rem}" +
    "h1,h2,h3,p,li,figcaption{unicode-bidi:plaintext}" + rules); // each text in the direction of its script
  root.adoptedStyleSheets = [sheet];
  root.replaceChildren(body);
  element.hidden = false;
  element.classList.toggle("drawing", body.children.length > 0 && [...body.children].every((child) => child.localName === "svg"));
  // What scrolls sideways must be reached by the keyboard.
  for (const part of body.querySelectorAll(".eq, figure, .part, .step > div")) if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  return body;
}

/** An error as the library words it: "line 3, column 5: message". */
export function describe(error) {
  const place = error.line ? `line ${error.line}${error.column ? `, column ${error.column}` : ""}: ` : error.place ? `${error.place}: ` : "";
  return place + error.message;
}

/** Shows or hides a message. */
export function problem(element, error) {
  element.hidden = !error;
  element.textContent = error ? describe(error) : "";
}
