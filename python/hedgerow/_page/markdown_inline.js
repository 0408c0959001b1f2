// Markdown inside one block: code, emphasis, links. Each scan stops at the next character that could
// begin such a scan again, so the time is linear in the length of the text.

const MOST_NESTED = 16; // Of elements inside each other: deeper markup is shown as plain text.

const PLAIN = /[^\\`*_~[\]!<&\nhH]+/y;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/y;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };
const RUN = /`+/y;
const DELIMITERS = /\*+|_+|~~/y;
const WIKI_LINK = /!?\[\[([^[\]\n|]+)(?:\|([^[\]\n]+))?\]\]/y;
const DESTINATION = /\(\s*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y;
const ANGLE_LINK = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy;
const BARE_LINK = /https?:\/\/[^\s<>"`[\]]+/iy;
const SPACE = /\s/;
const PUNCTUATION = /[\p{P}\p{S}]/u;

/** Append a text to an element; `linkTo(target, isName)` returns the properties of a link, or null. */
function appendInline(element, text, linkTo) {
  appendItems(element, scanInline(text), linkTo);
  return element;
}

/** Let the text of an element set its direction. Set last: browsers look at all children for each new one. */
function directed(element) {
  element.dir = "auto";
  return element;
}

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Split a text into items: texts, links, elements and delimiters of emphasis. */
function scanInline(text) {
  const scan = { text, at: 0, items: [], brackets: [], runs: codeRuns(text) };
  while (scan.at < text.length) {
    const step = scanSpecial(scan) ?? scanText(scan);
    scan.at += step;
  }
  return scan.items;
}

function scanText(scan) {
  const plain = matchAt(PLAIN, scan.text, scan.at)?.[0] ?? scan.text[scan.at];
  return pushText(scan, plain, plain.length);
}

function pushText(scan, text, length) {
  const last = scan.items.at(-1);
  if (last?.kind === "text") last.text += text;
  else scan.items.push({ kind: "text", text });
  return length;
}

/** Read one piece of markup and return its length; null if there is only text. */
function scanSpecial(scan) {
  const { text, at } = scan;
  switch (text[at]) {
    case "\\": return scanEscape(scan);
    case "&": return scanEntity(scan);
    case "`": return scanCode(scan);
    case "\n": return scanBreak(scan);
    case "*": case "_": case "~": return scanDelimiters(scan);
    case "[": case "!": return scanWikiLink(scan) ?? openBracket(scan);
    case "]": return closeBracket(scan);
    case "<": return scanLink(scan, matchAt(ANGLE_LINK, text, at));
    case "h": case "H": return scanBareLink(scan);
    default: return null;
  }
}

function scanEscape(scan) {
  const found = matchAt(ESCAPED, scan.text, scan.at);
  if (found) return pushText(scan, found[1], 2);
  return scan.text[scan.at + 1] === "\n" ? pushBreak(scan, 2) : null;
}

function scanEntity(scan) {
  const found = matchAt(ENTITY, scan.text, scan.at);
  if (!found) return null;
  const [whole, decimal, hex, name] = found;
  const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
  const isCharacter = code > 0 && code <= 0x10ffff;
  return pushText(scan, name ? ENTITIES[name] : isCharacter ? String.fromCodePoint(code) : "\ufffd", whole.length);
}

function scanBreak(scan) {
  // Of the whole text, since the text of an item is expensive to look at while it grows.
  if (!scan.text.startsWith("  ", scan.at - 2) || scan.at < 2) return null;
  const last = scan.items.at(-1);
  if (last?.kind !== "text") return null;
  last.text = last.text.trimEnd();
  return pushBreak(scan, 1);
}

function pushBreak(scan, length) {
  scan.items.push({ kind: "element", element: make("br") });
  return length;
}

/** The offsets of runs of backticks, by length, so that a run finds the next equal one at once. */
function codeRuns(text) {
  const runs = new Map();
  for (const { 0: { length }, index } of text.matchAll(/`+/g)) {
    if (!runs.has(length)) runs.set(length, { offsets: [], next: 0 });
    runs.get(length).offsets.push(index);
  }
  return runs;
}

function scanCode(scan) {
  const [{ length }] = matchAt(RUN, scan.text, scan.at);
  const start = scan.at + length;
  const run = scan.runs.get(length);
  while (run && run.offsets[run.next] < start) run.next += 1;
  const end = run?.offsets[run.next];
  if (end === undefined) return pushText(scan, "`".repeat(length), length);
  const code = scan.text.slice(start, end).replaceAll("\n", " ");
  const isPadded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
  scan.items.push({ kind: "element", element: make("code", {}, isPadded ? code.slice(1, -1) : code) });
  return end + length - scan.at;
}

function scanDelimiters(scan) {
  const found = matchAt(DELIMITERS, scan.text, scan.at);
  if (!found) return null;
  const [run] = found;
  const [before, after] = [scan.text[scan.at - 1] ?? " ", scan.text[scan.at + run.length] ?? " "];
  const joins = (inner, outer) =>
    !SPACE.test(inner) && (!PUNCTUATION.test(inner) || SPACE.test(outer) || PUNCTUATION.test(outer));
  const [left, right] = [joins(after, before), joins(before, after)];
  // An underscore inside a word is a part of the name, as in snake_case.
  const inWord = run[0] === "_";
  scan.items.push({
    kind: "delimiter", mark: run[0], count: run.length, closes: [], opens: [],
    canOpen: left && !(inWord && right && !PUNCTUATION.test(before)),
    canClose: right && !(inWord && left && !PUNCTUATION.test(after)),
  });
  return run.length;
}

function scanWikiLink(scan) {
  const found = matchAt(WIKI_LINK, scan.text, scan.at);
  if (!found) return null;
  const name = found[1].replace(/\\$/, "").trim();
  const text = (found[2] ?? name).trim();
  const isFile = found[0].startsWith("!") && /\.(?!md$)[a-z0-9]{2,5}$/i.test(name);
  scan.items.push(isFile ? { kind: "image", text } : { kind: "link", text, target: name, isName: true });
  return found[0].length;
}

function scanLink(scan, found) {
  if (!found) return null;
  scan.items.push({ kind: "link", text: found[1], target: found[1] });
  return found[0].length;
}

function scanBareLink(scan) {
  if (/[\p{L}\p{N}]/u.test(scan.text[scan.at - 1] ?? " ")) return null;
  const found = matchAt(BARE_LINK, scan.text, scan.at);
  if (!found) return null;
  // The sentence around an address may end right behind it.
  const ends = found[0].includes("(") ? ".,:;!?'*_~" : ".,:;!?'*_~)";
  let end = found[0].length;
  while (end > 0 && ends.includes(found[0][end - 1])) end -= 1;
  const target = found[0].slice(0, end);
  scan.items.push({ kind: "link", text: target, target });
  return end;
}

function openBracket(scan) {
  const isImage = scan.text.startsWith("![", scan.at);
  if (scan.text[scan.at] === "!" && !isImage) return null;
  const opener = isImage ? "![" : "[";
  scan.brackets.push({ at: scan.items.length, isImage });
  scan.items.push({ kind: "text", text: opener });
  // The next text must not join the bracket, which a link removes.
  scan.items.push({ kind: "text", text: "" });
  return opener.length;
}

/** At a closing bracket: a link or an image if a destination follows. */
function closeBracket(scan) {
  const opener = scan.brackets.pop();
  const found = opener && matchAt(DESTINATION, scan.text, scan.at + 1);
  if (!found) return pushText(scan, "]", 1);
  const inner = scan.items.splice(opener.at).slice(1);
  const target = (found[1] ?? found[2]).replaceAll(/\\([!-/:-@[-`{-~])/g, "$1");
  // Links are not nested: the inner text of this one is no link, and no outer bracket becomes one.
  for (const item of inner) if (item.kind === "link") item.target = null;
  if (opener.isImage) {
    matchEmphasis(inner);
    scan.items.push({ kind: "image", text: plainText(inner) });
  } else {
    scan.brackets.length = 0;
    scan.items.push({ kind: "link", inner, target });
  }
  return 1 + found[0].length;
}

function plainText(items) {
  return items.reduce((text, item) =>
    text + (item.text ?? item.element?.textContent ?? (item.inner ? plainText(item.inner) : item.mark.repeat(item.count))), "");
}

/** Match delimiters that open emphasis with those that close it. */
function matchEmphasis(items) {
  const [openers, waiting] = [[], { "*": 0, _: 0, "~": 0 }];
  for (const item of items) {
    if (item.kind !== "delimiter") continue;
    const { mark } = item;
    while (item.canClose && item.count > 0 && waiting[mark] > 0) {
      while (openers.at(-1).mark !== mark) waiting[openers.pop().mark] -= 1;
      const opener = openers.at(-1);
      const used = Math.min(2, opener.count, item.count);
      const name = mark === "~" ? "del" : used === 2 ? "strong" : "em";
      opener.opens.push(name);
      item.closes.push(name);
      opener.count -= used;
      item.count -= used;
      if (opener.count === 0) waiting[openers.pop().mark] -= 1;
    }
    if (item.canOpen && item.count > 0) {
      openers.push(item);
      waiting[mark] += 1;
    }
  }
}

function appendItems(element, items, linkTo) {
  matchEmphasis(items);
  const within = [element];
  for (const item of items) {
    if (item.kind !== "delimiter") {
      within.at(-1).append(elementOf(item, linkTo));
      continue;
    }
    within.length -= item.closes.length;
    if (item.count > 0) within.at(-1).append(item.mark.repeat(item.count));
    for (const name of item.opens.toReversed()) {
      const parent = within.at(-1);
      const inner = within.length > MOST_NESTED ? parent : make(name);
      if (inner !== parent) parent.append(inner);
      within.push(inner);
    }
  }
}

function elementOf(item, linkTo) {
  if (item.kind === "text") return item.text;
  if (item.kind === "element") return item.element;
  const properties = item.kind === "link" && item.target ? linkTo(item.target, item.isName ?? false) : null;
  const element = properties ? make("a", properties) : make("span", { class: item.kind });
  if (item.inner) appendItems(element, item.inner, linkTo);
  else element.append(item.text);
  return element;
}
