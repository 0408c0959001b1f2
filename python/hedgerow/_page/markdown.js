// Markdown as elements: headings, paragraphs, lists, tables, code, block quotes and rules. HTML stays
// text, and attachments are named. References ([text][name]) and footnotes stay as written.

const MOST_RENDERED = 500_000; // Characters: a longer text is shown as its source.
const MOST_COMMENT_LINES = 100; // A longer comment is shown as text.
const FENCE = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})(?:([-+*])|(\d{1,9})([.)]))(?= |$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const INDENT = /^ {4}/;

/** The number of lines of the front matter at the beginning of a text. */
function frontMatterLines(lines) {
  if (lines[0]?.replace(/^\ufeff/, "").trimEnd() !== "---") return 0;
  const end = lines.findIndex((line, at) => at > 0 && ["---", "..."].includes(line.trimEnd()));
  return end < 0 ? 0 : end + 1;
}

/**
 * Render the Markdown of a memory, without front matter.
 *
 * A heading at the beginning that repeats `title` is left out. Blocks that have one of the lines
 * `marked`, as [first, last], have the class `inside`.
 */
function markdown(text, { title = "", marked: passage = null, linkTo = () => null } = {}) {
  const article = make("div", { class: "markdown" });
  const lines = text.split(/\r\n?|\n/);
  const start = frontMatterLines(lines);
  const rest = lines.slice(start).map((line, at) => ({ text: withoutTabs(line), number: start + at + 1 }));
  appendBlocks(article, rest, { passage, linkTo, depth: 0, isTight: false });
  const first = article.firstElementChild;
  if (first?.tagName === "H3" && first.textContent.trim() === title.trim()) first.remove();
  return article;
}

/** The line with spaces instead of the tabs before its text and after the mark of a list item. */
function withoutTabs(line) {
  if (!line.includes("\t")) return line;
  const indent = /^[ \t]*/.exec(line)[0].replaceAll("\t", "    ");
  return indent + line.trimStart().replace(/^([-+*]|\d{1,9}[.)])\t/, "$1 ");
}

const isBlank = ({ text }) => text.trim() === "";

function isRule({ text }) {
  return /^(?:-{3,}|\*{3,}|_{3,})$/.test(text.replaceAll(" ", "")) && !INDENT.test(text);
}

/** Whether a line begins another block, so that it does not continue a paragraph. */
function interrupts(line) {
  const { text } = line;
  if (isBlank(line) || FENCE.test(text) || HEADING.test(text) || QUOTE.test(text) || isRule(line)) return true;
  const item = ITEM.exec(text);
  return item !== null && (item[3] === undefined || item[3] === "1") && text.length > item[0].length;
}

const BLOCKS = [appendFence, appendHeading, appendRule, appendQuote, appendList, appendComment, appendTable, appendIndented];

/** Append the blocks of some lines. Each kind of block returns the lines it took, or 0. */
function appendBlocks(parent, lines, context) {
  const isDeep = context.depth >= MOST_NESTED;
  const kinds = isDeep ? BLOCKS.filter((kind) => kind !== appendQuote && kind !== appendList) : BLOCKS;
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    let taken = 0;
    for (const append of kinds) {
      taken = append(parent, lines, at, context);
      if (taken) break;
    }
    at += taken || appendParagraph(parent, lines, at, context);
  }
}

/** A block as an element; it is marked if its lines overlap the passage. */
function block(name, lines, { passage }) {
  const [first, last] = [lines[0].number, lines.at(-1).number];
  const isInside = passage && first <= passage[1] && last >= passage[0];
  return make(name, isInside ? { class: "inside" } : {});
}

