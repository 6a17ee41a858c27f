// A document's page, read beside it: the same mark for a term of a formula and what it is in the code.
"use strict";
(() => {
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
    document.querySelectorAll(".facts").forEach((facts) => terms(facts.closest("section")));
  });
})();
