// What a letter of a formula means, its name in code and its shape, as the page's table of letters has it. A pointer on a
// letter is told; the button below a claim lists all its letters, and so does a letter that is clicked or touched.
"use strict";
(() => {
  const text = (cell) => cell?.textContent.trim() ?? "";
  const OWN = /[ℓℒℝℕℤℙ𝔼𝔻𝒜𝒟𝒳𝒩]/u;  // letters that mean another thing than their plain form
  const plain = (letter) => ({ "𝓛": "ℒ", "𝓓": "𝒟", "𝓝": "𝒩", "𝔇": "𝔻" }[letter] ?? (OWN.test(letter) ? letter : letter.normalize("NFKC")));
  const letters = (word) => [...word.normalize("NFC")].map(plain).join("");

  // {"z": [["z^l", "pre-activation ..."]], "δz": ...}: the letters that a symbol begins with are what it is found by.
  function glossary(tables) {
    const found = {};
    for (const row of tables.flatMap((table) => [...table.tBodies[0].rows])) {
      const heads = [...row.closest("table").tHead.rows[0].cells].map(text);
      const cell = (head) => text(row.cells[heads.indexOf(head)]);
      const rest = [["code", "in code "], ["shape, range", ""]].map(([head, before]) => [before, cell(head)])
        .filter(([, told]) => told && told !== "-").map(([before, told]) => before + told);
      for (const name of cell("symbol").split(/[,;] |‖| \(/)) {
        const word = name.match(/^(?:\p{L}\p{M}*)+/u)?.[0];
        if (word) (found[letters(word)] ??= new Map()).set(cell("symbol"), [cell("meaning"), ...rest].join("; "));
      }
    }
    return found;
  }

  const LETTERS = 'g[data-mml-node="mi"]';
  const CALLIGRAPHIC = { L: "ℒ", D: "𝒟", N: "𝒩", A: "𝒜", X: "𝒳" };
  function spelled(node) {
    return [...(node?.querySelectorAll("[data-c]") ?? [])].map((glyph) => {
      const letter = String.fromCodePoint(parseInt(glyph.dataset.c, 16));
      return (/-TEX-C-/.test(glyph.getAttribute("xlink:href") ?? "") && CALLIGRAPHIC[letter]) || plain(letter);
    }).join("");
  }

  // δ and Δ are read with the letter behind them, a hat with the letter below it.
  function nameOf(node, known) {
    const all = [...node.closest("svg").querySelectorAll(LETTERS)];
    const at = all.indexOf(node);
    const own = spelled(node);
    const over = spelled(node.parentElement?.closest('g[data-mml-node="mover"]')?.querySelector('g[data-mml-node="mo"]'));
    const accent = { "^": "\u0302", "~": "\u0303", "¯": "\u0304", "ˉ": "\u0304", "ˆ": "\u0302", "˜": "\u0303" }[over];
    const before = at && spelled(all[at - 1]);
    const names = [accent && (own + accent).normalize("NFC"), /^[δΔ]$/.test(own) && own + spelled(all[at + 1]),
      /^[δΔ]$/.test(before) && before + own, own];
    return names.find((name) => name && Object.hasOwn(known, name));
  }

  const told = (name, known) => [...known[name]].map(([symbol, meaning]) => `${symbol}: ${meaning}`);

  // The list below a claim: every letter of its formulas once, in their order.
  function listed(claim, known) {
    const names = [...new Set([...claim.querySelectorAll(LETTERS)].map((node) => nameOf(node, known)).filter(Boolean))];
    if (!names.length) return;
    const button = document.createElement("button");
    const list = document.createElement("ul");
    list.id = `letters-${claim.closest("section").id}`;
    list.hidden = true;
    list.className = "told";
    for (const name of names) {
      for (const line of told(name, known)) {
        const item = document.createElement("li");
        item.dataset.letter = name;
        item.textContent = line;
        list.append(item);
      }
    }
    const open = (shown) => {
      list.hidden = !shown;
      button.setAttribute("aria-expanded", String(shown));
    };
    Object.assign(button, { type: "button", className: "letters-of", textContent: "What the letters mean" });
    button.setAttribute("aria-controls", list.id);
    open(false);
    button.addEventListener("click", () => open(list.hidden));
    claim.append(button, list);
    claim.addEventListener("click", (event) => {
      const node = event.target.closest?.(LETTERS);
      const name = node && nameOf(node, known);
      if (!name) return;
      open(true);
      for (const item of list.children) item.classList.toggle("asked", item.dataset.letter === name);
      list.querySelector(".asked").scrollIntoView({ block: "nearest" });
    });
  }

  addEventListener("load", async () => {
    const known = glossary([...document.querySelectorAll(".letters table")]);
    await window.MathJax?.startup?.promise;
    document.querySelectorAll(".says").forEach((claim) => listed(claim, known));
    document.querySelector("article")?.addEventListener("pointerover", (event) => {
      const node = event.target.closest?.(LETTERS);
      if (!node || node.querySelector("title")) return;
      const name = nameOf(node, known);
      if (!name) return;
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = told(name, known).join("\n");
      node.prepend(title);
    });
  });
})();
