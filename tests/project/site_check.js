// Collects what a reader of an open page meets, as plain data. site_check.py decides what is wrong.
// Called in the page with {width, theme}. Theme "light" inspects everything, and "dark" and "auto" only the colours.
async ({ width, theme }) => {
  const MATH = "mjx-container";
  document.querySelectorAll("details").forEach((details) => (details.open = true)); // folded code is read too
  document.body.dataset.theme = theme; // the switch of furo; "auto" follows the system
  if (theme === "light" && window.MathJax) await MathJax.startup.promise;

  // Colours

  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    // Any CSS colour as [r, g, b, alpha]
    if (!known.has(color)) {
      canvas.width = canvas.height = 1; // clears it
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  };
  const over = (top, alpha, below) => below.map((c, i) => alpha * top[i] + (1 - alpha) * c);
  const behind = new Map([[null, rgba("white").slice(0, 3)]]); // the colour under an element's text
  const background = (element) => {
    if (!behind.has(element)) {
      const own = rgba(getComputedStyle(element).backgroundColor);
      behind.set(element, over(own, own[3], background(element.parentElement)));
    }
    return behind.get(element);
  };
  const luminance = (color) => {
    const linear = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (element) => {
    // WCAG 2.2: from 1 to 21
    const [below, own] = [background(element), rgba(getComputedStyle(element).color)];
    const [dark, light] = [luminance(below), luminance(over(own, own[3], below))].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };

  // Text: every element that has some of its own, and every formula

  const seen = { visibilityProperty: true, opacityProperty: true };
  const isRead = (element) =>
    element.checkVisibility(seen) && !element.closest("a.headerlink, .skip-to-content, script, style, svg, img");
  const texts = new Map(); // element -> its text
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    if (text && !element.closest(MATH)) texts.set(element, texts.get(element) || text.slice(0, 60));
  }
  document.querySelectorAll(MATH).forEach((formula) => texts.set(formula, "a formula"));
  const read = [...texts].filter(([element]) => isRead(element));

  const faint = new Map(); // one example of each pair of colours
  for (const [element, text] of read) {
    const found = contrast(element);
    const colors = `${getComputedStyle(element).color} on ${background(element).map(Math.round)}`;
    if (found < 4.5 && !faint.has(colors)) faint.set(colors, { text, colors, contrast: found });
  }

  // Pictures are drawn dark on light, so they need their own background on a dark page. A page that was opened from a
  // folder may not read the pixels of a picture. On a server, the same picture is checked.

  const bare = [];
  for (const img of document.querySelectorAll("article img")) {
    if (!img.naturalWidth || location.protocol === "file:") continue;
    canvas.width = canvas.height = 16;
    pen.drawImage(img, 0, 0, 16, 16);
    const alpha = pen.getImageData(0, 0, 16, 16).data.filter((_, i) => i % 4 === 3);
    const own = rgba(getComputedStyle(img).backgroundColor);
    const ground = luminance(over(own, own[3], background(img.parentElement)));
    if (Math.min(...alpha) < 255 && ground < 0.5) bare.push(img.src);
  }
  const colours = { faint: [...faint.values()], bare };
  if (theme !== "light") return colours;

  // Formulas

  const name = (element) => element.textContent.trim().replace(/\s+/g, " ").slice(0, 80);
  const math = [...document.querySelectorAll(".math")];
  const unknown = [...document.querySelectorAll(`${MATH} mtext`)].filter((text) => text.textContent.startsWith("\\"));
  const prose = read.filter(([element]) => !element.closest(".math, pre, code, .search"));
  const formulas = {
    count: math.length,
    unrendered: math.filter((element) => !element.querySelector(`${MATH} svg`)).map(name),
    errors: [...document.querySelectorAll("g[data-mjx-error]"), ...unknown].map(name),
    stray: [...document.querySelectorAll(MATH)].filter((element) => !element.closest(".math")).map(name),
    raw: prose.map(([, text]) => text).filter((text) => /\$.+\$|\\[()[\]]|\\begin\{|\{(ref|doc|eq)\}`/.test(text)),
  };

  // Links, their possible targets, and pictures

  const place = (element) => {
    // The ids under which the section of a link can be reached
    const section = element.closest("section");
    return section ? [section.id, ...[...section.querySelectorAll(":scope > span[id]")].map((span) => span.id)] : [];
  };
  const links = [...document.querySelectorAll("a[href]")].map((a) => ({ to: a.href, from: place(a) }));
  const anchors = [...document.querySelectorAll("[id], a[name]")].map((element) => element.id || element.name);
  const images = [...document.images].map((img) => ({ src: img.src, loaded: img.complete && img.naturalWidth > 0 }));

  // A phone: text beyond the edge must be in a box that scrolls, and no text is tiny

  const outside = (element) => {
    // Whether a reader cannot reach the right end of this text
    const right = Math.max(...[...element.getClientRects()].map((rect) => rect.right));
    if (right <= width + 1) return false;
    for (let box = element; box; box = box.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) {
        return box.getBoundingClientRect().right > width + 1;
      }
    }
    return true;
  };
  const content = read.filter(([element]) => element.closest("article, footer, .mobile-header"));
  const size = (element) => parseFloat(getComputedStyle(element).fontSize);
  const phone = {
    width: document.documentElement.scrollWidth,
    outside: content.filter(([element]) => outside(element)).map(([, text]) => text),
    tiny: content.filter(([element]) => !element.closest("sup, sub") && size(element) < 11).map(([, text]) => text),
    body: Math.min(...[...document.querySelectorAll("article p")].map(size), 16),
  };
  return { ...colours, formulas, links, anchors, images, phone };
};
