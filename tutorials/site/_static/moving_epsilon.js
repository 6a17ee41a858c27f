// Epsilon over steps: the formulas of nfa.privacy.subsampling and nfa.privacy.rdp at whole orders, a curve a theorem.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const found = moving.known("epsilon");
  if (!found) return;
  const [figure, start] = found;
  const orders = Array.from({ length: start.orders[1] - start.orders[0] + 1 }, (_, k) => start.orders[0] + k);
  const top = start.orders[1];
  const logFactorial = [0];
  for (let k = 1; k <= top; k++) logFactorial.push(logFactorial[k - 1] + Math.log(k));
  const logBinomial = (n, k) => logFactorial[n] - logFactorial[k] - logFactorial[n - k];
  const logExpm1 = (v) => v + Math.log(-Math.expm1(-v)); // log(e^v - 1)

  // log(1 + the sum of e^term) / (order - 1)
  function logOnePlus(terms, order) {
    const most = Math.max(...terms);
    const sum = most + Math.log(terms.reduce((all, term) => all + Math.exp(term - most), 0));
    return (sum > 0 ? sum + Math.log1p(Math.exp(-sum)) : Math.log1p(Math.exp(sum))) / (order - 1);
  }

  const gaussian = (a, z) => a / (2 * z * z); // Renyi divergence of order a, each record in every batch

  function poisson(a, q, z) { // mironov2019:sec3.3
    const terms = [];
    for (let l = 2; l <= a; l++) {
      const absent = a === l ? 0 : (a - l) * Math.log1p(-q);
      terms.push(logBinomial(a, l) + absent + l * Math.log(q) + logExpm1((l - 1) * gaussian(l, z)));
    }
    return logOnePlus(terms, a);
  }

  function drawn(a, q, z) { // wbk2019:thm9
    const second = Math.min(Math.log(4) + logExpm1(gaussian(2, z)), gaussian(2, z) + Math.log(2));
    const terms = [logBinomial(a, 2) + 2 * Math.log(q) + second];
    for (let l = 3; l <= a; l++) terms.push(logBinomial(a, l) + l * Math.log(q) + (l - 1) * gaussian(l, z) + Math.log(2));
    return logOnePlus(terms, a);
  }

  const mironov2017 = (a, spent, delta) => spent - Math.log(delta) / (a - 1);
  const canonne2020 = (a, spent, delta) => Math.max(0, spent + Math.log1p(-1 / a) - (Math.log(delta) + Math.log(a)) / (a - 1));

  const STEPS = [...new Set(Array.from({ length: 81 }, (_, k) => Math.round(10 ** (k / 20))))];
  const TOLD = [100, 1000, 10000];

  const between = (from, to, count) => (k) => from * (to / from) ** (k / (count - 1));
  const nearest = (value, count, wanted) =>
    [...Array(count).keys()].reduce((best, k) => (Math.abs(Math.log(value(k) / wanted)) < Math.abs(Math.log(value(best) / wanted)) ? k : best), 0);
  const short = (v) => (v < 1e-3 ? Number(v.toPrecision(3)).toExponential() : Number(v.toPrecision(3)).toString());
  let draw = () => {};
  const one = (id, label, from, to, count, wanted) => {
    const value = (k) => Number(between(from, to, count)(k).toPrecision(3));
    return moving.slider(figure, { id: `epsilon-${id}`, label, count, start: nearest(value, count, wanted), value, told: short }, () => draw());
  };
  const z = one("z", "noise multiplier z", 0.5, 8, 61, start.z);
  const q = one("q", "sampling rate q", 0.0001, 1, 61, start.q);
  const delta = one("delta", "delta", 1e-10, 1e-2, 65, start.delta);
  const picture = moving.axes(figure, "epsilon over the number of steps, a curve a theorem",
    { from: 1, to: 1e4, log: true, ticks: [1, 10, 100, 1000, 10000], label: "steps" },
    { from: 0.01, to: 1000, log: true, ticks: [0.01, 0.1, 1, 10, 100, 1000], label: "epsilon" });
  const cells = moving.legend(figure, start.names, "line");

  draw = () => {
    const [zv, qv, dv] = [z(), q(), delta()];
    const whole = orders.map((a) => gaussian(a, zv));
    const least = (curve) => orders.map((a, k) => Math.min(curve(a, qv, zv), whole[k]));
    const [first, third] = [least(poisson), least(drawn)];
    const theorems = [[first, canonne2020], [first, mironov2017], [third, canonne2020], [whole, canonne2020]];
    picture.clear();
    theorems.forEach(([curve, convert], k) => {
      const epsilon = (T) => Math.min(...orders.map((a, at) => convert(a, T * curve[at], dv)));
      picture.line(STEPS.map((T) => [T, epsilon(T)]), k);
      const told = TOLD.map(epsilon);
      cells[k].textContent = `: ${told.map(short).join(", ")} after ${TOLD.map((T) => T.toLocaleString("en")).join(", ")} steps`;
      cells[k].dataset.values = told.join(" ");
    });
  };
  draw();
});
