// A recall from a memory root.

/** All that a recall answered. */
function rootAnswer(answer, app) {
  const parts = answer.results.map((one) => partsOfMemory(one.scoreBreakdown));
  const spans = spanOf(parts);
  const there = new Set(parts.flat().map(({ kind }) => kind));
  const kinds = ROOT_PARTS.filter(([, kind]) => there.has(kind)).map(([, kind, label]) => [kind, label]);
  const rows = answer.results.map((one, at) => recalledRow(one, at, { parts: parts[at], spans, app }));
  const list = make("ol", { class: "results memories", "aria-label": "Memories" }, rows);
  roving(list, "button");
  const found = rows.length ? [legend(kinds), list] : make("div", { class: "nothing" },
    make("p", { class: "big" }, "No memories"),
    make("p", {}, "The root knows nothing about this."));
  const told = answer.trace
    ? make("div", { class: "told" }, droppedWords(answer.trace), ladderOf(answer.trace), stagesOf(answer.trace))
    : null;
  return [warningsOf(answer), found, told];
}

function titleOf(one) {
  const { title } = one.provenance.metadata;
  return typeof title === "string" && title !== "" ? title : shortName(one.provenance.file);
}

function linesOf({ file, lineStart, lineEnd }) {
  return `${file}:${lineStart}–${lineEnd}`;
}

function recalledRow(one, at, { parts, spans, app }) {
  const { type } = one.provenance.metadata;
  const button = make("button", { type: "button", class: "row memory", on: { click: () => openRecalled(one, at, app) } },
    make("span", { class: "rank" }, `${at + 1}`),
    written("span", titleOf(one), { class: "name" }),
    make("span", { class: "score" }, fixed(one.score, 2)),
    make("span", { class: "where" },
      make("bdi", {}, linesOf(one.provenance)),
      typeof type === "string" ? written("span", type, { class: "chip" }) : null),
    written("span", one.snippet, { class: "snippet" }),
    bar(parts, spans));
  return make("li", {}, button);
}

function droppedWords(trace) {
  const dropped = trace.notSearchedFor ?? [];
  return section("Words",
    make("p", { class: "executed" }, "Searched for ", written("code", trace.matchQuery || "nothing: no word is left")),
    dropped.length ? make("ul", { class: "words" }, dropped.map((word) => make("li", { class: "dropped" },
      written("span", word, { class: "word" }), make("span", { class: "fate" }, "not searched for")))) : null);
}

function openRecalled(one, at, app) {
  const { file, lineStart, lineEnd, metadata } = one.provenance;
  const passage = written("div", one.snippet, { class: "passage" });
  const body = drawer(titleOf(one), linesOf(one.provenance),
    passage,
    make("h3", {}, `Score: number ${at + 1}`), memoryLedger(one),
    facts("Front matter", metadata));
  const links = app.links?.[file];
  if (links) addLinks(body, links, null);
  if (app.live) fillMemory(body, passage, file, [lineStart, lineEnd], app);
}

function addLinks(body, graph, visit) {
  body.append(make("h3", {}, "Links"), linksOf(graph, visit));
}

/** A time with the offset of this browser's time zone, so that "yesterday" is the reader's. */
function localTime(time) {
  const offset = -time.getTimezoneOffset();
  const local = new Date(time.getTime() + 60_000 * offset).toISOString().slice(0, 19);
  const digits = (number) => String(Math.floor(number)).padStart(2, "0");
  return `${local}${offset < 0 ? "-" : "+"}${digits(Math.abs(offset) / 60)}:${digits(Math.abs(offset) % 60)}`;
}

/** The options of a recall, as fields of a form. */
function rootOptions() {
  return [
    choice("limit", "Memories", [["10", "10"], ["5", "5"], ["25", "25"], ["100", "100"]]),
    choice("depth", "Depth", [["normal", "normal"], ["shallow", "shallow"], ["deep", "deep"]]),
  ];
}
