// Numbers and sentences, as the command line writes them.

const MINUS = "\u2212";

function fixed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

function signed(value, digits) {
  const text = fixed(value, digits);
  return text.startsWith(MINUS) ? text : `+${text}`;
}

function percent(part) {
  return `${Math.round(100 * part)} %`;
}

function milliseconds(time) {
  return time < 0.1 ? `${fixed(1000 * time, 0)} µs` : `${fixed(time, time < 10 ? 2 : 0)} ms`;
}

function plural(count, noun, nouns = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}

/** The place of a rank that counts from 0: `1st`. */
function ordinal(rank) {
  const number = rank + 1;
  const teen = number % 100 > 10 && number % 100 < 14;
  return number + ((!teen && { 1: "st", 2: "nd", 3: "rd" }[number % 10]) || "th");
}

/** Where a hit of an index stands. */
function placeOf(hit) {
  return hit.line === null || hit.line === undefined ? hit.path : `${hit.path}:${hit.line}`;
}

/** What to call a hit. */
function nameOf(hit) {
  return hit.title || hit.path || hit.id;
}

const STAGES = {
  embed: "embed",
  bm25: "keywords",
  ladder: "retries",
  vector: "meaning",
  fuse: "fuse",
  reweight: "multiply",
  rerank: "rerank",
};

const RUNGS = {
  initial: "the query",
  strongest_term: "its strongest term",
  refreshed_sanitised: "the query without operators",
  refreshed_strongest: "the strongest term of that",
  trigram_fuzzy: "likeness of names",
};

const NOT_RERANKED = {
  empty_candidates: "nothing was found",
  mode_off: "it was switched off",
  no_reranker: "there is no reranker",
  unanimity: "keywords and meaning agree on the best",
};

/** Why a chunk is not among the results, in sentences. */
function whyNotSentences(why) {
  const held = why.held.join(", ");
  const lacking = why.lacking.join(", ");
  const sentences = [
    {
      not_in_index: () => "The index has no chunk of this id.",
      filters: () => "It does not pass the filters.",
      excluded: () => `It holds what the query excludes: ${why.excludedBy.join(", ")}.`,
      no_match: () => noMatch(why, held, lacking),
      candidates: () => `It was no candidate: each leg keeps the best ${why.candidates}.`,
      group: () => `A better chunk stands for its path: ${why.groupBest}.`,
      limit: () => cutOff(why),
      reranker: () => `The reranker dropped it, or put it behind the first ${why.limit}.`,
    }[why.cut]?.() ?? `It is among the results: number ${why.resultRank + 1}.`,
  ];
  const legs = [["keywords", "BM25", why.keywords], ["meaning", "cosine", why.vectors]]
    .filter(([, , leg]) => leg)
    .map(([name, what, leg]) => `${ordinal(leg.rank)} by ${name} (${what} ${fixed(leg.score, 4)})`);
  if (legs.length) sentences.push(`It is ${legs.join(" and ")}.`);
  if (lacking && why.cut !== "no_match") sentences.push(`It lacks ${lacking}.`);
  if (why.notSearchedFor.length && why.cut === "no_match") {
    sentences.push(`Not searched for: ${why.notSearchedFor.join(", ")}.`);
  }
  return sentences;
}

function noMatch(why, held, lacking) {
  const near = why.byVectors ? ", and no vector found it" : "";
  if (held) return `It holds ${held} and lacks ${lacking}${near}.`;
  return lacking ? `It holds none of ${lacking}${near}.` : `No word was searched for${near}.`;
}

function cutOff(why) {
  const number = why.rank === null ? "" : `number ${why.rank + 1}, `;
  const needed = why.needed === null ? "" : `; the last result has ${fixed(why.needed, 4)}`;
  return `It is ${number}with a score of ${fixed(why.score ?? 0, 4)}${needed}.`;
}
