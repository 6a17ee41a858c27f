// A document's page, read beside it: search by printed number, filters, and the same mark for a term and its code.
"use strict";
(() => {
  const SHORT = [[/\beqs?\.? *(?=\(?\d)/g, "equation "], [/\balg\b\.? */g, "algorithm "], [/\bfig\b\.? */g, "figure "],
    [/\bthm\b\.? */g, "theorem "], [/\bprop\b\.? */g, "proposition "], [/\blem\b\.? */g, "lemma "],
    [/\bsec\b\.? */g, "section "], [/\btab\b\.? */g, "table "], [/[,;]/g, " "]];

  const spoken = (text) => SHORT.reduce((t, [from, to]) => t.replace(from, to), text.toLowerCase()).replace(/ +/g, " ").trim();
  const whole = (text) => new RegExp(`(^|[^a-z0-9.])${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}($|[^a-z0-9])`);

  // The names that the statement with a printed number can have: "(5)" is eq5, "algorithm 1 line 9" alg1.9 or alg1.l9.
  const NAMES = [[/^(?:equation )?\(?([\d.]+)\)$|^equation ([\d.]+)$/, ["eq"]], [/^lemma ([\w.]+)$/, ["lem"]],
    [/^proposition ([\w.]+)$/, ["prop"]], [/^theorem ([\w.]+)$/, ["thm"]], [/^definition ([\w.]+)$/, ["def"]],
    [/^figure ([\w.]+)$/, ["fig"]], [/^table ([\w.]+)$/, ["table"]], [/^appendix a\.(\d+)$/, ["a"]],
    [/^algorithm (\d+)$/, ["alg"]], [/^algorithm 1 line (\w+)$/, ["alg1.", "alg1.l"]]];

  function named(asked) {
    for (const [pattern, begins] of NAMES) {
      const found = asked.match(pattern);
      if (found) return begins.map((begin) => begin + (found[1] ?? found[2]));
    }
    return [asked];
  }

  // The statement with that number, or those that have in their place what was asked for, or else all its words.
  function matching(query, entries) {
    const asked = spoken(query);
    if (!asked) return entries;
    const exact = entries.filter((one) => named(asked).some((name) => one.names.split(" ").includes(name)));
    if (exact.length) return exact;
    const phrase = entries.filter((one) => whole(asked).test(one.find));
    return phrase.length ? phrase : entries.filter((one) => asked.split(" ").every((word) => one.find.includes(word)));
  }

  function choice(name, values) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.name = name;
    for (const value of ["all", ...values]) select.append(new Option(value, value));
    label.append(`${name} `, select);
    return [label, select];
  }

  function form(entries) {
    const found = document.createElement("form");
    found.className = "finder";
    found.setAttribute("role", "search");
    const label = document.createElement("label");
    const box = document.createElement("input");
    Object.assign(box, { type: "search", name: "find", placeholder: "(5), Table 1, Alg. 1 line 13, section 3" });
    label.append("Find by printed number ", box);
    const [verdicts, verdict] = choice("verdict", [...new Set(entries.map((one) => one.verdict))]);
    const [kinds, kind] = choice("kind", [...new Set(entries.map((one) => one.kind))].sort());
    const told = document.createElement("output");
    found.append(label, verdicts, kinds, told);
    let shown = entries;
    const filter = () => {
      const asked = new Set(matching(box.value, entries));
      shown = entries.filter((one) => asked.has(one) && (verdict.value === "all" || verdict.value === one.verdict)
        && (kind.value === "all" || kind.value === one.kind));
      for (const one of entries) one.section.hidden = !shown.includes(one);
      told.textContent = shown.length === entries.length ? `${entries.length} statements` : `${shown.length} of ${entries.length} statements`;
    };
    found.addEventListener("input", filter);
    found.addEventListener("submit", (event) => {
      event.preventDefault();
      if (shown.length) location.hash = shown[0].section.querySelector("[id]")?.id ?? shown[0].section.id;
    });
    addEventListener("hashchange", () => {  // a link to a statement that is filtered away shows all again
      if (document.getElementById(location.hash.slice(1))?.closest("[hidden]")) {
        found.reset();
        filter();
        document.getElementById(location.hash.slice(1)).scrollIntoView();
      }
    });
    filter();
    return found;
  }

  // Puts every part of a text that lies in one node of its own into an element with a class.
  function mark(root, text, name) {
    const nodes = [];
    for (let walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT); walk.nextNode();) nodes.push(walk.currentNode);
    const start = nodes.map((node) => node.data).join("").indexOf(text);
    if (start < 0) return false;
    let at = 0;
    for (const node of nodes) {
      const [from, to] = [Math.max(start - at, 0), Math.min(start + text.length - at, node.data.length)];
      at += node.data.length;
      if (from >= to) continue;
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      const span = document.createElement("span");
      span.className = `term ${name}`;
      range.surroundContents(span);
    }
    return true;
  }

  function terms(section) {
    section.querySelectorAll(".terms li").forEach((row, k) => {
      row.classList.add(`term-${k + 1}`);
      const code = [...row.querySelectorAll("code")].pop();
      if (code) [...section.querySelectorAll(".computes pre")].some((pre) => mark(pre, code.textContent.trim(), `term-${k + 1}`));
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const entries = [...document.querySelectorAll(".facts")].map((facts) => ({ ...facts.dataset, section: facts.closest("section") }));
    if (!entries.length) return;
    document.body.classList.add("reading");
    entries[0].section.before(form(entries));
    entries.forEach((one) => terms(one.section));
  });
})();
