// The links around a memory, drawn: it in the center, what is one hop away around it, and so on.

const RADII = [0, 92, 168];
const MOST_LABELS = 26;

/** The picture, and the same as a list; `visit` is called with the key of a node, if given. */
function linksOf(graph, visit = null) {
  const keys = Object.keys(graph.nodes);
  if (keys.length < 2) return make("p", { class: "quiet" }, "It is linked to no other memory.");
  const places = layout(graph);
  const lines = graph.edges.map(({ source, target, rel, strength }) => {
    const [from, to] = [places.get(source), places.get(target)];
    const attributes = { x1: from.x, y1: from.y, x2: to.x, y2: to.y, "stroke-width": 0.75 + strength };
    return draw("line", attributes, draw("title", {}, `${source} – ${target}: ${rel}`));
  });
  const nodes = keys.map((key) => node(key, graph.nodes[key], places.get(key), keys.length, visit));
  const picture = draw("svg", { class: "links", viewBox: frameOf([...places.values()]), role: "img" }, lines, nodes);
  picture.setAttribute("aria-label", `${titleOfFile(graph.key)} and ${plural(keys.length - 1, "memory", "memories")} around it`);
  const more = graph.leftOut ? make("p", { class: "quiet" }, `${graph.leftOut} more are as near.`) : null;
  return make("div", { class: "graph" }, picture, more, linkList(graph, visit));
}

/** Places on circles: nodes of a hop are in the order of those they hang on, so few lines cross. */
function layout(graph) {
  const places = new Map([[graph.key, { x: 0, y: 0, angle: 0, hop: 0 }]]);
  const farthest = Math.max(...Object.values(graph.nodes));
  for (let hop = 1; hop <= farthest; hop += 1) {
    const ring = Object.keys(graph.nodes).filter((key) => graph.nodes[key] === hop);
    const angles = new Map(ring.map((key) => [key, angleOfParent(graph, key, places)]));
    ring.sort((one, other) => angles.get(one) - angles.get(other) || (one < other ? -1 : 1));
    const turned = spread(ring.map((key) => angles.get(key)), hop);
    const radius = RADII[hop] ?? RADII[2] + 40 * (hop - 2);
    ring.forEach((key, at) => {
      const angle = turned[at];
      const place = { x: 1.15 * radius * Math.cos(angle), y: radius * Math.sin(angle), angle, hop };
      places.set(key, place);
    });
  }
  return places;
}

/** Angles near those wanted, in their order, with room between them. */
function spread(wanted, hop) {
  const whole = 2 * Math.PI;
  // A little off the axes: a name beside a node does not lie on the line of another.
  const even = wanted.map((_, at) => -Math.PI / 2 + 0.35 + (whole * at) / wanted.length);
  if (hop === 1) return even;
  const room = Math.min(0.45, whole / wanted.length);
  let last = -Infinity;
  const pushed = wanted.map((angle) => (last = Math.max(angle, last + room)));
  if (last - pushed[0] > whole - room) return even;
  const back = pushed.reduce((sum, angle, at) => sum + angle - wanted[at], 0) / wanted.length;
  return pushed.map((angle) => angle - back);
}

/** As high as the nodes need; always as wide, so that names have one size in every picture. */
function frameOf(places) {
  const ys = places.map(({ y }) => y);
  const [top, bottom] = [Math.min(...ys) - 36, Math.max(...ys) + 36];
  return `-260 ${top} 520 ${bottom - top}`;
}

function angleOfParent(graph, key, places) {
  const near = graph.edges
    .flatMap(({ source, target }) => (source === key ? [target] : target === key ? [source] : []))
    .filter((other) => places.has(other) && places.get(other).hop > 0)
    .map((other) => places.get(other).angle);
  return near.length ? Math.min(...near) : 0;
}

function node(key, hop, { x, y }, count, visit) {
  const group = draw("g", { class: `node hop-${hop}`, transform: `translate(${x} ${y})` },
    draw("title", {}, key), draw("circle", { r: hop === 0 ? 7 : hop === 1 ? 5 : 4 }));
  if (hop < 2 || count <= MOST_LABELS) {
    // Beside the nodes of the first hop; above or below the others, where there is more room.
    const outward = hop !== 1 ? "middle" : x < 0 ? "end" : "start";
    const across = { middle: 0, end: -9, start: 9 }[outward];
    const down = hop === 1 ? 4 : hop === 0 || y < 0 ? -12 : 19;
    const label = draw("text", { x: across, y: down, "text-anchor": outward });
    label.textContent = clipped(titleOfFile(key), hop === 0 ? 34 : 20);
    group.append(label);
  }
  if (visit && hop > 0) {
    group.classList.add("open");
    group.addEventListener("click", () => visit(key));
  }
  return group;
}

function linkList(graph, visit) {
  const direct = graph.edges.filter(({ source, target }) => [source, target].includes(graph.key));
  const items = direct.map(({ source, target, rel }) => {
    const other = source === graph.key ? target : source;
    const name = visit
      ? written("button", titleOfFile(other), { type: "button", class: "link", on: { click: () => visit(other) } })
      : written("span", titleOfFile(other));
    const relation = rel.replaceAll("_", " ");
    return make("li", {}, name, make("span", { class: "how" }, source === graph.key ? relation : `${relation}, from there`));
  });
  return make("ul", { class: "link-list" }, items);
}

function shortName(key) {
  return key.split("/").pop().replace(/\.md$/, "");
}

function clipped(text, most) {
  const points = Array.from(text);
  return points.length > most ? `${points.slice(0, most - 1).join("")}…` : text;
}
