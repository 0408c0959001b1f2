// What is known of memories beside their text: titles, states, and where their links lead.

/** Titles of memories by file, as far as answers had them. */
const TITLES = new Map();

function learnTitles(pairs) {
  for (const [file, title] of pairs) if (title) TITLES.set(file, title);
}

/** The title of a memory, or the name of its file if no answer had the title. */
function titleOfFile(file) {
  return TITLES.get(file) || shortName(file);
}

const DAY = (time) => time.slice(0, 10);
const SINCE = (time) => (time ? ` since ${DAY(time)}` : "");
const ENDED = {
  retracted: ({ since, reason }) => [`Retracted${SINCE(since)}${reason ? `: ${reason}` : ""}`],
  superseded: ({ since, by = [] }) => ["Superseded", ...(by.length ? [" by ", ...namesOf(by)] : []), SINCE(since)],
  expired: ({ since }) => [`Expired${SINCE(since)}`],
  not_yet_valid: ({ since }) => [`Not valid yet${since ? `, until ${DAY(since)}` : ""}`],
};

function namesOf(files) {
  return files.flatMap((file, at) => (at ? [", ", { file }] : [{ file }]));
}

/** The state of a memory as [kind, parts]; a part is a text, or `{file}` of another memory. */
function statesOf(validity) {
  const states = [];
  const { why, doubtful = [], staleSince } = validity ?? {};
  if (why) states.push(["ended", ENDED[why](validity)]);
  if (doubtful.length) states.push(["doubt", ["In doubt: derived from ", ...namesOf(doubtful)]]);
  if (staleSince) states.push(["doubt", [`Review due since ${DAY(staleSince)}`]]);
  return states.length ? states : [["holds", ["Holds"]]];
}

/** The states of a memory in a row; nothing for a memory that holds without doubt. */
function stateChips(validity) {
  return statesOf(validity).filter(([kind]) => kind !== "holds").map(([kind, parts]) =>
    written("span", parts.map((part) => part.file ? titleOfFile(part.file) : part).join(""), { class: `validity ${kind}` }));
}

/** The states of a memory as a list, in which other memories are links. */
function stateList(validity, app) {
  return make("ul", { class: "states", "aria-label": "State" }, statesOf(validity).map(([kind, parts]) =>
    make("li", { class: `validity ${kind}` }, parts.map((part) => part.file ? memoryLink(part.file, app) : part))));
}

/** A link to a memory; only its title in a report, which has no other memories. */
function memoryLink(file, app) {
  return app.live ? make("a", memoryTarget(file, app), titleOfFile(file)) : written("span", titleOfFile(file));
}

/** The properties of a link that opens a memory. */
function memoryTarget(key, app) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openMemory(key, app);
  };
  return { href: `#${new URLSearchParams({ memory: key })}`, on: { click: open } };
}

/**
 * Where a link in the text of a memory leads, as the properties of an `a`; null for no link.
 *
 * Only http, https and mailto, names of memories, and paths of Markdown files below the root are links.
 */
function linkIn(file, app) {
  return (target, isName) => {
    if (!isName && /^(?:https?:\/\/[^/\s]|mailto:[^\s])/i.test(target)) {
      return { href: target, target: "_blank", rel: "noopener noreferrer" };
    }
    const key = isName ? nameIn(target, file) : pathIn(target, file);
    return key && app.live ? memoryTarget(key, app) : null;
  };
}

function nameIn(target, file) {
  const name = target.split("#", 1)[0].trim();
  return /(?:^|\/)\.{1,2}(?:\/|$)/.test(name) ? joined(name, file) : name;
}

/** The path of a Markdown file that a link means from a file; null for another target. */
function pathIn(target, file) {
  const [path] = target.split(/[?#]/, 1);
  if (!/\.md$/i.test(path) || /^[^/]*:/.test(path) || path.startsWith("//")) return null;
  try {
    return joined(decodeURIComponent(path), file);
  } catch {
    return null;
  }
}

/** The path from the folder of a file, or with `/` from the root; null if it leads out of the root. */
function joined(path, file) {
  const parts = path.startsWith("/") ? [] : file.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) return null;
    } else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/") || null;
}