function appendFence(parent, lines, at, context) {
  const opened = FENCE.exec(lines[at].text);
  if (!opened) return 0;
  const fence = opened[1] ?? opened[2];
  const isEnd = ({ text }) => {
    const mark = text.trim();
    return mark.length >= fence.length && mark === fence[0].repeat(mark.length) && !INDENT.test(text);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end])) end += 1;
  const indent = lines[at].text.search(/\S/);
  const code = lines.slice(at + 1, end).map(({ text }) => text.slice(Math.min(indent, text.search(/\S|$/))));
  const box = block("pre", lines.slice(at, Math.min(end + 1, lines.length)), context);
  box.append(make("code", {}, code.join("\n")));
  parent.append(directed(box));
  return end + 1 - at;
}

function appendHeading(parent, lines, at, context) {
  const found = HEADING.exec(lines[at].text);
  if (!found) return 0;
  let text = lines[at].text.slice(found[0].length).trim();
  const closed = text.slice(0, endWithout(text, "#"));
  if (closed === "" || closed.endsWith(" ")) text = closed.trimEnd();
  appendHeadingText(parent, [lines[at]], text, found[1].length, context);
  return 1;
}

function endWithout(text, character) {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return end;
}

/** The title of the memory is an `h2`, so its own headings begin with `h3`. */
function appendHeadingText(parent, lines, text, level, context) {
  parent.append(directed(appendInline(block(`h${Math.min(6, level + 2)}`, lines, context), text, context.linkTo)));
}

function appendRule(parent, lines, at) {
  if (!isRule(lines[at])) return 0;
  parent.append(make("hr"));
  return 1;
}

function appendQuote(parent, lines, at, context) {
  if (!QUOTE.test(lines[at].text)) return 0;
  const inner = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const found = QUOTE.exec(line.text);
    // A paragraph in a quote goes on in lines without the mark.
    if (!found && (interrupts(line) || isBlank(inner.at(-1)))) break;
    inner.push({ ...line, text: line.text.slice(found?.[0].length ?? 0) });
  }
  const quote = make("blockquote");
  appendBlocks(quote, inner, { ...context, depth: context.depth + 1, isTight: false });
  parent.append(quote);
  return end - at;
}

function appendList(parent, lines, at, context) {
  const first = ITEM.exec(lines[at].text);
  if (!first) return 0;
  const items = [];
  let [end, isLoose] = [at, false];
  for (let found = first; found && sameList(first, found); found = ITEM.exec(lines[end]?.text ?? "")) {
    if (items.length > 0 && isRule(lines[end])) break;
    const item = itemLines(lines, end, found);
    isLoose ||= items.length > 0 && isBlank(lines[end - 1]);
    isLoose ||= item.some((line, n) => isBlank(line) && n < item.length - 1);
    items.push(item);
    end += item.length;
    while (end < lines.length && isBlank(lines[end])) end += 1;
  }
  const list = first[3] === undefined ? make("ul") : make("ol", { start: Number(first[3]) });
  const inner = { ...context, depth: context.depth + 1, isTight: !isLoose };
  for (const item of items) list.append(listItem(item, inner));
  parent.append(list);
  return end - at;
}

const sameList = (one, other) => one[2] === other[2] && one[4] === other[4];

/** The lines of a list item, without its mark and indentation. */
function itemLines(lines, at, found) {
  const [mark] = found;
  const rest = lines[at].text.slice(mark.length);
  const spaces = rest.search(/\S|$/);
  const width = mark.length + (spaces > 4 || spaces === rest.length ? 1 : spaces);
  const item = [{ ...lines[at], text: lines[at].text.slice(width) }];
  for (let end = at + 1; end < lines.length; end += 1) {
    const line = lines[end];
    const isIndented = line.text.search(/\S|$/) >= width;
    if (!isBlank(line) && !isIndented && (isBlank(item.at(-1)) || interrupts(line) || ITEM.test(line.text))) break;
    item.push({ ...line, text: isIndented ? line.text.slice(width) : line.text });
  }
  while (item.length > 1 && isBlank(item.at(-1))) item.pop();
  return item;
}

