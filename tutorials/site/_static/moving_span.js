// The span attack on one update: how far members of the batch and others lie from its rows, as the noise grows.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const found = moving.known("span");
  if (!found) return;
  const [figure, known] = found;
  const KINDS = { paper: "the paper's noise, on the projected errors", every: "noise on every entry of the update" };
  let draw = () => {};
  const pictures = Object.entries(KINDS).map(([kind, name]) => {
    const { std, auc, members, others } = known[kind];
    const told = (k) => `${std[k] === 0 ? "none" : std[k].toPrecision(2)}`;
    const at = moving.slider(figure, { id: `span-${kind}`, label: name, count: std.length, start: 3, value: (k) => k, told }, () => draw());
    return { kind, name, at, auc, members, others };
  });
  const picture = moving.axes(figure, "distances from the span of the update, members of the batch and others",
    { from: 1e-17, to: 1, log: true, ticks: [1e-16, 1e-12, 1e-8, 1e-4, 1], label: "distance from the span, relative to the image's length" },
    { from: 0.4, to: 2.6, log: false, ticks: [1, 2], words: { 1: "entry", 2: "paper" }, label: "noise" });
  moving.legend(figure, ["members of the batch (64)", "other images (64)"], "dot");
  const told = document.createElement("output");
  told.className = "told";
  figure.append(told);
  draw = () => {
    picture.clear();
    pictures.forEach(({ at, members, others }, row) => {
      members[at()].forEach((v, k) => picture.dot(v, 2 - row + 0.05 + (0.3 * k) / 64, 0));
      others[at()].forEach((v, k) => picture.dot(v, 2 - row - 0.05 - (0.3 * k) / 64, 1));
    });
    told.textContent = `A member is nearer than another image in ${pictures.map(({ name, at, auc }) => `${(100 * auc[at()]).toFixed(1)} % of the pairs under ${name}`).join(", ")}.`;
    told.dataset.values = pictures.map(({ at, auc }) => auc[at()]).join(" ");
  };
  draw();
});
