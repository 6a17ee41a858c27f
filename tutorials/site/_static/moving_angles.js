// Feedback alignment: DFA's direction and the gradient as two arrows, and their angle over the steps, for two seeds.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const found = moving.known("angles");
  if (!found) return;
  const [figure, known] = found;
  const steps = known.weights[0].length;
  const curves = known.layers.flatMap((seeds, l) => seeds.map((angles, k) => ({ name: `layer ${l + 1}, seed ${known.seeds[k]}`, angles })));
  let draw = () => {};
  const at = moving.slider(figure, { id: "angles-step", label: "step", count: steps, start: 0, value: (k) => k + 1, told: String }, () => draw());
  const play = document.createElement("button");
  Object.assign(play, { type: "button", textContent: "play" });
  figure.append(play);
  const picture = moving.axes(figure, "angle between DFA's direction and the gradient over the steps",
    { from: 0, to: 1.5 * steps, log: false, ticks: [0, Math.round(steps / 3), Math.round((2 * steps) / 3), steps], label: "step" },
    { from: 0, to: 100, log: false, ticks: [0, 30, 60, 90], label: "angle, degrees" });
  const cells = moving.legend(figure, curves.map(({ name }) => name), "line");
  draw = () => {
    const t = at();
    picture.clear();
    const [cx, cy, r] = [picture.px(1.08 * steps), picture.py(8), 150];
    picture.add(picture.element("line", { x1: cx, y1: cy, x2: cx + r, y2: cy, class: "gradient" }),
      picture.element("text", { x: cx + r, y: cy + 18, "text-anchor": "end" }, "gradient"));
    curves.forEach(({ angles }, k) => {
      const angle = (angles[t - 1] * Math.PI) / 180;
      picture.line(angles.slice(0, t).map((v, j) => [j + 1, v]), k);
      picture.add(picture.element("line", { x1: cx, y1: cy, x2: cx + r * Math.cos(angle), y2: cy - r * Math.sin(angle), class: `curve curve-${k}` }));
      cells[k].textContent = `: ${angles[t - 1].toFixed(1)} degrees`;
      cells[k].dataset.values = angles[t - 1];
    });
  };
  let running = 0;
  play.addEventListener("click", () => {
    const input = document.getElementById("angles-step");
    clearInterval(running);
    if (play.textContent === "stop") { play.textContent = "play"; return; }
    if (+input.value === steps - 1) input.value = 0;
    play.textContent = "stop";
    running = setInterval(() => {
      input.value = +input.value + 1;
      input.dispatchEvent(new Event("input"));
      if (+input.value >= steps - 1) { clearInterval(running); play.textContent = "play"; }
    }, 60);
  });
  draw();
});
