// Scores: their parts as a bar and as a ledger.

/** The parts of a chunk's score: `{kind, label, detail, value}`, whose values add up to it. */
function partsOfChunk(parts) {
  if (!parts) return [];
  const factor = parts.multipliers.reduce((product, one) => product * one.factor, 1);
  const before = raised(parts);
  const scale = factor === 1 || before === 0 ? 1 : parts.score / before;
  const found = [];
  if (parts.keywords) found.push({ kind: "keywords", value: parts.keywords.contribution });
  if (parts.meaning) found.push({ kind: "meaning", value: parts.meaning.contribution });
  for (const one of parts.neighbors) found.push({ kind: "neighbor", value: one.contribution });
  for (const [kind] of SAID) if (parts[kind]) found.push({ kind, value: parts[kind].contribution });
  return found.map((part) => ({ ...part, value: part.value * scale }));
}

/** What a chunk's speaker, the question before it, its day and its age add. */
const SAID = [["speaker", "Speaker"], ["answers", "Question"], ["date", "Date"], ["recency", "Age"]];

const CHUNK_PARTS = [["keywords", "Keywords"], ["meaning", "Meaning"], ["neighbor", "Neighbors in the file"],
  ...SAID];

/** What the colors of the bars are. */
function legend(kinds) {
  const items = kinds.map(([kind, label]) => make("li", {}, make("i", { class: `key ${kind}` }), label));
  return make("ul", { class: "legend", "aria-label": "Parts of the scores" }, items);
}

/** The score before it is multiplied. */
function raised(parts) {
  const said = SAID.map(([kind]) => parts[kind]).filter(Boolean);
  const given = [...parts.neighbors, ...said];
  return given.reduce((sum, one) => sum + one.contribution, parts.fused);
}

const ROOT_PARTS = [
  ["retrievalScore", "retrieval", "Retrieval"],
  ["exactMatchBoost", "exact", "Words of the query in the passage"],
  ["metadataBoost", "metadata", "In the front matter"],
  ["temporalRelevance", "time", "Time"],
  ["memoryStrength", "strength", "Type"],
  ["provenanceConfidence", "provenance", "Folder"],
  ["depthPolicyBoost", "depth", "Depth"],
  ["recencyPenalty", "recency", "Age"],
];

/** The parts of a memory's score, those that are not 0. */
function partsOfMemory(breakdown) {
  return ROOT_PARTS.filter(([key]) => breakdown[key]).map(([key, kind, label]) => ({
    kind, label, value: breakdown[key],
  }));
}

/** The lowest and the highest sum of the parts below and above 0, over all hits. */
function spanOf(all) {
  const sum = (parts, sign) =>
    parts.filter((part) => part.value * sign > 0).reduce((total, part) => total + part.value, 0);
  return {
    low: Math.min(0, ...all.map((parts) => sum(parts, -1))),
    high: Math.max(0, ...all.map((parts) => sum(parts, 1))),
  };
}

