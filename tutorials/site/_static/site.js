"use strict";
(() => {
  // A page opened from a folder may not read its neighbours, so a search there shows titles without excerpts.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  // What is wider than its place can be scrolled by the keyboard too: then, and only then, it takes the focus.
  const reach = () => document.querySelectorAll("pre, .table-wrapper, table, .math").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  addEventListener("load", reach);
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true); // a fold that opens
})();
