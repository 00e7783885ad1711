// The rest of the page: tables, what is folded away, words that are explained, colours.
"use strict";

(() => {
  const { data, byId, element } = ferlTools;
  const MOST_PRINTED = 45; // lines of a card

  function sortableRules() {
    const table = document.querySelector(".rule-table"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const keys = (column) => [...body.rows].map((row) => Number(row.cells[column].dataset.key));
    const sortable = heads.filter((_, column) => body.rows[0]?.cells[column].dataset.key !== undefined);
    const mark = (item, order) => sortable.forEach((head) => head.setAttribute("aria-sort", head === item ? order : "none"));
    for (const head of sortable) {
      const column = heads.indexOf(head), button = element("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending", key = (row) => Number(row.cells[column].dataset.key);
        mark(head, down ? "descending" : "ascending");
        body.append(...[...body.rows].sort((one, other) => (down ? key(other) - key(one) : key(one) - key(other))));
      });
    }
    mark(sortable.find((head) => keys(heads.indexOf(head)).every((key, k, all) => !k || all[k - 1] <= key)), "ascending");
    const filter = byId("rule-filter");
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      let shown = 0;
      for (const row of body.rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      byId("rule-count").textContent = `${shown} of ${body.rows.length} rules`;
    });
    return () => {
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
    };
  }

  // A link to what is folded away, or hidden by the filter of the rules, shows it.
  function openTarget(showAllRules) {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) showAllRules();
    for (let item = target; item; item = item.parentElement) if (item.tagName === "DETAILS") item.open = true;
    target.scrollIntoView();
  }

  function foldable() {
    const button = byId("unfold"), all = () => document.querySelectorAll("main details");
    const isUnfolded = () => [...all()].every((item) => item.open);
    const name = () => (button.textContent = isUnfolded() ? "Fold" : "Unfold");
    button.addEventListener("click", () => {
      const open = !isUnfolded();
      all().forEach((item) => (item.open = open));
      name();
    });
    all().forEach((item) => item.addEventListener("toggle", name));
    // A card that fits on a page is printed, though it is folded.
    const cards = [...document.querySelectorAll("#scorecard details")].filter((item) => item.querySelectorAll("tr").length <= MOST_PRINTED);
    let opened = [];
    addEventListener("beforeprint", () => (opened = cards.filter((item) => !item.open)).forEach((item) => (item.open = true)));
    addEventListener("afterprint", () => opened.forEach((item) => (item.open = false)));
    if (!byId("tree")) return;
    const nodes = document.querySelectorAll(".tree details");
    byId("open-all").addEventListener("click", () => nodes.forEach((node) => (node.open = true)));
    byId("close-all").addEventListener("click", () => nodes.forEach((node) => (node.open = false)));
  }

  // What a word means, beside the word: by the mouse, by the keyboard, by a finger. Escape takes it away.
  function explainedWords() {
    const tip = byId("tip");
    let shown = null;
    const hide = () => {
      tip.hidden = true;
      shown = null;
    };
    const show = (word) => {
      shown = word;
      tip.textContent = data.glossary[word.dataset.term];
      tip.hidden = false;
      const around = word.getBoundingClientRect(), item = tip.getBoundingClientRect(), gap = 6;
      const left = Math.max(gap, Math.min(around.left, document.documentElement.clientWidth - item.width - gap));
      const below = around.bottom + gap;
      tip.style.left = `${left}px`;
      tip.style.top = `${below + item.height > innerHeight && around.top > item.height + gap ? around.top - item.height - gap : below}px`;
    };
    document.querySelectorAll(".term").forEach((word) => word.removeAttribute("title")); // that was for pages without scripts
    const wordOf = (event) => (event.target instanceof Element ? event.target.closest(".term") : null);
    document.addEventListener("pointerover", (event) => {
      const word = wordOf(event);
      if (word) show(word);
      else if (shown && shown !== document.activeElement && !tip.contains(event.target)) hide();
    });
    document.addEventListener("focusin", (event) => (wordOf(event) ? show(wordOf(event)) : hide()));
    document.addEventListener("click", (event) => (wordOf(event) ? show(wordOf(event)) : hide()));
    document.addEventListener("scroll", hide, { passive: true });
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  }

  function choosableTheme() {
    const button = byId("theme"), names = { auto: "as the system has them", light: "light", dark: "dark" };
    // Where storage is forbidden the choice lasts as long as the page.
    const remembered = () => { try { return localStorage.getItem("ferl-theme"); } catch { return null; } };
    const remember = (theme) => { try { localStorage.setItem("ferl-theme", theme); } catch { /* storage may be blocked */ } };
    const use = (theme) => {
      if (theme === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      button.textContent = theme[0].toUpperCase() + theme.slice(1);
      button.setAttribute("aria-label", `Colours: ${names[theme]}`);
      button.dataset.theme = theme;
    };
    use(remembered() in names ? remembered() : "auto");
    button.addEventListener("click", () => {
      const order = Object.keys(names), next = order[(order.indexOf(button.dataset.theme) + 1) % order.length];
      use(next);
      remember(next);
    });
  }

  function markedSection() {
    const links = [...document.querySelectorAll(".links a")];
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const link = links.find((item) => item.hash === `#${entry.target.id}`);
        if (entry.isIntersecting) {
          links.forEach((item) => item.removeAttribute("aria-current"));
          link.setAttribute("aria-current", "true");
          link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft;
        }
      }
    }, { rootMargin: "-20% 0px -70% 0px" });
    document.querySelectorAll("main > section").forEach((section) => watcher.observe(section));
  }

  const showAllRules = sortableRules();
  foldable();
  explainedWords();
  choosableTheme();
  markedSection();
  window.addEventListener("hashchange", () => openTarget(showAllRules));
  if (location.hash) openTarget(showAllRules);
})();
