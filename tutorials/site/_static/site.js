// What is wider than its place can be scrolled by the keyboard too: then, and only then, it takes the focus.
"use strict";
(() => {
  const reach = () => document.querySelectorAll("pre, .table-wrapper, table, .math").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  addEventListener("load", reach);
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true); // a fold that opens
})();
