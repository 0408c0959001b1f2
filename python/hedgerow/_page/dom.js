// Making elements. Text from notes is only ever a text node: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children; `null` children are left out, strings become text. */
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") element.className = value;
    else if (key === "on") listen(element, value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element of a drawing. */
function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat(Infinity).filter(Boolean));
  return element;
}

function listen(element, handlers) {
  for (const [event, handler] of Object.entries(handlers)) element.addEventListener(event, handler);
}

/** Text that somebody wrote, in whatever direction its script runs. */
function written(name, text, properties = {}) {
  return make(name, { dir: "auto", ...properties }, text);
}

/** A title whose last heading stays readable where there is no room for those above it. */
function trail(title) {
  const at = title.lastIndexOf(" > ") + 1;
  if (at === 0) return written("span", title, { class: "name" });
  return make("span", { class: "name trail" },
    written("span", title.slice(0, at).trim(), { class: "above" }),
    written("span", title.slice(at), { class: "last" }));
}

/** The text with its spans in `mark`. Spans count code points, as Python does. */
function marked(name, text, spans, properties = {}) {
  const element = make(name, { dir: "auto", ...properties });
  const points = Array.from(text);
  let done = 0;
  for (const [start, end] of spans ?? []) {
    element.append(points.slice(done, start).join(""));
    element.append(make("mark", {}, points.slice(start, end).join("")));
    done = end;
  }
  element.append(points.slice(done).join(""));
  return element;
}

/** A heading with what stands under it. */
function section(title, ...children) {
  const id = `section-${title.toLowerCase().replaceAll(/\W+/g, "-")}`;
  return make("section", { "aria-labelledby": id }, make("h2", { id }, title), ...children);
}

/** Arrow keys, Home and End go through the items that a selector finds in a container. */
function roving(container, selector, keys = ["ArrowUp", "ArrowDown"]) {
  container.addEventListener("keydown", (event) => {
    const items = [...container.querySelectorAll(selector)];
    const at = items.indexOf(document.activeElement);
    if (at < 0) return;
    const to = { [keys[0]]: at - 1, [keys[1]]: at + 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    items[Math.max(0, Math.min(to, items.length - 1))].focus();
  });
}
