// The legs as columns, the results between them, and a line from each place to where it ended.

const LEGS = {
  keywords: {
    title: "Keywords",
    found: (trace) => trace.bm25Count,
    numbers: (by) => {
      const share = by.share === null ? "" : ` · ${percent(by.share)}`;
      return `${by.fuzzy ? "likeness" : "BM25"} ${fixed(by.score, 2)}${share}`;
    },
  },
  meaning: {
    title: "Meaning",
    found: (trace) => trace.vectorCount,
    numbers: (by) => {
      const far = by.deviations === null ? "" : ` · ${signed(by.deviations, 1)} σ`;
      return `cosine ${fixed(by.cosine, 2)}${far}`;
    },
  },
};

/** The results, with a column beside them for each leg that took part. */
function legsAndResults(answer, open) {
  const hits = answer.results;
  const taken = ["keywords", "meaning"].filter((leg) => hits.some((hit) => placed(hit, leg)));
  const spans = spanOf(hits.map((hit) => partsOfChunk(hit.explanation)));
  const results = make("ol", { class: "results", start: hits[0].rank, "aria-label": "Results" },
    hits.map((hit, at) => resultRow(hit, at, { spans, taken, open })));
  roving(results, "button");
  const middle = make("div", { class: "column" }, columnHead("Results", resultsTold(answer)), results);
  const columns = taken.map((leg) => legColumn(leg, answer, open));
  const [left, right] = taken.length === 2 ? columns : [columns[0] ?? null, null];
  const lines = draw("svg", { class: "lines", "aria-hidden": "true" });
  const flow = make("div", { class: `flow legs-${taken.length}` }, left, middle, right, lines);
  follow(flow);
  new ResizeObserver(() => drawLines(flow, lines, taken)).observe(flow);
  const kinds = new Set(hits.flatMap((hit) => partsOfChunk(hit.explanation)).map(({ kind }) => kind));
  return [legend(CHUNK_PARTS.filter(([kind]) => kinds.has(kind))), flow];
}

/** What a leg says of a hit that is in its list, else nothing. */
function placed(hit, leg) {
  const by = hit.explanation?.[leg];
  return by && by.rank !== null ? by : null;
}

function resultsTold(answer) {
  const fused = answer.trace.fusedCount;
  return answer.results.length < fused ? `${answer.results.length} of ${fused}` : `${fused}`;
}

function columnHead(title, told) {
  return make("header", { class: "column-head" }, make("h2", {}, title), make("span", {}, told));
}

function resultRow(hit, at, { spans, taken, open }) {
  const parts = hit.explanation;
  const chips = taken.map((leg) => {
    const by = placed(hit, leg);
    return by ? make("span", { class: `chip ${leg}` }, `${ordinal(by.rank)} by ${leg}`) : null;
  });
  const shown = fixed(hit.score, parts?.fusion === "rrf" ? 4 : 2);
  const button = make("button", { type: "button", class: "row result", on: { click: () => open(at) } },
    make("span", { class: "rank" }, `${hit.rank}`),
    trail(nameOf(hit)),
    make("span", { class: "score" }, shown),
    make("span", { class: "where" }, make("bdi", {}, placeOf(hit)), chips),
    hit.snippet ? marked("span", hit.snippet, hit.highlights?.snippet, { class: "snippet" }) : null,
    bar(partsOfChunk(parts), spans));
  return make("li", { data: { hit: at } }, button);
}

/** The places that a leg gave to the results, best first, with what is left out between them. */
function legColumn(leg, answer, open) {
  const known = answer.results
    .map((hit, at) => ({ hit, at, by: placed(hit, leg) }))
    .filter(({ by }) => by)
    .sort((one, other) => one.by.rank - other.by.rank);
  const items = [];
  let next = 0;
  for (const { hit, at, by } of known) {
    if (by.rank > next) items.push(gap(next, by.rank - 1));
    items.push(make("li", { data: { hit: at }, on: { click: () => open(at) } },
      make("div", { class: `row place ${leg}` },
        make("span", { class: "rank" }, `${by.rank + 1}`),
        trail(nameOf(hit)),
        make("span", { class: "where" }, LEGS[leg].numbers(by)))));
    next = by.rank + 1;
  }
  const found = LEGS[leg].found(answer.trace);
  if (found > next) items.push(gap(next, found - 1));
  const list = make("ol", { class: "places", "aria-label": `Places by ${leg}` }, items);
  return make("div", { class: `column leg ${leg}` }, columnHead(LEGS[leg].title, `${found} found`), list);
}

/** Ranks that did not end among the results shown. */
function gap(first, last) {
  const ranks = first === last ? `${first + 1}` : `${first + 1}–${last + 1}`;
  return make("li", { class: "gap" }, `${ranks} not among these`);
}

/** Pointing at a hit, or focusing it, shows it in all columns. */
function follow(flow) {
  const show = (event) => light(flow, event.target.closest?.("[data-hit]")?.dataset.hit ?? null);
  flow.addEventListener("pointerover", show);
  flow.addEventListener("focusin", show);
  flow.addEventListener("pointerleave", () => {
    light(flow, document.activeElement?.closest(".flow [data-hit]")?.dataset.hit ?? null);
  });
  flow.addEventListener("focusout", () => light(flow, null));
}

function light(flow, hit) {
  flow.classList.toggle("following", hit !== null);
  for (const one of flow.querySelectorAll("[data-hit]")) {
    one.classList.toggle("followed", one.dataset.hit === hit);
  }
}

/** A curve from each place in a leg to its result, in the gutter between the columns. */
function drawLines(flow, svg, taken) {
  const frame = flow.getBoundingClientRect();
  svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
  const curves = [];
  for (const leg of taken) {
    for (const place of flow.querySelectorAll(`.leg.${leg} [data-hit]`)) {
      const result = flow.querySelector(`.results [data-hit="${place.dataset.hit}"]`);
      const from = place.firstChild.getBoundingClientRect();
      const to = result.firstChild.getBoundingClientRect();
      const leftToRight = from.right <= to.left;
      const x1 = (leftToRight ? from.right : from.left) - frame.left;
      const x2 = (leftToRight ? to.left : to.right) - frame.left;
      const y1 = from.top + from.height / 2 - frame.top;
      const y2 = to.top + to.height / 2 - frame.top;
      const middle = (x1 + x2) / 2;
      const d = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
      const curve = draw("path", { d, class: leg });
      curve.dataset.hit = place.dataset.hit;
      curves.push(curve);
    }
  }
  svg.replaceChildren(...curves);
}
