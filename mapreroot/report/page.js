"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const shown = (number) => String(Number(number.toPrecision(7))).replace("-", "\u2212");
const signed = (number) => (number > 0 ? "+" : "") + shown(number);
const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const extent = (numbers) => [Math.min(...numbers), Math.max(...numbers)];
const count = (many, what) => `${many} ${what}${many === 1 ? "" : "s"}`;

function element(parent, name, attributes = {}, text = null) {
  const svg = parent instanceof SVGElement;
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

at("save-text").addEventListener("click", () => {
  const lines = data.assignment.map(([label, value]) => `${label} ${value}\n`);
  save(`${data.stem}.assignment.txt`, "text/plain", lines.join(""));
});
at("save-json").addEventListener("click", () => {
  save(`${data.stem}.assignment.json`, "application/json", JSON.stringify(data.assignment));
});

/* The graph of M+, drawn once for each width of the window; a new root only changes classes. */
function explore() {
  const { names, xy, edges, weights, loc, cycles, flips, y } = data.explorer;
  const N = names.length;
  const MOST = 2000;
  const TALLEST = 540;
  const CROWDED = 40;
  const graph = at("graph");
  const profile = at("profile");
  const heaviest = edges.map((_, e) => e).sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
  const drawn = heaviest.slice(0, MOST).reverse();
  const largest = Math.max(...weights.map(Math.abs), 1e-300);
  let root = 0;
  let place = [];
  let radius = 0;
  let lines = [];
  let vertices = [];
  let dots = [];
  let overlay = null;
  let height = null;

  function neighbours(r) {
    const found = new Map();
    edges.forEach(([i, j], e) => {
      if (i === r) found.set(j, weights[e]);
      if (j === r) found.set(i, weights[e]);
    });
    return found;
  }

  /* How close vertices come to their nearest neighbours, the most crowded tenth left aside. */
  function spacing() {
    const nearest = place.map(([x, y], v) =>
      Math.min(...place.map(([a, b], u) => (u === v ? Infinity : Math.hypot(a - x, b - y)))),
    );
    return nearest.sort((a, b) => a - b)[Math.floor(N / 10)];
  }

  function draw() {
    const width = graph.parentElement.clientWidth;
    const margin = 27;
    const [left, right] = extent(xy.map((p) => p[0]));
    const [bottom, top] = extent(xy.map((p) => p[1]));
    const scale = Math.min((width - 2 * margin) / (right - left || 1), TALLEST / (top - bottom || 1));
    const indent = (width - (right - left) * scale) / 2;
    place = xy.map(([x, y]) => [indent + (x - left) * scale, margin + (top - y) * scale]);
    radius = Math.max(3.5, Math.min(19, 0.32 * spacing()));
    graph.setAttribute("viewBox", `0 0 ${width} ${(top - bottom) * scale + 2 * margin}`);
    graph.replaceChildren();
    overlay = element(graph, "g");
    const strokes = element(graph, "g", { "aria-hidden": "true" });
    const slim = Math.min(1, Math.sqrt(150 / drawn.length));
    lines = drawn.map((e) => {
      const [[x1, y1], [x2, y2]] = edges[e].map((v) => place[v]);
      const size = slim * (1 + 3.5 * (Math.abs(weights[e]) / largest));
      const line = element(strokes, "line", { x1, y1, x2, y2, "stroke-width": size });
      element(line, "title", {}, `${names[edges[e][0]]} – ${names[edges[e][1]]}: W = ${shown(weights[e])}`);
      return line;
    });
    vertices = names.map((name, v) => {
      const [cx, cy] = place[v];
      const vertex = element(graph, "g", { role: "button", "data-vertex": v });
      element(vertex, "title", {}, name);
      element(vertex, "circle", { class: "ring", cx, cy, r: radius + 4 });
      element(vertex, "circle", { class: "disc", cx, cy, r: radius });
      if (radius >= 13) {
        element(vertex, "text", { x: cx, y: cy - 1, "font-size": 11 }, short(name, 5));
        element(vertex, "text", { class: "field", x: cx, y: cy + 10, "font-size": 9 });
      }
      vertex.addEventListener("click", () => reroot(v));
      vertex.addEventListener("keydown", (event) => steer(event, v));
      return vertex;
    });
    at("drawn").textContent =
      drawn.length < edges.length ? `The ${drawn.length} heaviest of ${edges.length} edges are drawn.` : "";
    drawProfile();
  }

  function drawProfile() {
    const width = profile.parentElement.clientWidth;
    const tall = 150;
    const [low, top] = extent([...loc, data.explorer.tri, data.explorer.score]);
    const range = Math.max(top - low, data.explorer.tolerance) || 1;
    const x = (v) => 10 + ((width - 20) * (v + 0.5)) / N;
    height = (value) => tall - 22 - ((tall - 44) * (value - low)) / range;
    profile.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    profile.replaceChildren();
    for (const [name, value] of [["tri", data.explorer.tri], ["map", data.explorer.score]]) {
      element(profile, "line", { class: name, x1: 0, x2: width, y1: height(value), y2: height(value) });
    }
    const label = data.explorer.proved ? "MAP (dashed) and TRI" : "best score (dashed) and TRI";
    element(profile, "text", { x: 2, y: Math.max(height(data.explorer.tri), height(data.explorer.score)) + 15 }, label);
    element(profile, "text", { x: 2, y: 12 }, "LOC at each root");
    element(profile, "line", { class: "guide", x1: 0, x2: width });
    dots = loc.map((value, v) => {
      const dot = element(profile, "circle", { class: "dot", cx: x(v), cy: height(value), r: 3 });
      element(dot, "title", {}, `${names[v]}: ${shown(value)}`);
      dot.addEventListener("click", () => reroot(v));
      return dot;
    });
  }

  function steer(event, v) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      reroot(v);
      return;
    }
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    let [next, nearest] = [v, Infinity];
    place.forEach(([px, py], u) => {
      const [dx, dy] = [px - place[v][0], py - place[v][1]];
      const along = dx * way[0] + dy * way[1];
      const aside = Math.abs(dx * way[1] + dy * way[0]);
      if (along > 1e-6 && along + 2 * aside < nearest) [next, nearest] = [u, along + 2 * aside];
    });
    vertices[v].setAttribute("tabindex", -1);
    vertices[next].setAttribute("tabindex", 0);
    vertices[next].focus();
  }

  function showGraph(fields) {
    drawn.forEach((e, k) => {
      const sign = weights[e] > 0 ? "attractive" : "repulsive";
      const faint = edges[e].includes(root) ? "at-root" : N > CROWDED && edges[e][0] === 0 ? "hub" : "";
      lines[k].setAttribute("class", `${sign} ${faint}`);
    });
    vertices.forEach((vertex, v) => {
      const theta = fields.get(v) ?? 0;
      const kind = theta > 0 ? "plus" : theta < 0 ? "minus" : "";
      vertex.setAttribute("class", v === root ? "vertex root" : "vertex");
      vertex.querySelector(".disc").setAttribute("class", `disc ${kind}`);
      vertex.setAttribute("tabindex", v === root ? 0 : -1);
      vertex.setAttribute("aria-pressed", v === root);
      vertex.setAttribute("aria-label", v === root ? `${names[v]}, the root` : `${names[v]}, field ${shown(theta)}`);
      const text = vertex.querySelector(".field");
      if (text) text.textContent = v === root ? "root" : signed(Number(theta.toPrecision(2)));
    });
    overlay.replaceChildren();
    if (cycles[root]) {
      element(overlay, "polygon", { class: "cycle", points: cycles[root].map((v) => place[v].join()).join(" ") });
    } else {
      for (const v of flips[root]) {
        element(overlay, "circle", { class: "flip", cx: place[v][0], cy: place[v][1], r: radius + 3.5 });
      }
    }
    document.querySelector(".if-cycle").hidden = !cycles[root];
    document.querySelector(".if-flips").hidden = !(flips[root] && flips[root].length);
    dots.forEach((dot, v) => {
      dot.setAttribute("class", v === root ? "dot root" : "dot");
      dot.setAttribute("r", v === root ? 6 : 3);
    });
    profile.append(dots[root]);
    const guide = profile.querySelector(".guide");
    for (const end of ["y1", "y2"]) guide.setAttribute(end, height(loc[root]));
  }

  function listed(some) {
    const more = some.length > 30 ? ` and ${some.length - 30} more, ringed in the drawing` : "";
    return some.slice(0, 30).map((v) => names[v]).join(", ") + more;
  }

  function showBalance() {
    const balanced = !cycles[root];
    at("balance").textContent = balanced ? "Balanced: one minimum cut solves it" : "Not balanced";
    at("balance").className = balanced ? "good" : "bad";
    if (balanced) {
      const flip = flips[root];
      at("witness").textContent = flip.length
        ? `Flip ${count(flip.length, "variable")}, and every edge is attractive: ${listed(flip)}.`
        : "Every edge is attractive as it is.";
      return;
    }
    const cycle = cycles[root];
    const weight = new Map(edges.map(([i, j], e) => [`${i} ${j}`, weights[e]]));
    const repulsive = cycle.filter((v, k) => {
      const u = cycle[(k + 1) % cycle.length];
      return weight.get(`${Math.min(u, v)} ${Math.max(u, v)}`) < 0;
    }).length;
    at("witness").textContent =
      `A cycle with an odd number of repulsive edges, ${repulsive} of ${cycle.length}: ` +
      [...cycle, cycle[0]].map((v) => names[v]).join(" – ");
  }

  function rows(table, records) {
    table.replaceChildren();
    for (const [first, ...rest] of records) {
      const row = element(table, "tr");
      element(row, "td", {}, first);
      for (const cell of rest) element(row, "td", { class: "number" }, cell);
    }
  }

  function showTables(fields) {
    const kept = edges.map((_, e) => e).filter((e) => !edges[e].includes(root));
    const attractive = kept.filter((e) => weights[e] > 0).length;
    at("signs").textContent =
      `${count(kept.length, "edge")}: ${attractive} attractive, ${kept.length - attractive} repulsive; ` +
      `${count(fields.size, "variable")} with a field.`;
    at("fields-count").textContent = `Fields (${fields.size} of ${N - 1} are not 0)`;
    const variables = names.map((_, v) => v).filter((v) => v !== root);
    const fieldsFirst = variables.sort((u, v) => fields.has(v) - fields.has(u) || u - v);
    rows(
      at("fields"),
      fieldsFirst.map((v) => [names[v], shown(fields.get(v) ?? 0), String(y[v] ^ y[root])]),
    );
    at("edges-count").textContent = `Edges (${kept.length})`;
    rows(
      at("edges"),
      heaviest.filter((e) => !edges[e].includes(root)).slice(0, MOST).map((e) => [
        `${names[edges[e][0]]} – ${names[edges[e][1]]}`, shown(weights[e]), weights[e] > 0 ? "attractive" : "repulsive",
      ]),
    );
  }

  function show() {
    const fields = new Map();
    for (const [v, W] of neighbours(root)) fields.set(v, -W / 2);
    at("root").value = String(root);
    at("loc").textContent = shown(loc[root]);
    const above = loc[root] - data.explorer.score;
    const tight = above <= data.explorer.tolerance;
    const model = root === 0 ? "The model as it is" : `Rooted at ${names[root]}`;
    const what = data.explorer.proved ? "the MAP" : "the best score found";
    at("said").textContent = `${model}: LOC is ` + (tight ? `tight: it equals ${what}.` : `${shown(above)} above ${what}.`);
    at("loc").className = tight ? "good" : "";
    showGraph(fields);
    showBalance();
    showTables(fields);
  }

  function reroot(r) {
    root = r;
    show();
  }

  names.forEach((name, v) => {
    element(at("root"), "option", { value: v }, v === 0 ? `${name} (the model as it is)` : name);
  });
  at("tri").textContent = shown(data.explorer.tri);
  at("map").textContent = shown(data.explorer.score);
  at("map-name").textContent = data.explorer.proved ? "MAP" : "Best score";
  at("root").addEventListener("change", () => reroot(Number(at("root").value)));
  at("previous").addEventListener("click", () => reroot((root + N - 1) % N));
  at("next").addEventListener("click", () => reroot((root + 1) % N));
  at("best").addEventListener("click", () => reroot(data.explorer.best));
  window.addEventListener("resize", () => {
    draw();
    show();
  });
  draw();
  show();
}

if (data.explorer) explore();