/** A bar of the parts on the scale of all hits: above 0 to the right, below to the left. */
function bar(parts, { low, high }) {
  const wide = high - low || 1;
  const x = (value) => (100 * (value - low)) / wide;
  const pieces = [];
  let [above, below] = [0, 0];
  for (const { kind, value } of parts) {
    const start = value > 0 ? above : below + value;
    if (value > 0) above += value;
    else below += value;
    const width = Math.max(0, Math.abs(value) * (100 / wide));
    const attributes = { x: x(start), y: 0, width, height: 6 };
    pieces.push(draw("rect", { ...attributes, class: `part ${kind}` }));
  }
  const zero = low < 0 ? draw("rect", { x: x(0) - 0.15, y: 0, width: 0.3, height: 6, class: "zero" }) : null;
  const look = { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none" };
  return draw("svg", { ...look, "aria-hidden": "true" }, pieces, zero);
}

/** Lines of an account: what, how, how much; the last of a group stands under a rule. */
function ledger(lines) {
  const rows = lines.map(({ kind = "", label, detail = "", value, sum = false }) =>
    make("tr", { class: sum ? "sum" : "" },
      make("th", { scope: "row" }, kind ? make("i", { class: `key ${kind}` }) : null, label),
      written("td", detail, { class: "how" }),
      make("td", { class: "number" }, value)));
  return make("table", { class: "ledger" }, make("tbody", {}, rows));
}

/** All that made the score of a chunk, down to the last factor. */
function chunkLedger(parts) {
  const digits = 4;
  const lines = [];
  if (parts.keywords) lines.push(keywordsLine(parts, digits));
  if (parts.meaning) lines.push(meaningLine(parts.meaning, digits));
  const together = parts.bestPossible === null ? ""
    : `${percent(parts.fraction)} of the best possible, ${fixed(parts.bestPossible, digits)}`;
  if (together || parts.neighbors.length || raised(parts) !== parts.fused || parts.multipliers.length) {
    lines.push({ label: "Together", detail: together, value: fixed(parts.fused, digits), sum: true });
  }
  for (const one of parts.neighbors) {
    const beside = one.distance === 1 ? "next to it" : `${one.distance} places away`;
    const share = one.total === 0 ? "" : `: ${percent(one.contribution / one.total)} of its ${fixed(one.total, digits)}`;
    const detail = `${one.id}, ${beside}${share}`;
    lines.push({ kind: "neighbor", label: "Neighbor", detail, value: signed(one.contribution, digits) });
  }
  if (parts.speaker) {
    const { name, because, contribution } = parts.speaker;
    const detail = `${name}, ${because === "named" ? "whom the question names" : "and the question says I"}`;
    lines.push({ kind: "speaker", label: "Said by", detail, value: signed(contribution, digits) });
  }
  if (parts.answers) {
    const { id, total, contribution } = parts.answers;
    const detail = `${id}: ${percent(contribution / total)} of its ${fixed(total, digits)}`;
    lines.push({ kind: "answers", label: "Answers", detail, value: signed(contribution, digits) });
  }
  if (parts.date) {
    const { day, because, contribution } = parts.date;
    const detail = `${day}, ${because === "day" ? "a day that the question names, or up to 3 days later" : "a month that the question names"}`;
    lines.push({ kind: "date", label: "Date", detail, value: signed(contribution, digits) });
  }
  if (parts.recency) {
    const { day, age, weight, contribution } = parts.recency;
    const detail = `${day === null ? "without a date" : `${day}, ${plural(age, "day")} old`}: weight ${fixed(weight, 2)}`;
    lines.push({ kind: "recency", label: "Age", detail, value: signed(contribution, digits) });
  }
  // A total below 0 is lifted by division.
  const sign = raised(parts) < 0 ? "÷" : "×";
  for (const one of parts.multipliers) {
    lines.push({ label: "Multiplied", detail: one.condition, value: `${sign} ${one.factor}` });
  }
  lines.push({ label: "Score", value: fixed(parts.score, digits), sum: true });
  if (parts.rerankScore !== null) {
    const detail = "puts it in its place, and takes no part in the score";
    lines.push({ label: "Reranker", detail, value: fixed(parts.rerankScore, digits) });
  }
  return ledger(lines);
}

function keywordsLine(parts, digits) {
  const by = parts.keywords;
  const what = [`${ordinal(by.rank)}, ${by.fuzzy ? "likeness" : "BM25"} ${fixed(by.score, 2)}`];
  if (by.share !== null) what.push(`${percent(by.share)} of the best`);
  if (parts.coverage !== null) what.push(`the best covers ${percent(parts.coverage)} of the question`);
  if (parts.weight !== null) what.push(`weight ${Number(parts.weight.toFixed(2))}`);
  return { kind: "keywords", label: "Keywords", detail: what.join(", "), value: signed(by.contribution, digits) };
}

function meaningLine(by, digits) {
  const what = [by.rank === null ? "not in the list" : ordinal(by.rank), `cosine ${fixed(by.cosine, 4)}`];
  if (by.deviations !== null) what.push(`${signed(by.deviations, 1)} standard deviations`);
  return { kind: "meaning", label: "Meaning", detail: what.join(", "), value: signed(by.contribution, digits) };
}

/** All that made the score of a memory. */
function memoryLedger(one) {
  const lines = partsOfMemory(one.scoreBreakdown).map(({ kind, label, value }) => ({
    kind, label, value: signed(value, 4),
    detail: { retrieval: one.scoreBreakdown.driver, depth: one.scoreBreakdown.retrievalDepth }[kind],
  }));
  return ledger([...lines, { label: "Score", value: fixed(one.score, 4), sum: true }]);
}
