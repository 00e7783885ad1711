// The page: colours, the tables, and the what-if form. Text that comes from the table or the model is set as text, never
// as markup.
"use strict";

const ferlPage = (() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const engine = ferlEngine(data.model);
  const features = data.features, classes = data.model.classes;
  const rows = data.rows.map((row) => ({ ...row, values: row.values.map(Number) }));
  const byId = (id) => document.getElementById(id);
  const MOST_PARTS = 8; // features of a row's novelty that are shown
  const MOST_FIRED = 30; // rules of a tree
  const MOST_WIDE = 12; // wide rules, most of which fire a little
  const MOST_CLASSES = 12;
  const MOST_MOVES = 10; // features of a balance
  const MOST_OPEN = 12; // features that are all shown at once

  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made && name !== "list") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function drawing(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // A bar of parts, each a width between 0 and 1 and a class, one over the other.
  function bar(text, ...layers) {
    const rectangles = [[1, "track"], ...layers].map(([width, look]) =>
      drawing("rect", { width: 100 * Math.min(Math.max(width, 0), 1), height: 10, class: look }));
    return drawing("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": text }, ...rectangles);
  }

  const fixed = (value, digits = 3) => value.toFixed(digits);
  const amount = (value) =>
    !isFinite(value) ? "beyond all numbers" : value < 1e4 ? fixed(value) : value.toPrecision(3);
  const short = (value) => String(Number(value.toPrecision(6)));
  const tint = (c) => `c${c % 8}`;

  // A number in the page; its full value for who wants to read it exactly.
  function figure(value, text, key) {
    return element("span", { className: "num", "data-value": String(value), "data-key": key }, text);
  }

  // ------------------------------------------------------------------------------------------------------------------
  // The form: one control for each feature, the features that rules ask first
  // ------------------------------------------------------------------------------------------------------------------

  const state = { values: [], start: [] };
  const controls = features.map((feature, j) =>
    feature.kind === "category" ? categoryControl(feature, j) : numberControl(feature, j));

  function control(feature, j, line, lacks, ends) {
    const label = element("label", { className: "lacks" }, lacks, "missing");
    lacks.setAttribute("aria-label", `${feature.name} is missing`);
    line.append(label);
    const box = element("fieldset", { className: "control", "data-feature": j },
      element("legend", { title: feature.full_name }, feature.name), line);
    if (ends) box.append(element("div", { className: "ends num" }, ends));
    return box;
  }

  function numberControl(feature, j) {
    const slider = element("input", { type: "range", className: "value" });
    slider.min = feature.low;
    slider.max = feature.high;
    slider.step = feature.step;
    slider.setAttribute("aria-label", `${feature.name}, slider`);
    const box = element("input", { type: "number", className: "value", step: "any" });
    box.setAttribute("aria-label", `${feature.name}, value`);
    const lacks = element("input", { type: "checkbox" });
    const field = control(feature, j, element("div", { className: "line" }, slider, box), lacks,
      `${short(feature.low)} to ${short(feature.high)} in training`);
    const digits = Math.max(0, Math.min(12, Math.ceil(-Math.log10(feature.step))));
    const known = { value: (feature.low + feature.high) / 2 }; // what an unticked box returns to
    slider.addEventListener("input", () => change(j, Number(Number(slider.value).toFixed(digits))));
    box.addEventListener("input", () => {
      const typed = box.value === "" ? NaN : Number(box.value);
      if (box.value !== "" && !Number.isFinite(typed)) return; // half a number, as 1e
      change(j, typed, box);
    });
    lacks.addEventListener("change", () => change(j, lacks.checked ? NaN : known.value));
    const show = (value, typedIn) => {
      const isMissing = Number.isNaN(value);
      if (!isMissing) known.value = value;
      lacks.checked = isMissing;
      field.toggleAttribute("data-missing", isMissing);
      if (!isMissing) slider.value = value;
      slider.setAttribute("aria-valuetext", isMissing ? "missing" : String(value));
      if (typedIn !== box) box.value = isMissing ? "" : String(value);
    };
    return { field, show };
  }

  function categoryControl(feature, j) {
    const menu = element("select", { className: "value" });
    menu.setAttribute("aria-label", feature.name);
    feature.levels.forEach((level, code) => menu.append(element("option", { value: code }, level)));
    menu.append(element("option", { value: feature.levels.length }, "(not in training)"));
    const lacks = element("input", { type: "checkbox" });
    const field = control(feature, j, element("div", { className: "line" }, menu, element("span")), lacks, "");
    menu.addEventListener("change", () => change(j, Number(menu.value)));
    lacks.addEventListener("change", () => change(j, lacks.checked ? NaN : Number(menu.value || 0)));
    const show = (value) => {
      const isMissing = Number.isNaN(value);
      lacks.checked = isMissing;
      field.toggleAttribute("data-missing", isMissing);
      if (!isMissing) menu.value = Math.min(value, feature.levels.length);
    };
    return { field, show };
  }

  function fillForm() {
    const order = features.map((_, j) => j).sort((i, j) => features[j].n_conditions - features[i].n_conditions || i - j);
    const asked = order.filter((j) => features[j].n_conditions > 0), others = order.filter((j) => features[j].n_conditions === 0);
    const form = byId("controls");
    form.append(...asked.map((j) => controls[j].field));
    form.addEventListener("submit", (event) => event.preventDefault());
    if (!others.length) return;
    const more = element("details", {}, element("summary", {},
      `${others.length === 1 ? "1 feature" : `${others.length} features`} that no rule asks; only novelty counts ${others.length === 1 ? "it" : "them"}`), ...others.map((j) => controls[j].field));
    more.open = features.length <= MOST_OPEN;
    form.append(more);
  }

  function change(j, value, typedIn) {
    state.values[j] = value;
    controls[j].show(value, typedIn);
    showAnswer();
  }

  function load(values, truth = null) {
    state.truth = truth;
    state.values = values.slice();
    state.start = values.slice();
    values.forEach((value, j) => controls[j].show(value));
    showAnswer();
  }

  // ------------------------------------------------------------------------------------------------------------------
  // The answer
  // ------------------------------------------------------------------------------------------------------------------

  function showAnswer() {
    const answer = engine.judge(state.values);
    page.answer = answer;
    showVerdict(answer);
    showMasses(answer);
    byId("doubt").replaceChildren(
      doubtLine("ignorance", answer.ignorance), doubtLine("conflict", answer.conflict),
      doubtLine("support lost", answer.supportDeficit.reduce((sum, part) => sum + part, 0)));
    showNovelty(answer);
    if (data.usual) {
      showBalance(answer);
      showMarks();
    }
    showFired(answer);
  }

  const probabilityOf = (answer) => answer.probability || answer.pignistic;

  function showMasses(answer) {
    const probability = probabilityOf(answer);
    const byProbability = classes.map((_, c) => c).sort((one, other) => probability[other] - probability[one]);
    const lines = byProbability.slice(0, MOST_CLASSES).sort((one, other) => one - other)
      .map((c) => massLine(classes[c], c, answer));
    const hidden = classes.length - lines.length;
    if (hidden > 0) lines.push(element("p", { className: "note" }, `and ${hidden} classes that are less probable`));
    byId("masses").replaceChildren(...lines);
  }

  // Some names, and how many more there are.
  function several(names) {
    const hidden = names.length - MOST_CLASSES;
    return names.slice(0, MOST_CLASSES).join(", ") + (hidden > 0 ? ` and ${hidden} more` : "");
  }

  function showVerdict(answer) {
    const inside = classes.filter((_, c) => answer.set[c]);
    const verdict = byId("verdict"), note = byId("verdict-note");
    const abstains = inside.length === classes.length && classes.length > 1;
    verdict.className = `verdict${abstains ? " abstains" : inside.length > 1 ? " several" : ""}`;
    verdict.dataset.label = classes[answer.label];
    verdict.dataset.set = JSON.stringify(inside);
    verdict.textContent = abstains ? "Abstains: every class stays possible" : inside.length > 1 ? `One of ${inside.length}: ${several(inside)}` : inside[0];
    note.textContent = `Most probable: ${classes[answer.label]}, with probability ${fixed(probabilityOf(answer)[answer.label])}` +
      (state.truth ? `. ${isChanged() ? "The label of the row as it was:" : "Its label is"} ${state.truth}.` : ".");
  }

  function isChanged() {
    return state.values.some((value, j) => !Object.is(value, state.start[j]));
  }

  function massLine(name, c, answer) {
    const text = `${name}: belief ${fixed(answer.belief[c])}, plausibility ${fixed(answer.plausibility[c])}`;
    return element("div", { className: "meter" }, element("span", { className: `chip ${tint(c)}` }, name),
      bar(text, [answer.plausibility[c], "maybe"], [answer.belief[c], "fill"]),
      element("span", { className: "num" }, figure(answer.belief[c], fixed(answer.belief[c]), `belief-${c}`), " to ",
        figure(answer.plausibility[c], fixed(answer.plausibility[c]), `plausibility-${c}`)));
  }

  function doubtLine(name, value) {
    return element("div", { className: "meter" }, element("span", {}, name), bar(`${name} ${fixed(value)}`, [value, "low"]),
      figure(value, fixed(value), name.replace(" ", "-")));
  }

  function showNovelty(answer) {
    byId("novelty").replaceChildren(figure(answer.novelty, amount(answer.novelty), "novelty"));
    const order = features.map((_, j) => j).filter((j) => answer.noveltyByFeature[j] > 0)
      .sort((i, j) => answer.noveltyByFeature[j] - answer.noveltyByFeature[i]);
    const lines = order.slice(0, MOST_PARTS).map((j) => {
      const part = answer.noveltyByFeature[j], share = isFinite(answer.novelty) ? part / answer.novelty : Number(!isFinite(part));
      return element("div", { className: "meter" }, element("span", {}, features[j].name),
        bar(`${features[j].name} ${amount(part)}`, [share, "fill"]), figure(part, amount(part), `novelty-${j}`));
    });
    if (order.length > MOST_PARTS) lines.push(element("p", { className: "note" }, `and ${order.length - MOST_PARTS} smaller parts`));
    if (!order.length) lines.push(element("p", { className: "note" }, state.values.every(Number.isNaN) ? "Nobody can say: all values are missing." : "None."));
    byId("novelty-parts").replaceChildren(...lines);
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What features and rules add, of wide rules
  // ------------------------------------------------------------------------------------------------------------------

  const signed = (value) => (Math.abs(value) < 0.005 ? "0.00" : `${value < 0 ? "-" : "+"}${fixed(Math.abs(value), 2)}`);

  // Two classes whose evidence is compared: the second label with the first, or the most probable with the next.
  function comparison(answer) {
    const order = classes.map((_, c) => c).sort((one, other) => answer.scores[other] - answer.scores[one] || one - other);
    const [towards, against] = classes.length > 2 ? order : [classes.length - 1, 0];
    return { towards, against, apart: (weight) => weight[towards] - weight[against] };
  }

  // From the average training row to this one: what each value adds to the log-odds, the largest first.
  function showBalance(answer) {
    const { towards, against, apart } = comparison(answer);
    const support = 1 - answer.supportDeficit.reduce((sum, part) => sum + part, 0);
    const usual = data.usual.map((weight) => support * apart(weight));
    const moves = features.map((_, j) => apart(answer.featureContributions[j]) - usual[j]);
    const order = features.map((_, j) => j).filter((j) => features[j].n_conditions > 0)
      .sort((i, j) => Math.abs(moves[j]) - Math.abs(moves[i]) || i - j);
    const steps = order.slice(0, MOST_MOVES).map((j) =>
      ({ name: features[j].name, value: valueText(j), size: moves[j], key: `moves-${j}` }));
    const hidden = order.slice(MOST_MOVES);
    if (hidden.length)
      steps.push({ name: `${hidden.length} other ${hidden.length === 1 ? "feature" : "features"}`, value: "", size: hidden.reduce((sum, j) => sum + moves[j], 0), key: "moves-rest" });
    const base = usual.reduce((sum, own) => sum + own, 0), total = apart(answer.scores);
    byId("balance-title").textContent = `What speaks for ${classes[towards]} (+) and ${classes[against]} (-)`;
    byId("balance").replaceChildren(...waterfall(base, steps, total, tint(towards), tint(against)));
  }

  function valueText(j) {
    const value = state.values[j], feature = features[j];
    if (Number.isNaN(value)) return "missing";
    if (feature.kind !== "category") return short(value);
    return value < feature.levels.length ? feature.levels[value] : "not in training";
  }

  // Bars one below the other, each of which begins where the last one ended.
  function waterfall(base, steps, total, up, down) {
    const ends = [0, base];
    for (const step of steps) ends.push(ends[ends.length - 1] + step.size);
    const low = Math.min(...ends, total), high = Math.max(...ends, total), width = high - low || 1;
    const at = (value) => (100 * (value - low)) / width;
    const line = (name, value, from, to, size, key) => {
      const step = drawing("rect", { x: at(Math.min(from, to)), width: Math.max(at(Math.max(from, to)) - at(Math.min(from, to)), 0.5), height: 10, class: to < from ? down : up });
      const zero = drawing("path", { d: `M${at(0)} 0 V10`, class: "middle" });
      const picture = drawing("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": `${name} ${signed(size)}` },
        drawing("rect", { width: 100, height: 10, class: "track" }), step, zero);
      const label = element("span", {}, name);
      if (value) label.append(" ", element("span", { className: "soft" }, value));
      return element("div", { className: "meter" }, label, picture, figure(size, signed(size), key));
    };
    return [
      line("average training row", "", 0, base, base, "base"),
      ...steps.map((step, k) => line(step.name, step.value, ends[k + 1], ends[k + 2], step.size, step.key)),
      line("sum", "", 0, total, total, "sum"),
    ];
  }

  // Where the row's values lie on the curves.
  function showMarks() {
    for (const shape of document.querySelectorAll(".shape[data-feature]")) {
      const value = state.values[Number(shape.dataset.feature)], chart = shape.querySelector("svg[data-low]");
      for (const row of shape.querySelectorAll("tr[data-code]")) row.toggleAttribute("data-marked", Number(row.dataset.code) === value);
      if (!chart) continue;
      chart.querySelector(".mark")?.remove();
      const share = (value - Number(chart.dataset.low)) / (Number(chart.dataset.high) - Number(chart.dataset.low));
      if (share >= 0 && share <= 1) chart.append(drawing("path", { d: `M${38 + 274 * share} 10 V130`, class: "mark" }));
    }
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Rules that fire
  // ------------------------------------------------------------------------------------------------------------------

  function showFired(answer) {
    const size = data.usual ? ruleWeight(answer) : (rule) => answer.firing[rule.node], most = data.usual ? MOST_WIDE : MOST_FIRED;
    const counts = (rule) => !data.usual || answer.contributions[rule.number - 1].some((own) => own !== 0);
    const fired = data.rules.filter((rule) => answer.firing[rule.node] > 0 && counts(rule))
      .sort((one, other) => Math.abs(size(other)) - Math.abs(size(one)));
    const lines = fired.slice(0, most).map((rule) => {
      const phi = answer.firing[rule.node], conditions = rule.conditions.join(" and ") || "anything";
      const link = element("a", { href: `#rule-${rule.number}` }, `rule ${rule.number}`);
      const told = data.usual
        ? [`: if ${conditions}, which fits by `, figure(phi, fixed(phi, 2), `firing-${rule.node}`)]
        : [`: if ${conditions} then `, element("strong", {}, rule.label), ` ${fixed(rule.confidence, 2)}`];
      const first = data.usual ? figure(size(rule), signed(size(rule)), `rule-weight-${rule.number}`) : figure(phi, fixed(phi), `firing-${rule.node}`);
      return element("li", {}, first, element("div", {}, link, ...told));
    });
    if (fired.length > most) lines.push(element("li", { className: "note" }, element("span"), `and ${fired.length - most} weaker ones`));
    if (!fired.length) lines.push(element("li", {}, element("span"), "None: nothing that was learned applies to this row."));
    byId("fired").replaceChildren(...lines);
  }

  // What a wide rule adds to the log-odds of the compared classes; rules have the numbers of their contributions.
  function ruleWeight(answer) {
    const { apart } = comparison(answer);
    return (rule) => apart(answer.contributions[rule.number - 1]);
  }

  function fillRows() {
    const choice = byId("row-choice");
    rows.forEach((row, place) =>
      choice.append(element("option", { value: place }, `Row ${row.number}${row.truth ? `: ${row.truth}` : ""}`)));
    if (!rows.length) choice.append(element("option", { value: -1 }, "the table has no rows"));
    choice.addEventListener("change", () => loadRow(Number(choice.value)));
    byId("reset").addEventListener("click", () => load(state.start, state.truth));
    for (const button of document.querySelectorAll("button[data-row]"))
      button.addEventListener("click", () => {
        const place = rows.findIndex((row) => row.number === Number(button.dataset.row));
        choice.value = place;
        loadRow(place);
        byId("what-if").scrollIntoView();
        choice.focus({ preventScroll: true });
      });
    loadRow(0);
  }

  function loadRow(place) {
    if (place in rows) return load(rows[place].values, rows[place].truth);
    load(features.map((feature) => (feature.kind === "category" ? 0 : (feature.low + feature.high) / 2)));
  }

  // ------------------------------------------------------------------------------------------------------------------
  // The rest of the page
  // ------------------------------------------------------------------------------------------------------------------

  function sortableRules() {
    const table = byId("rule-table"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => Number(row.cells[column].dataset.key);
        body.append(...[...body.rows].sort((one, other) => (down ? key(other) - key(one) : key(one) - key(other))));
      });
    });
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
    // A link to a rule that the filter hides shows it again.
    window.addEventListener("hashchange", () => {
      const target = document.getElementById(location.hash.slice(1));
      if (!target || !target.hidden) return;
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
      target.scrollIntoView();
    });
  }

  function foldableTree() {
    if (!byId("tree")) return;
    const all = document.querySelectorAll(".tree details");
    byId("open-all").addEventListener("click", () => all.forEach((node) => (node.open = true)));
    byId("close-all").addEventListener("click", () => all.forEach((node) => (node.open = false)));
  }

  // Paper cannot be unfolded.
  function unfoldedPrint() {
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      closed.forEach((own) => (own.open = true));
    });
    window.addEventListener("afterprint", () => closed.forEach((own) => (own.open = false)));
  }

  function choosableTheme() {
    const button = byId("theme"), names = { auto: "as the system has them", light: "light", dark: "dark" };
    // Where storage is forbidden the choice lasts as long as the page.
    const remembered = () => { try { return localStorage.getItem("ferl-theme"); } catch { return null; } };
    const remember = (theme) => { try { localStorage.setItem("ferl-theme", theme); } catch { /* as said */ } };
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
        const link = links.find((own) => own.hash === `#${entry.target.id}`);
        if (entry.isIntersecting) {
          links.forEach((own) => own.removeAttribute("aria-current"));
          link.setAttribute("aria-current", "true");
          link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft;
        }
      }
    }, { rootMargin: "-20% 0px -70% 0px" });
    document.querySelectorAll("main > section").forEach((section) => watcher.observe(section));
  }

  const page = { engine, data, load, answer: null };
  fillForm();
  fillRows();
  sortableRules();
  foldableTree();
  unfoldedPrint();
  choosableTheme();
  markedSection();
  return page;
})();
