// What the pictures that move have in common: sliders, axes and lines, in SVG. No library, no network.
"use strict";
const moving = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 340, 62, 12, 12, 44];

  function element(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const power = (value) => (value >= 1 && value < 1e4 ? String(value) : `1e${Math.round(Math.log10(value))}`);

  // A place to draw: x and y are {from, to, log, label, ticks}, of what the data are in.
  function axes(figure, name, x, y) {
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": name });
    const place = (one, low, high) => {
      const f = one.log ? Math.log : (v) => v;
      return (value) => low + ((high - low) * (f(Math.max(value, one.log ? 1e-300 : -Infinity)) - f(one.from))) / (f(one.to) - f(one.from));
    };
    const [px, py] = [place(x, LEFT, WIDTH - RIGHT), place(y, HEIGHT - BOTTOM, TOP)];
    for (const tick of x.ticks) {
      svg.append(element("line", { x1: px(tick), x2: px(tick), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }));
      svg.append(element("text", { x: px(tick), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, x.log ? power(tick) : String(tick)));
    }
    for (const tick of y.ticks) {
      svg.append(element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(tick), y2: py(tick), class: "grid" }));
      svg.append(element("text", { x: LEFT - 8, y: py(tick) + 5, "text-anchor": "end" }, y.words?.[tick] ?? (y.log ? power(tick) : String(tick))));
    }
    svg.append(element("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x.label));
    svg.append(element("text", { transform: `translate(14 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, y.label));
    const drawing = element("g", {});
    svg.append(drawing);
    figure.append(svg);
    const inside = (one, v) => Number.isFinite(v) && v >= Math.min(one.from, one.to) && v <= Math.max(one.from, one.to);
    return {
      clear: () => drawing.replaceChildren(),
      line(points, k) {
        const shown = points.filter(([a, b]) => inside(x, a) && inside(y, b));
        drawing.append(element("polyline", { points: shown.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" "), class: `curve curve-${k}` }));
      },
      dot(a, b, k) {
        const [cx, cy] = [px(Math.min(Math.max(a, x.from), x.to)), py(b)];
        drawing.append(k === 0 ? element("circle", { cx, cy, r: 3.5, class: "dot-0" })
          : element("path", { d: `M${cx - 3.5} ${cy - 3.5}l7 7m0 -7l-7 7`, class: "dot-1" }));
      },
      add: (...made) => drawing.append(...made), px, py, element,
    };
  }

  // A slider with its name and what it stands at; values is a list, or of and to with the power of ten between them.
  function slider(figure, { id, label, count, start, value, told }, changed) {
    const line = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "range", id, min: 0, max: count - 1, step: 1, value: start });
    const output = document.createElement("output");
    output.htmlFor = id;
    const tell = () => {
      output.textContent = told(value(+input.value));
      output.dataset.value = value(+input.value);
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => { tell(); changed(); });
    line.append(`${label} `, input, " ", output);
    figure.append(line);
    tell();
    return () => value(+input.value);
  }

  // Names beside the strokes or marks that the picture has for them.
  function legend(figure, names, shape) {
    const list = document.createElement("ul");
    list.className = "legend";
    const cells = names.map((name, k) => {
      const item = document.createElement("li");
      const drawn = shape === "line" ? element("line", { x1: 0, x2: 34, y1: 6, y2: 6, class: `curve curve-${k}` })
        : k === 0 ? element("circle", { cx: 17, cy: 6, r: 4, class: "dot-0" }) : element("path", { d: "M13 2l8 8m0 -8l-8 8", class: "dot-1" });
      const told = document.createElement("output");
      item.append(element("svg", { viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" }, drawn), ` ${name} `, told);
      list.append(item);
      return told;
    });
    figure.append(list);
    return cells;
  }

  const known = (name) => {
    const found = document.getElementById(`data-${name}`);
    return found && [document.getElementById(`move-${name}`), JSON.parse(found.textContent)];
  };
  return { axes, slider, legend, known };
})();
