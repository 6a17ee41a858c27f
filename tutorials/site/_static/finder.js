// A document's page, read beside it: a search by what is printed there, and filters by verdict and kind.
"use strict";
const finder = (() => {
  // One word for each way to write it, in what is typed and in the places of the statements.
  const WORDS = Object.entries({
    eq: "eqs?|eqns?|equations?", def: "defs?|defns?|definitions?", rem: "rems?|rmks?|remarks?", conj: "conjs?|conjectures?",
    asm: "ass|asm|assump|assumptions?", fig: "figs?|figures?", table: "tabs?|tbls?|tables?", alg: "algs?|algos?|algorithms?",
    thm: "thms?|theorems?", prop: "props?|propositions?", lem: "lems?|lemmas?|lemmata", sec: "secs?|sects?|sections?|subsections?",
    app: "apps?|appendix|appendices", fn: "fns?|footnotes?|notes?", page: "pp?|pages?", line: "ll?|lines?",
  }).map(([word, ways]) => [word, new RegExp(`(?<![a-z])(?:${ways})\\.?(?=[\\s(]*(?:[a-z]\\.?)?\\d|[\\s(]*$)`, "g")]);

  const spoken = (text) => WORDS.reduce((t, [word, ways]) => t.replace(ways, `${word} `),
    text.toLowerCase().replace(/^\s*[a-z]+\d{4}:/, "").replace(/§+/g, " section ").replace(/[–—−]/g, "-"))
    .replace(/[()[\],;:]/g, " ").replace(/\.(?=\s|$)/g, " ").replace(/\s+/g, " ").replace(/ - /g, "-").trim();

  // "15 and 16", "4-6", "1 a" or "1a", "a 3": the numbers of a list.
  function numbers(text) {
    const found = [];
    for (const [, from, to, part] of text.matchAll(/((?:[a-z]\.?)?\d+(?:\.\d+)*)(?: ?(?:-|to) ?(\d+))?(?: ?([a-z])(?![a-z.\d]))?/g)) {
      const end = Number(to ?? from);
      if (to && Number(from) < end) for (let k = Number(from); k <= end; k += 1) found.push(String(k));
      else found.push(from + (part ?? ""), ...(part ? [from] : []));
    }
    return found;
  }

  const LIST = "((?:[a-z]\\.?)?\\d[\\d.]*(?:(?: |-| and | to | & )?(?:\\d[\\d.]*|[a-z](?![a-z])))*)";
  const asked = (pattern, text) => text.match(new RegExp(`^${pattern}$`));

  // The statements that a reference names: "eq 5", "alg 1 line 13", "line 15", "page 14", "5" alone.
  function named(text, entries) {
    const having = (names) => entries.filter((one) => names.some((name) => one.names.includes(name)));
    let found = asked(`(?:alg ([\\d.]+) )?line ${LIST}`, text);
    if (found) {
      const all = numbers(found[2]);
      const own = having(all.flatMap((k) => [`alg${found[1] ?? 1}.${k}`, `alg${found[1] ?? 1}.l${k}`]));
      return own.length ? own : entries.filter((one) => one.lines.some(([from, to]) => all.some((k) => from <= k && k <= to)));
    }
    found = asked("page (\\d+)", text);
    if (found) return entries.filter((one) => one.pages.includes(Number(found[1])));
    found = asked(`(?:(${WORDS.map(([word]) => word).join("|")}) )?${LIST}`, text);
    if (!found || found[1] === "sec") return [];
    const all = numbers(found[2]);
    if (found[1] === "app") return having(all.flatMap((k) => [k, k.replace(".", "")]));
    if (found[1]) {
      for (const k of all) if (having([found[1] + k]).length && !/[-&]|and|to| \d/.test(found[2])) return having([found[1] + k]);
      return having(all.map((k) => found[1] + k));
    }
    const equations = having(all.map((k) => `eq${k}`));
    return equations.length ? equations : entries.filter((one) => one.names.some((name) => all.some((k) => name.replace(/^[a-z]+/, "") === k)));
  }

  const whole = (text) => new RegExp(`(^|[^a-z0-9.])${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}($|[^a-z0-9])`);

  // What is named so, or has in its place what was asked for, or all its words there, or else anywhere.
  function matching(query, entries) {
    const text = spoken(query);
    if (!text) return entries;
    const words = text.split(" ");
    const ways = [
      () => entries.filter((one) => one.names.some((name) => name === text || name === text.replace(/ /g, "") || spoken(name) === text)),
      () => named(text, entries),
      () => entries.filter((one) => whole(text).test(one.find)),
      () => entries.filter((one) => words.every((word) => one.find.includes(word))),
      () => entries.filter((one) => words.every((word) => one.section.textContent.toLowerCase().includes(word))),
    ];
    for (const way of ways) {
      const found = way();
      if (found.length) return found;
    }
    return [];
  }

  function read(facts) {
    const { names, find, pages = "", lines = "", kind, verdict } = facts.dataset;
    return {
      kind, verdict, section: facts.closest("section"), names: names.split(";"), find: spoken(find),
      pages: pages.split(" ").filter(Boolean).map(Number), lines: lines.split(" ").filter(Boolean).map((one) => one.split("-").map(Number)),
    };
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
    Object.assign(box, { type: "search", name: "find", placeholder: "(5), Table 1, Alg. 1 line 13, Def. 2.3, § 3.2" });
    label.append("Find by printed number ", box);
    const [verdicts, verdict] = choice("verdict", [...new Set(entries.map((one) => one.verdict))]);
    const [kinds, kind] = choice("kind", [...new Set(entries.map((one) => one.kind))].sort());
    const told = document.createElement("output");
    found.append(label, verdicts, kinds, told);
    let shown = entries;
    const filter = () => {
      const those = new Set(matching(box.value, entries));
      shown = entries.filter((one) => those.has(one) && (verdict.value === "all" || verdict.value === one.verdict)
        && (kind.value === "all" || kind.value === one.kind));
      for (const one of entries) one.section.hidden = !shown.includes(one);
      told.textContent = shown.length === entries.length ? `${entries.length} statements` : `${shown.length} of ${entries.length} statements`;
    };
    found.addEventListener("input", filter);
    found.addEventListener("submit", (event) => {
      event.preventDefault();
      const first = shown[0]?.section;
      if (first) location.hash = first.querySelector("[id]")?.id ?? first.id;
      first?.scrollIntoView();
    });
    addEventListener("hashchange", () => {  // a link to a statement that is filtered away shows all again
      const there = document.getElementById(location.hash.slice(1));
      if (!there?.closest("[hidden]")) return;
      found.reset();
      filter();
      there.scrollIntoView();
    });
    filter();
    return found;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const entries = [...document.querySelectorAll(".facts")].map(read);
    if (!entries.length) return;
    document.body.classList.add("reading");
    entries[0].section.before(form(entries));
  });
  return { spoken, numbers, matching };
})();
