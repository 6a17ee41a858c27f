// A letter of a formula, pointed at, says what it means, its name in code and its shape: the page's table of letters.
"use strict";
(() => {
  const text = (cell) => cell?.textContent.trim() ?? "";

  // {"z": ["z^l: pre-activation ..."], "δz": ...}: a symbol's letters without what stands above and below them.
  function glossary(tables) {
    const found = {};
    for (const row of tables.flatMap((table) => [...table.tBodies[0].rows])) {
      const heads = [...row.closest("table").tHead.rows[0].cells].map(text);
      const cell = (head) => text(row.cells[heads.indexOf(head)]);
      const shape = cell("shape, range");
      const told = `${cell("symbol")}: ${cell("meaning")}; in code ${cell("code")}${shape && `, ${shape}`}`;
      for (const name of cell("symbol").split(/[,;] /)) {
        const letters = name.replace(/[_^](\{[^}]*\}|.)/g, "").match(/^\p{L}+/u)?.[0];
        if (letters) (found[letters] ??= []).push(told);
      }
    }
    return found;
  }

  const LETTERS = 'g[data-mml-node="mi"]';
  const plain = (letter) => (letter === "ℓ" ? letter : letter.normalize("NFKC"));
  const spelled = (node) => [...(node?.querySelectorAll("[data-c]") ?? [])]
    .map((glyph) => plain(String.fromCodePoint(parseInt(glyph.dataset.c, 16)))).join("");

  // δ is read with the letter behind it, a hat with the letter below it.
  function meaning(node, known) {
    const all = [...node.closest("svg").querySelectorAll(LETTERS)];
    const at = all.indexOf(node);
    const own = spelled(node);
    const hat = node.parentElement?.closest('g[data-mml-node="mover"]') ? `${own}\u0302`.normalize("NFC") : "";
    const pair = own === "δ" ? own + spelled(all[at + 1]) : at && spelled(all[at - 1]) === "δ" ? `δ${own}` : "";
    return known[hat] ?? known[pair] ?? known[own];
  }

  addEventListener("load", () => {
    const known = glossary([...document.querySelectorAll(".letters table")]);
    document.querySelector("article")?.addEventListener("pointerover", (event) => {
      const node = event.target.closest?.(LETTERS);
      if (!node || node.querySelector("title")) return;
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = (meaning(node, known) ?? []).join("\n");
      if (title.textContent) node.prepend(title);
    });
  });
})();
