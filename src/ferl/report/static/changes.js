// What is read off the engine besides its answer to a row: the nearest changes of one feature, and reason codes.
"use strict";

const ferlChanges = (() => {
  const N_INSIDE = 8; // values that are tried between two corners, where answers are not linear there
  const NEXT_TO = 1e-9; // of an interval, next to its ends: memberships may jump
  const N_HALVINGS = 80;
  const OVERSHOOT = 0.05; // of a change, that rounding to fewer digits may add
  const N_DIGITS = 12;
  const LEAST_COST = 1e-9; // a cost that is rounding

  // Whether scores are linear between two corners of any feature: of wide rules that ask each feature once at most.
  function isLinear(engine) {
    return engine.model.weights !== null && engine.node.every((end) => {
      const asked = engine.path(end).map((o) => engine.feature[o]);
      return new Set(asked).size === asked.length;
    });
  }

  // The nearest change of each feature that gives another label, nearest first. A missing value has no distance from
  // others: such features are left out.
  function nearest(engine, features, values) {
    const label = engine.briefly(values).label, inside = isLinear(engine) ? 0 : N_INSIDE, found = [];
    features.forEach((feature, j) => {
      if (feature.n_conditions === 0 || Number.isNaN(values[j])) return;
      const line = { engine, values, label, j, feature };
      const change = feature.kind === "category" ? otherCategory(line) : feature.words || isBit(feature, values[j]) ? otherStep(line) : otherNumber(line, inside);
      if (change) found.push({ ...change, j, value: values[j] });
    });
    return found.sort((one, other) => one.distance - other.distance || one.j - other.j);
  }

  // Whether a column holds 0 and 1, and so does the row: it can have no other number.
  function isBit(feature, value) {
    return feature.is_binary && (value === 0 || value === 1);
  }

  // How much a search has to do: values that are tried, nodes that each of them fires, classes.
  function cost(engine, features) {
    const nValues = features.reduce((sum, own) => sum + (own.corners ?? own.levels).length, 0);
    return nValues * (isLinear(engine) ? 3 : N_INSIDE + 3) * engine.size * engine.nClasses;
  }

  function at(line, value) {
    const changed = line.values.slice();
    changed[line.j] = value;
    return line.engine.briefly(changed);
  }

  // The category whose label is most probable, among those that give another label.
  function otherCategory(line) {
    let best = null;
    line.feature.levels.forEach((_, code) => {
      const answer = at(line, code), probability = answer.probability[answer.label];
      if (answer.label !== line.label && (best === null || probability > best.probability))
        best = { to: code, at: code, label: answer.label, isSilent: answer.isSilent, distance: 1, probability };
    });
    return best;
  }

  // The nearest of ordered categories, or of 0 and 1, that gives another label; all are tried.
  function otherStep(line) {
    const value = line.values[line.j], far = (code) => Math.abs(code - value);
    let best = null;
    (line.feature.words ?? [0, 1]).forEach((_, code) => {
      const answer = at(line, code);
      if (answer.label !== line.label && (best === null || far(code) < far(best.to)))
        best = { to: code, at: code, label: answer.label, isSilent: answer.isSilent, distance: far(code) / line.feature.spread };
    });
    return best;
  }

  function otherNumber(line, inside) {
    const value = line.values[line.j], corners = line.feature.corners.map(Number);
    const sides = [corners.filter((own) => own > value), corners.filter((own) => own < value).reverse()]
      .map((ahead, side) => firstFlip(line, ahead, side === 0 ? 1 : -1, inside)).filter((own) => own !== null);
    if (!sides.length) return null;
    const flip = sides.reduce((one, other) => (Math.abs(other - value) < Math.abs(one - value) ? other : one));
    const to = rounded(line, flip), answer = at(line, to);
    return { to, at: flip, label: answer.label, isSilent: answer.isSilent, distance: Math.abs(to - value) / line.feature.spread };
  }

  // The first value with another label, going up or down through the corners ahead.
  function firstFlip(line, ahead, sign, inside) {
    let near = line.values[line.j];
    for (const far of tried(near, ahead, sign * line.feature.spread, inside)) {
      if (!Number.isFinite(far)) return null;
      if (at(line, far).label !== line.label) return halved(line, near, far);
      near = far;
    }
    return null;
  }

  function* tried(from, ahead, step, inside) {
    const ends = ahead.concat((ahead.length ? ahead[ahead.length - 1] : from) + step); // behind the last corner all is level
    let start = from;
    for (const end of ends) {
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

  // A value with few digits just behind the flip that still gives another label.
  function rounded(line, flip) {
    const value = line.values[line.j], upward = flip > value, most = OVERSHOOT * Math.abs(flip - value);
    const turns = (to) => Number.isFinite(to) && at(line, to).label !== line.label;
    if (line.feature.is_whole && Number.isInteger(value) && turns(away(flip, 0, upward))) return away(flip, 0, upward);
    for (const step of line.feature.date ? line.feature.date.steps : []) {
      const to = (upward ? Math.ceil : Math.floor)(flip / step) * step;
      if (Math.abs(to - flip) <= most && turns(to)) return to;
    }
    const first = Math.ceil(-Math.log10(most));
    for (let digits = first; digits < first + N_DIGITS; ++digits) {
      const to = away(flip, digits, upward);
      if (Math.abs(to - flip) <= most && turns(to)) return to;
    }
    return flip;
  }

  function away(flip, digits, upward) {
    const up = upward ? Math.ceil : Math.floor, scale = 10 ** Math.abs(digits);
    return (digits >= 0 ? up(flip * scale) / scale : up(flip / scale) * scale) + 0;
  }

  // What cost a row most on its way to a class: rules of one feature together, others one by one.
  function reasons(engine, parts, answer, positive) {
    const towards = (weight) => (weight.length === 2 ? weight[positive] - weight[1 - positive] : weight[positive]);
    const support = 1 - answer.supportDeficit.reduce((sum, own) => sum + own, 0);
    return parts.candidates.map((own) => {
      const lost = own.rules.reduce((sum, rule) =>
        sum + (parts.usual[rule] - answer.firing[engine.node[rule]]) * towards(engine.weight[rule]), 0);
      return { ...own, lost: support * lost, points: parts.unit * support * lost };
    }).filter((own) => own.lost > LEAST_COST).sort((one, other) => other.lost - one.lost).slice(0, parts.most);
  }

  return { nearest, cost, reasons };
})();