function listItem(lines, context) {
  const task = /^\[([ xX])\] /.exec(lines[0].text);
  const rest = task ? [{ ...lines[0], text: lines[0].text.slice(task[0].length) }, ...lines.slice(1)] : lines;
  const item = block("li", lines, context);
  if (task) {
    const checked = task[1] !== " ";
    item.classList.add("task");
    item.append(make("input", { type: "checkbox", checked, disabled: true, "aria-label": checked ? "done" : "to do" }), " ");
  }
  appendBlocks(item, rest, { ...context, passage: null });
  return directed(item);
}

/** A comment is for programs, such as the one that writes pages. The source shows it. */
function appendComment(parent, lines, at) {
  if (!/^ {0,3}<!--/.test(lines[at].text)) return 0;
  const length = lines.slice(at, at + MOST_COMMENT_LINES).findIndex(({ text }) => text.includes("-->")) + 1;
  return length && lines[at + length - 1].text.trimEnd().endsWith("-->") ? length : 0;
}

function cellsOf({ text }) {
  const inner = text.trim().replace(/^\|/, "");
  const cells = [""];
  for (const piece of inner.split(/(\\\||\|)/)) {
    if (piece === "|") cells.push("");
    else cells[cells.length - 1] += piece === "\\|" ? "|" : piece;
  }
  if (cells.length > 1 && cells.at(-1).trim() === "") cells.pop();
  return cells.map((cell) => cell.trim());
}

function appendTable(parent, lines, at, context) {
  if (at + 1 === lines.length || !lines[at].text.includes("|") || !/^[-:| ]+$/.test(lines[at + 1].text)) return 0;
  const [heads, rules] = [cellsOf(lines[at]), cellsOf(lines[at + 1])];
  if (heads.length !== rules.length || !rules.every((rule) => /^:?-+:?$/.test(rule))) return 0;
  let end = at + 2;
  while (end < lines.length && !interrupts(lines[end])) end += 1;
  const aligned = rules.map((rule) => (rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "end") : "start"));
  const row = (line, name) => {
    const cells = (name === "th" ? heads : cellsOf(line).slice(0, heads.length)).map((text, column) =>
      directed(appendInline(make(name, { class: `align-${aligned[column]}`, ...(name === "th" ? { scope: "col" } : {}) }), text, context.linkTo)));
    const made = block("tr", [line], context);
    made.append(...cells);
    return made;
  };
  const body = lines.slice(at + 2, end).map((line) => row(line, "td"));
  parent.append(make("div", { class: "table", role: "region", tabIndex: 0, "aria-label": "Table" },
    make("table", {}, make("thead", {}, row(lines[at], "th")), make("tbody", {}, body))));
  return end - at;
}

function appendIndented(parent, lines, at, context) {
  let end = at;
  while (end < lines.length && (INDENT.test(lines[end].text) || (end > at && isBlank(lines[end])))) end += 1;
  if (end === at) return 0;
  const box = block("pre", lines.slice(at, end), context);
  box.append(make("code", {}, lines.slice(at, end).map(({ text }) => text.slice(4)).join("\n").trimEnd()));
  parent.append(directed(box));
  return end - at;
}

function appendParagraph(parent, lines, at, context) {
  let end = at + 1;
  while (end < lines.length && !UNDERLINE.test(lines[end].text) && !interrupts(lines[end])) end += 1;
  const taken = lines.slice(at, end);
  const text = taken.map((line) => line.text.trimStart()).join("\n").trimEnd();
  const underline = end < lines.length && UNDERLINE.exec(lines[end].text);
  if (underline) {
    appendHeadingText(parent, [...taken, lines[end]], text, underline[1][0] === "=" ? 1 : 2, context);
    return end + 1 - at;
  }
  // A tight item of a list holds its text itself.
  const element = context.isTight ? parent : block("p", taken, context);
  if (context.isTight && parent.lastChild?.nodeType === Node.TEXT_NODE) element.append("\n");
  appendInline(element, text, context.linkTo);
  if (element !== parent) parent.append(directed(element));
  return end - at;
}
