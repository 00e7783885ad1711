// The what-if form, and the answer to the row that it holds.
"use strict";

const ferlPage = (() => {
  const { isoText, dateText, data, byId, element, drawing, bar, fixed, amount, short, signed, percent, listed, tint, figure, term } = ferlTools;
  const engine = ferlEngine(data.model);
  const features = data.features, classes = data.model.classes;
  const rows = data.rows.map((row) => ({ ...row, values: row.values.map(Number) }));
  const MOST_PARTS = 8, N_COUNTED = 10, N_SIMILAR = 5; // features of a row's novelty that are shown
  const MOST_CLASSES = 12;
  const MOST_MOVES = 8; // features of a balance
  const MOST_CHANGES = 5;
  const MOST_BLAMED = 3; // values outside the training range that a sentence names
  const MOST_OPEN = 8; // features of the form that are not folded away
  const SECOND_REASON = 0.5; // of the first one, that a feature weighs which is named beside it
  const LEAST_MOVE = 0.005; // weight that two decimals show
  const SET_LEVEL = 2 / 3; // what the beliefs of a set of rules must sum to
  const MUCH_IGNORANCE = 0.1; // that a sentence names
  const VERY_UNUSUAL = 0.99, LEAST_LOST = 0.005; // that make a row novel: its rank among the training rows, and the support it loses
  const MOST_COST = 5e5; // of a search for changes while a slider moves: about 25 milliseconds

  // What differs between the kinds of models: words, what is shown, how strong a rule is and how it is described.
  const KINDS = {
    rules: {
      ends: "in training",
      range: "of the training rows",
      divided: "the classes are close",
      reason: reasonOfWeights,
      isIgnorant: (answer) => answer.ignorance > MUCH_IGNORANCE,
      show: (answer) => { showBalance(answer); showMarks(); },
      mostFired: 12, // most rules fire a little
      counts: (answer, rule) => answer.contributions[rule.index].some((item) => item !== 0),
      size: ruleWeight,
      fired: (rule, conditions, phi, size) => [
        figure(size, signed(size), `rule-weight-${rule.number}`), `: if ${conditions}, which fits by `, figure(phi, fixed(phi, 2), `firing-${rule.node}`)],
    },
    trees: {
      ends: "remembered",
      range: "that the model keeps",
      divided: "rules fire only in part, or contradict each other",
      reason: reasonOfRules,
      isIgnorant: () => false, // a row between rules needs no further rows
      show: () => {},
      mostFired: 30,
      counts: () => true,
      size: (answer) => (rule) => answer.firing[rule.node],
      fired: (rule, conditions, phi) => [
        figure(phi, fixed(phi), `firing-${rule.node}`), `: if ${conditions} then `, element("strong", {}, rule.label), ` ${fixed(rule.confidence, 2)}`],
    },
  };
  const kind = KINDS[data.model.kind];

  // ------------------------------------------------------------------------------------------------------------------
  // The form: one control for each feature, the most important ones first
  // ------------------------------------------------------------------------------------------------------------------

  const state = { values: [], start: [], row: {} }, search = { cost: ferlChanges.cost(engine, features), timer: 0 };
  const controls = features.map((feature, j) =>
    feature.kind === "category" ? categoryControl(feature, j) : feature.words ? orderedControl(feature, j) : numberControl(feature, j));

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
    const box = valueBox(feature);
    box.setAttribute("aria-label", `${feature.name}, value`);
    const lacks = element("input", { type: "checkbox" });
    const field = control(feature, j, element("div", { className: "line" }, slider, box), lacks,
      `${displayed(j, feature.low)} to ${displayed(j, feature.high)} ${kind.ends}`);
    const digits = Math.max(0, Math.min(12, Math.ceil(-Math.log10(feature.step))));
    const known = { value: (feature.low + feature.high) / 2 }; // what an unticked box returns to
    slider.addEventListener("input", () => change(j, Number(Number(slider.value).toFixed(digits))));
    box.addEventListener("input", () => {
      if (box.validity.badInput) return; // half a date
      const typed = box.value === "" ? NaN : feature.date ? box.valueAsNumber / 86400000 : Number(box.value);
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
      slider.setAttribute("aria-valuetext", isMissing ? "missing" : feature.date ? displayed(j, value) : String(value));
      if (typedIn !== box) box.value = isMissing ? "" : feature.date ? isoText(value).slice(0, feature.date.has_time ? 19 : 10) : String(value);
    };
    return { field, show };
  }

  // Where a number is typed, or a date chosen.
  function valueBox(feature) {
    if (!feature.date) return element("input", { type: "number", className: "value", step: "any" });
    const type = feature.date.has_time ? "datetime-local" : "date";
    return element("input", { type, className: "value", step: feature.date.has_time ? "1" : "" });
  }

  function categoryControl(feature, j) {
    return menuControl(feature, j, [...feature.levels, "(not in training)"]);
  }

  function orderedControl(feature, j) {
    return menuControl(feature, j, feature.words);
  }

  function menuControl(feature, j, words) {
    const menu = element("select", { className: "value" });
    menu.setAttribute("aria-label", feature.name);
    words.forEach((word, code) => menu.append(element("option", { value: code }, word)));
    const lacks = element("input", { type: "checkbox" });
    const field = control(feature, j, element("div", { className: "line" }, menu, element("span")), lacks, "");
    menu.addEventListener("change", () => change(j, Number(menu.value)));
    lacks.addEventListener("change", () => change(j, lacks.checked ? NaN : Number(menu.value || 0)));
    const show = (value) => {
      const isMissing = Number.isNaN(value);
      lacks.checked = isMissing;
      field.toggleAttribute("data-missing", isMissing);
      if (!isMissing) menu.value = Math.min(Math.max(Math.round(value), 0), words.length - 1);
    };
    return { field, show };
  }

  function fillForm() {
    const weight = (j) => (features[j].n_uses > 0 ? 1 + features[j].importance : 0);
    const order = features.map((_, j) => j).sort((i, j) => weight(j) - weight(i) || i - j);
    const asked = order.filter((j) => features[j].n_uses > 0), others = order.filter((j) => features[j].n_uses === 0);
    const form = byId("controls"), many = (group) => (group.length === 1 ? "1 feature" : `${group.length} features`);
    const folded = (text, group, isOpen) => {
      const more = element("details", {}, element("summary", {}, text), ...group.map((j) => controls[j].field));
      more.open = isOpen;
      if (group.length) form.append(more);
    };
    const first = asked.length <= MOST_OPEN + 2 ? asked.length : MOST_OPEN;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.append(...asked.slice(0, first).map((j) => controls[j].field));
    const rest = asked.slice(first);
    folded(`${many(rest)} of less weight`, rest, false);
    folded(`${many(others)} that no rule reads; ${(data.model.terms ?? []).some((item) => item.kind === "cases") ? "similar cases and novelty count" : "only novelty counts"} ${others.length === 1 ? "it" : "them"}`, others, features.length <= MOST_OPEN);
  }

  function change(j, value, typedIn) {
    state.values[j] = value;
    controls[j].show(value, typedIn);
    showAnswer();
  }

  function load(values, row = {}) {
    state.row = row;
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
    byId("foundation").replaceChildren(
      ...(answer.rows === undefined ? [] : [element("p", { id: "rows" }, "The answer rests on ", term("rows behind", rowsText(answer.rows)), ".")]),
      evidenceLine("ignorance", answer.ignorance), evidenceLine("conflict", answer.conflict),
      evidenceLine("outside the training range", answer.supportDeficit.reduce((sum, part) => sum + part, 0), "support-lost"));
    showNovelty(answer);
    showSimilar();
    kind.show(answer);
    if (data.reasons) showReasons(answer);
    showChanges(answer);
    showFired(answer);
  }

  const probabilityOf = (answer) => answer.probability || answer.pignistic;
  const abstains = (answer) => classes.length > 1 && answer.set.every(Boolean);
  const order = (answer) => classes.map((_, c) => c).sort((one, other) => probabilityOf(answer)[other] - probabilityOf(answer)[one] || one - other);

  function showVerdict(answer) {
    const inside = classes.filter((_, c) => answer.set[c]), isOpen = abstains(answer);
    const verdict = byId("verdict");
    verdict.className = `verdict${isOpen ? " abstains" : inside.length > 1 ? " several" : ""}`;
    verdict.dataset.label = isOpen ? "" : classes[answer.label];
    verdict.dataset.set = JSON.stringify(inside);
    verdict.textContent = isOpen ? "No answer" : inside.length > 1 ? `One of ${inside.length}: ${several(inside)}` : inside[0];
    byId("sentence").textContent = isChanged() || !state.row.sentence ? sentence(answer) : state.row.sentence;
    byId("remedy").textContent = data.remedies[concern(answer)] ?? "";
    const truth = state.row.truth ? `${isChanged() ? "The label of the row as it was:" : "Its label is"} ${state.row.truth}.` : "";
    const chosen = data.decision ? engine.decided(answer, data.decision) : answer.label;
    const decision = data.decision ? [`By the decision of this page, the label ${isOpen ? "would be" : "is"} `, element("strong", { id: "decided" }, classes[chosen]), ". "] : [];
    byId("verdict-note").replaceChildren(...decision, truth);
  }

  // Why the answer cannot be used as it is, the first that applies; as Explanation.concern in Python.
  function concern(answer) {
    const lost = answer.supportDeficit.reduce((sum, part) => sum + part, 0);
    const isUnseen = features.some((feature, j) => feature.kind === "category" && state.values[j] >= feature.levels.length);
    if (isUnseen || lost >= LEAST_LOST || (data.novelty.training.length && unusual(answer.novelty).share >= VERY_UNUSUAL)) return "novelty";
    if (kind.isIgnorant(answer)) return "ignorance";
    return answer.set.filter(Boolean).length > 1 || Math.max(...probabilityOf(answer)) < SET_LEVEL ? "doubt" : "";
  }

  function isChanged() {
    return state.values.some((value, j) => !Object.is(value, state.start[j]));
  }

  // Some names, and how many more there are.
  function several(names) {
    const hidden = names.length - MOST_CLASSES;
    return names.slice(0, MOST_CLASSES).join(", ") + (hidden > 0 ? ` and ${hidden} more` : "");
  }

  // The answer and the main reason for it, of values that Python has not seen.
  function sentence(answer) {
    const probability = probabilityOf(answer), named = order(answer).filter((c) => answer.set[c]).slice(0, 3)
      .map((c) => `${classes[c]} (${percent(probability[c])})`);
    const about = data.target ? `${data.target}: ` : "";
    if (abstains(answer) && answer.ignorance === 1) return `${about}No answer: ${blamed(answer) || "no training row supports one"}.`;
    if (abstains(answer)) return `${about}No answer, ${listed(named, "or")}: ${reasonForSet(answer)}.`;
    return `${about}${listed(named, "or")}${kind.reason(answer)}.`;
  }

  // The values that no training row comes near, the worst first, and what training rows have instead.
  function blamed(answer) {
    const outside = features.map((_, j) => j).filter((j) => answer.supportDeficit[j] > LEAST_MOVE)
      .sort((i, j) => answer.supportDeficit[j] - answer.supportDeficit[i]);
    const texts = outside.slice(0, MOST_BLAMED).map((j) => `${features[j].name} is ${valueText(j)}${usualRange(j)}`);
    const hidden = outside.length - texts.length;
    return listed(hidden > 0 ? [...texts, `${hidden} more values lie outside the training range`] : texts);
  }

  function usualRange(j) {
    const seen = features[j].seen;
    if (!seen || !seen.every(Number.isFinite)) return "";
    return `, training rows have ${seen[0] === seen[1] ? displayed(j, seen[0]) : `${displayed(j, seen[0])} to ${displayed(j, seen[1])}`}`;
  }

  function reasonForSet(answer) {
    const lost = answer.supportDeficit.reduce((sum, part) => sum + part, 0);
    if (lost > 0.5) return blamed(answer) || "values lie outside the training range";
    const isEnough = Math.max(...probabilityOf(answer)) >= SET_LEVEL || 1 - answer.ignorance < SET_LEVEL;
    const isIgnorant = answer.rows !== undefined && isEnough && answer.ignorance >= MUCH_IGNORANCE;
    return isIgnorant ? `few training rows are like this row. The answer rests on ${rowsText(answer.rows)}` : kind.divided;
  }

  // As rows_text in Python.
  function rowsText(rows) {
    if (rows < 0.5) return rows > 0 ? "less than 1 training row" : "no training row";
    const step = 10 ** Math.max(Math.floor(Math.log10(rows)) - 1, 0), n = Math.max(1, step * Math.round(rows / step));
    return `about ${n.toLocaleString("en")} training row${n === 1 ? "" : "s"}`;
  }

  function reasonOfWeights(answer) {
    const { moves } = balanceOf(answer);
    const reasons = features.map((_, j) => j).filter((j) => moves[j] >= LEAST_MOVE).sort((i, j) => moves[j] - moves[i]);
    if (!reasons.length) return ", as for the average training row";
    const named = reasons.slice(0, 2).filter((j) => moves[j] >= SECOND_REASON * moves[reasons[0]]);
    return `, because ${listed(named.map((j) => `${features[j].name} is ${valueText(j)}`))}`;
  }

  function reasonOfRules(answer) {
    const fired = data.rules.filter((rule) => rule.class === answer.label && answer.firing[rule.node] > 0)
      .sort((one, other) => answer.firing[other.node] * other.confidence - answer.firing[one.node] * one.confidence);
    return fired.length ? `, because rule ${fired[0].number} fits by ${percent(answer.firing[fired[0].node])}` : "";
  }

  function showMasses(answer) {
    const lines = order(answer).slice(0, MOST_CLASSES).sort((one, other) => one - other).map((c) => massLine(classes[c], c, answer));
    const hidden = classes.length - lines.length;
    if (hidden > 0) lines.push(element("p", { className: "note" }, `and ${hidden} classes that are less probable`));
    byId("masses").replaceChildren(...lines);
  }

  function massLine(name, c, answer) {
    const [belief, plausibility, probability] = [answer.belief[c], answer.plausibility[c], probabilityOf(answer)[c]];
    // The ends are rounded outwards, so that the probability never lies outside of them.
    const low = Math.max(0, Math.floor(100 * belief + 1e-7)) / 100, high = Math.min(1, Math.ceil(100 * plausibility - 1e-7) / 100);
    const text = `${name}: probability ${percent(probability)}, at least ${percent(belief)}, at most ${percent(plausibility)}`;
    return element("div", { className: "meter" }, element("span", { className: `chip ${tint(c)}` }, name),
      bar(text, [plausibility, `maybe ${tint(c)}`], [belief, tint(c)]),
      element("span", { className: "num" }, element("strong", {}, figure(probability, percent(probability), `probability-${c}`)), " (",
        figure(belief, fixed(low), `belief-${c}`), " to ", figure(plausibility, fixed(high), `plausibility-${c}`), ")"));
  }

  function evidenceLine(name, value, key = name) {
    return element("div", { className: "meter" }, term(name), bar(`${name} ${fixed(value)}`, [value, "low"]),
      figure(value, fixed(value), key));
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Novelty
  // ------------------------------------------------------------------------------------------------------------------

  // How unusual a row is among the training rows: a share, and a text; as unusual_text in Python.
  function unusual(novelty) {
    const { training, usual } = data.novelty;
    if (training.length) {
      const share = Math.max(training.filter((item) => item < novelty).length - 1, 0) / (training.length - 1); // quantiles
      const text = share === 1 ? "more unusual than all training rows" : share === 0 ? "at least 99 % of the training rows are at least as unusual" : `more unusual than ${Math.round(100 * share)} % of the training rows`;
      return { share, text, full: "A full bar: more unusual than all training rows." };
    }
    if (!(usual > 0)) return { share: 0, text: "no rank among the training rows: the model keeps too few of them, or was edited", full: "" };
    const times = novelty / usual;
    const text = isFinite(times) ? `${Number(times.toPrecision(2))} times the usual novelty` : "beyond all numbers";
    return { share: times / 4, text, full: "A full bar: four times the usual novelty or more." };
  }

  function showNovelty(answer) {
    const { share, text, full } = unusual(answer.novelty);
    byId("unusual").replaceChildren(
      element("div", { className: "meter" }, term("novelty"), bar(`novelty: ${text}`, [share, "low"]), figure(answer.novelty, amount(answer.novelty), "novelty")),
      element("p", { className: "note" }, state.values.every(Number.isNaN) ? "All values are missing, so there is nothing to compare with the training rows." : `${text[0].toUpperCase()}${text.slice(1)}. ${full}`));
    const parts = answer.noveltyByFeature, from = features.map((_, j) => j).filter((j) => parts[j] > 0).sort((i, j) => parts[j] - parts[i]);
    const lines = from.slice(0, MOST_PARTS).map((j) => {
      const part = isFinite(answer.novelty) ? parts[j] / answer.novelty : Number(!isFinite(parts[j]));
      return element("div", { className: "meter" }, element("span", {}, features[j].name, " ", element("span", { className: "soft" }, valueText(j))),
        bar(`${features[j].name} ${percent(part)}`, [part, "fill"]), figure(parts[j], percent(part), `novelty-${j}`));
    });
    if (from.length > MOST_PARTS) lines.push(element("p", { className: "note" }, `and ${from.length - MOST_PARTS} smaller parts`));
    if (!from.length) lines.push(element("p", { className: "note" }, "None."));
    byId("novelty-parts").replaceChildren(...lines);
  }

  // The most similar known cases beside the row: their classes, and the values that differ from the row's.
  function showSimilar() {
    const result = engine.similar ? engine.similar(state.values, N_SIMILAR) : [];
    byId("similar").replaceChildren(...result.map((item) => {
      const differs = features.map((_, j) => j).filter((j) => displayed(j, item.values[j]) !== valueText(j)).slice(0, MOST_PARTS);
      const values = differs.map((j) => `${features[j].name} ${displayed(j, item.values[j])}`);
      return element("li", { "data-case": String(item.place) }, element("strong", {}, classes[item.label]), ` (case ${item.place}): `, values.length ? values.join(", ") : "the same values");
    }));
    byId("similar-part").hidden = result.length === 0;
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What would change the label, and what cost points
  // ------------------------------------------------------------------------------------------------------------------

  // A search that takes long waits until the form rests.
  function showChanges(answer) {
    clearTimeout(search.timer);
    if (search.cost < MOST_COST) return fillChanges(answer);
    byId("changes").replaceChildren(element("li", { className: "note" }, "Searching ..."));
    search.timer = setTimeout(() => fillChanges(answer), 150);
  }

  function fillChanges(answer) {
    const lines = [], say = (...parts) => lines.push(element("li", {}, ...parts));
    if (abstains(answer)) say("The row has no label that could change.");
    else {
      const label = classes[answer.label], certified = isChanged() ? null : state.row.certified;
      if (certified) say(term("certificate", "Proven"), `: the label stays ${label} as long as no number moves by more than ${certified}.`);
      const result = ferlChanges.nearest(engine, features, state.values);
      result.slice(0, MOST_CHANGES).forEach((change) => say(...changeLine(change)));
      const nMore = result.length - MOST_CHANGES;
      if (nMore > 0) say(`... and ${nMore} more ${nMore === 1 ? "feature" : "features"}, further away.`);
      if (!result.length) say(`No change of a single value within the range ${kind.range} was found that makes the label other than ${label}.`);
    }
    byId("changes").replaceChildren(...lines);
  }

  // A distance with two digits, rounded down as deviations_text in Python does.
  function roundedDown(distance) {
    const unit = distance < 100 ? 10 ** (Math.floor(Math.log10(distance)) - 1) : 1;
    return Number((Math.floor((distance / unit) * (1 + 1e-12)) * unit).toPrecision(distance < 100 ? 2 : 15));
  }

  function changeLine({ j, to, label, isSilent, distance }) {
    const feature = features[j], isCategory = feature.kind === "category";
    const words = isCategory || feature.words || feature.date ? displayed(j, to) : String(to), steps = roundedDown(distance);
    const far = isCategory || feature.words ? "" : ` (${steps} ${steps === 1 ? "standard deviation" : "standard deviations"})`;
    const button = element("button", { type: "button", className: "small", "data-to": String(to), "data-feature": String(j) }, "try");
    button.setAttribute("aria-label", `Try ${feature.name} ${words}`);
    button.addEventListener("click", () => change(j, to));
    return [`If ${feature.name} were ${words} instead of ${valueText(j)}${far}: `,
      element("strong", {}, isSilent ? "no answer, because no rule applies there" : classes[label]), " ", button];
  }

  // What cost the row points on its way to the second most probable class, unless the reader chooses another one.
  function showReasons(answer) {
    const choice = byId("reason-class"), ranked = order(answer);
    const positive = choice.value === "" ? ranked[1] : Number(choice.value);
    const { unit, neutral } = data.reasons;
    if (classes.length === 2) {
      const scores = engine.opened(state.values), total = neutral + unit * (scores[positive] - scores[1 - positive]);
      byId("points").replaceChildren("The row has ", figure(total, fixed(total, 0), "points"), ` points for ${classes[positive]}. `);
    }
    const result = ferlChanges.reasons(engine, data.reasons, answer, positive).map((item) =>
      element("li", { "data-lost": String(item.lost) }, reasonText(item)));
    if (!result.length) result.push(element("li", { className: "note" }, `No value lost points on the way to ${classes[positive]}.`));
    byId("reason-codes").replaceChildren(...result);
    byId("reason-towards").textContent = choice.value === "" ? `: ${classes[positive]}` : "";
  }

  function reasonText({ feature: j, points }) {
    const cost = `${points < 0.5 ? "less than a point" : points < 1.5 ? "1 point" : `${fixed(points, 0)} points`} below average`;
    return `${features[j].name} is ${valueText(j)}: ${cost}`;
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What features and rules add, of rules that add up
  // ------------------------------------------------------------------------------------------------------------------

  // The two classes whose evidence is compared, as explain() does: the most probable one with the next.
  function comparison(answer) {
    const [towards, against] = classes.map((_, c) => c).sort((one, other) => answer.scores[other] - answer.scores[one] || one - other);
    return { towards, against, apart: (weight) => weight[towards] - weight[against] };
  }

  // What each value adds to the log-odds of the compared classes, beside the average training row.
  function balanceOf(answer) {
    const compared = comparison(answer), { apart } = compared;
    const usual = data.usual.map((weight) => answer.fade * apart(weight));
    return { ...compared, usual, moves: features.map((_, j) => apart(answer.featureContributions[j]) - usual[j]) };
  }

  // From the average training row to this one, the largest move first.
  function showBalance(answer) {
    const { towards, against, apart, usual, moves } = balanceOf(answer);
    const order = features.map((_, j) => j).filter((j) => features[j].n_uses > 0)
      .sort((i, j) => Math.abs(moves[j]) - Math.abs(moves[i]) || i - j);
    const steps = order.slice(0, MOST_MOVES).map((j) =>
      ({ name: features[j].name, value: valueText(j), size: moves[j], key: `moves-${j}` }));
    const n = features.length, cases = engine.similar ? engine.similar(state.values, N_COUNTED) : [];
    if (engine.caseWork > 0) {
      const same = cases.filter((item) => item.label === towards).length;
      const value = cases.length ? `${same} of ${cases.length} ${classes[towards]}` : "all equally near";
      steps.push({ name: "similar known cases", value, size: apart(answer.featureContributions[n]) - usual[n], key: "moves-cases" });
    }
    const hidden = order.slice(MOST_MOVES);
    if (hidden.length)
      steps.push({ name: `${hidden.length} other ${hidden.length === 1 ? "feature" : "features"}`, value: "", size: hidden.reduce((sum, j) => sum + moves[j], 0), key: "moves-rest" });
    const base = usual.reduce((sum, item) => sum + item, 0), total = apart(answer.scores);
    const rest = total - base - steps.reduce((sum, item) => sum + item.size, 0);
    if (Math.abs(rest) >= LEAST_MOVE) steps.push({ name: "class frequencies", value: "in place of the lost evidence", size: rest, key: "moves-frequencies" });
    byId("balance-title").textContent = `Odds of ${classes[towards]}${classes.length > 2 ? ` against ${classes[against]}` : ""}, value by value`;
    byId("balance").replaceChildren(...waterfall(base, steps, total, tint(towards), tint(against)));
  }

  function valueText(j) {
    return displayed(j, state.values[j]);
  }

  // A value as people write it.
  function displayed(j, value) {
    const feature = features[j];
    if (Number.isNaN(value)) return "missing";
    if (feature.date) return dateText(value, feature.date.is_zoned);
    if (feature.words) return feature.words[Math.min(Math.max(Math.round(value), 0), feature.words.length - 1)];
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
      const isSum = key === "base" || key === "sum";
      return element("div", { className: "meter" }, label, picture, figure(size, isSum ? oddsText(size) : factorText(size), key));
    };
    return [
      line("average training row", "", 0, base, base, "base"),
      ...steps.map((step, k) => line(step.name, step.value, ends[k + 1], ends[k + 2], step.size, step.key)),
      line("this row", "", 0, total, total, "sum"),
    ];
  }

  // What a weight of evidence does to the odds.
  function factorText(weight) {
    const factor = Math.exp(Math.abs(weight)), text = factor < 10 ? fixed(factor, 2) : factor < 1e6 ? short(Number(factor.toPrecision(3))) : "10^" + fixed(Math.abs(weight) / Math.LN10, 0);
    return Math.abs(weight) < LEAST_MOVE ? "x 1" : `${weight > 0 ? "x" : "/"} ${text}`;
  }

  function oddsText(weight) {
    const odds = Math.exp(weight);
    return `${odds >= 1e6 || odds < 1e-6 ? odds.toExponential(1) : short(Number(odds.toPrecision(3)))} to 1`;
  }

  // Where the row's values lie on the curves.
  function showMarks() {
    const columns = engine.withDerived(state.values);
    for (const shape of document.querySelectorAll(".shape[data-feature]")) {
      const value = columns[Number(shape.dataset.feature)], chart = shape.querySelector("svg[data-low]");
      for (const row of shape.querySelectorAll("tr[data-code]")) row.toggleAttribute("data-marked", Number(row.dataset.code) === value);
      if (!chart) continue;
      chart.querySelector(".mark")?.remove();
      const share = (value - Number(chart.dataset.low)) / (Number(chart.dataset.high) - Number(chart.dataset.low));
      if (share >= 0 && share <= 1) chart.append(drawing("path", { d: `M${46 + 266 * share} 10 V130`, class: "mark" }));
    }
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Rules that fire
  // ------------------------------------------------------------------------------------------------------------------

  function showFired(answer) {
    const size = kind.size(answer), most = kind.mostFired;
    const fired = data.rules.filter((rule) => answer.firing[rule.node] > 0 && kind.counts(answer, rule))
      .sort((one, other) => Math.abs(size(other)) - Math.abs(size(one)));
    const lines = fired.slice(0, most).map((rule) => {
      const conditions = rule.conditions.join(" and ") || "anything";
      const link = element("a", { href: `#rule-${rule.number}` }, `rule ${rule.number}`);
      const [first, ...rest] = kind.fired(rule, conditions, answer.firing[rule.node], size(rule));
      return element("li", {}, first, element("div", {}, link, ...rest));
    });
    if (fired.length > most) lines.push(element("li", { className: "note" }, element("span"), `and ${fired.length - most} weaker ${fired.length === most + 1 ? "one" : "ones"}`));
    if (!fired.length) lines.push(element("li", {}, element("span"), "No rule applies to this row."));
    byId("fired").replaceChildren(...lines);
  }

  // What a rule adds to the log-odds of the compared classes.
  function ruleWeight(answer) {
    const { apart } = comparison(answer);
    return (rule) => apart(answer.contributions[rule.index]);
  }

  function fillRows() {
    const choice = byId("row-choice");
    rows.forEach((row, index) =>
      choice.append(element("option", { value: index }, `Row ${row.number}${row.truth ? `: ${row.truth}` : ""}`)));
    if (!rows.length) choice.append(element("option", { value: -1 }, "the table has no rows"));
    choice.addEventListener("change", () => loadRow(Number(choice.value)));
    byId("reset").addEventListener("click", () => load(state.start, state.row));
    for (const button of document.querySelectorAll("button[data-row]"))
      button.addEventListener("click", () => {
        const index = rows.findIndex((row) => row.number === Number(button.dataset.row));
        choice.value = index;
        loadRow(index);
        byId("what-if").scrollIntoView();
        choice.focus({ preventScroll: true });
      });
    byId("reason-class")?.addEventListener("change", () => showReasons(page.answer));
    loadRow(0);
  }

  function loadRow(index) {
    if (index in rows) return load(rows[index].values, rows[index]);
    const middle = ({ low, high, date, is_whole: isWhole }) => (date || isWhole ? Math.round((low + high) / 2) : Number(short((low + high) / 2)));
    load(features.map((feature) => (feature.kind === "category" || feature.words ? 0 : middle(feature))));
  }

  const page = { engine, data, load, answer: null };
  fillForm();
  fillRows();
  return page;
})();
