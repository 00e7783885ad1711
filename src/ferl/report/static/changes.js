// What is read off the engine besides its answer to a row: the nearest changes of one feature, and reason codes.
"use strict";

const ferlChanges = (() => {
  const N_INSIDE = 8; // values that are tried between two corners, where answers are not linear there
  const N_STEPS = 64; // values that are tried on either side where similar cases vote, of few cases
  const MANY_CASES = 1e5; // values of all cases that are many
  const NEXT_TO = 1e-9; // of an interval, next to its ends: memberships may jump
  const N_HALVINGS = 80;
  const OVERSHOOT = 0.05; // of a change, that rounding to fewer digits may add
  const N_DIGITS = 12;
  const MOST_WHOLE = 1000; // whole numbers behind a flip that are tried, where the label comes back at the first one
  const LEAST_COST = 1e-9; // a cost that is rounding

  // The nearest change of each feature that gives another label within the range seen in training, nearest first, those
  // to where no rule applies last. A missing value has no distance from others: such features are left out.
  function nearest(engine, features, values) {
    const label = engine.briefly(values).label, inside = engine.isLinear ? 0 : N_INSIDE, result = [];
    features.forEach((feature, j) => {
      if (!feature.is_read || Number.isNaN(values[j])) return;
      const line = { engine, values, label, j, feature };
      const change = feature.kind === "category" ? otherCategory(line) : feature.words || isBit(feature, values[j]) ? otherStep(line) : otherNumber(line, inside);
      if (change) result.push({ ...change, j, value: values[j] });
    });
    return result.sort(before);
  }

  // Whether a column holds 0 and 1, and so does the row: it can have no other number.
  function isBit(feature, value) {
    return feature.is_binary && (value === 0 || value === 1);
  }

  // How much a search has to do: values that are tried, nodes that each of them fires, classes.
  function cost(engine, features) {
    const nValues = features.reduce((sum, item, j) => sum + (item.levels ?? engine.model.corners[j]).length, 0);
    return nValues * (engine.isLinear ? 3 : N_INSIDE + 3) * engine.size * engine.nClasses + features.length * (engine.caseWork ?? 0);
  }

  function at(line, value) {
    const changed = line.values.slice();
    changed[line.j] = value;
    return line.engine.briefly(changed);
  }

  // Whether one change comes before another: first changes to where rules apply, then the nearer one.
  const before = (one, other) => one.isSilent - other.isSilent || one.distance - other.distance || one.j - other.j;

  // The category whose label is most probable, among those that give another label; where rules apply, if any does.
  function otherCategory(line) {
    const result = line.feature.levels.map((_, code) => ({ to: code, at: code, distance: 1, ...at(line, code) }))
      .filter((item) => item.label !== line.label);
    return result.reduce((best, item) => {
      const isBetter = best === null || item.isSilent < best.isSilent || (item.isSilent === best.isSilent && item.probability[item.label] > best.probability[best.label]);
      return isBetter ? item : best;
    }, null);
  }

  // The nearest of ordered categories that training had, or of 0 and 1, that gives another label; all are tried.
  function otherStep(line) {
    const [low, high] = line.feature.seen;
    return nearestOf(line, (line.feature.words ?? [0, 1]).map((_, code) => code).filter((code) => low <= code && code <= high));
  }

  // The nearest of some values that gives another label, where rules apply if there is one.
  function nearestOf(line, candidates) {
    const value = line.values[line.j], result = candidates
      .map((to) => ({ to, at: to, j: line.j, distance: Math.abs(to - value) / line.feature.spread, ...at(line, to) }))
      .filter((item) => item.label !== line.label);
    return result.length ? result.sort(before)[0] : null;
  }

  // The nearest number within the range seen in training. A row from outside of it begins to move at its end.
  function otherNumber(line, inside) {
    const value = line.values[line.j], [low, high] = line.feature.seen, start = Math.min(Math.max(value, low), high);
    const corners = line.engine.model.corners[line.j], spread = line.feature.spread;
    const flips = start !== value && at(line, start).label !== line.label ? [start]
      : [firstFlip(line, start, corners.filter((item) => item < start && item > low).reverse(), low, inside),
        firstFlip(line, start, corners.filter((item) => item > start && item < high), high, inside)].filter((item) => item !== null);
    const result = flips.map((flip) => ({ flip, change: rounded(line, flip) })).filter((item) => item.change !== null)
      .map(({ flip, change }) => ({ ...change, at: flip, j: line.j, distance: Math.abs((line.feature.is_whole ? change.to : flip) - value) / spread }));
    if (!result.length) return null;
    const best = result.sort(before)[0];
    return { ...best, distance: Math.abs(best.to - value) / spread };
  }

  // The first value with another label, going from a start through the corners ahead to the end of the range.
  function firstFlip(line, start, ahead, end, inside) {
    if (start === end) return null;
    const { caseWork } = line.engine, isFine = caseWork > 0 && caseWork <= MANY_CASES; // votes bend where no corner is
    let near = start;
    for (const far of tried(start, ahead, end, isFine ? Math.max(inside, Math.ceil(N_STEPS / (ahead.length + 1))) : inside)) {
      if (at(line, far).label !== line.label) return halved(line, near, far);
      near = far;
    }
    return null;
  }

  function* tried(from, ahead, last, inside) {
    let start = from;
    for (const end of ahead.concat(last)) {
      const width = end - start;
      yield start + NEXT_TO * width;
      for (let k = 1; k <= inside; ++k) yield start + (k / (inside + 1)) * width;
      yield end - NEXT_TO * width;
      yield end;
      start = end;
    }
  }

  function halved(line, near, far) {
    for (let k = 0; k < N_HALVINGS; ++k) {
      const middle = near + (far - near) / 2;
      if (middle === near || middle === far) break;
      if (at(line, middle).label === line.label) near = middle;
      else far = middle;
    }
    return far;
  }

  // A value with few digits just behind the flip that still gives another label; a whole number in columns of those.
  function rounded(line, flip) {
    const value = line.values[line.j], [low, high] = line.feature.seen, upward = flip > value, most = OVERSHOOT * Math.abs(flip - value);
    const there = (to) => {
      const answer = Number.isFinite(to) && low <= to && to <= high ? at(line, to) : null;
      return answer !== null && answer.label !== line.label ? { to, ...answer } : null;
    };
    const whole = away(flip, 0, upward);
    if (line.feature.is_whole && low <= whole && whole <= high) return there(whole) ?? nearestOf(line, wholeNumbers(whole, upward ? high : low));
    for (const step of line.feature.date ? line.feature.date.steps : []) {
      const to = (upward ? Math.ceil : Math.floor)(flip / step) * step, result = Math.abs(to - flip) <= most ? there(to) : null;
      if (result) return result;
    }
    const first = Math.ceil(-Math.log10(most));
    for (let digits = first; digits < first + N_DIGITS; ++digits) {
      const to = away(flip, digits, upward), result = Math.abs(to - flip) <= most ? there(to) : null;
      if (result) return result;
    }
    return there(flip);
  }

  // Whole numbers from one to the end of a range, at most so many.
  function wholeNumbers(first, end) {
    const step = end >= first ? 1 : -1, n = Math.min(Math.floor(Math.abs(end - first)) + 1, MOST_WHOLE);
    return Array.from({ length: n }, (_, k) => first + k * step);
  }

  function away(flip, digits, upward) {
    const up = upward ? Math.ceil : Math.floor, scale = 10 ** Math.abs(digits);
    return (digits >= 0 ? up(flip * scale) / scale : up(flip / scale) * scale) + 0;
  }

  // The features that cost a row most on its way to a class; what reads several is shared equally among them.
  function reasons(engine, parts, answer, positive) {
    const towards = (weight) => (weight.length === 2 ? weight[positive] - weight[1 - positive] : weight[positive]);
    return parts.candidates.map((item) => {
      const lost = item.terms.reduce((sum, [term, share]) =>
        sum + share * (answer.fade * towards(parts.usual[term]) - towards(answer.contributions[term])), 0);
      return { ...item, lost, points: parts.unit * lost };
    }).filter((item) => item.lost > LEAST_COST).sort((one, other) => other.lost - one.lost).slice(0, parts.most);
  }

  return { nearest, cost, reasons };
})();
