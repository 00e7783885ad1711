// The engine: one row through the rules, with the arithmetic of the compiled core in the same order.
//
// A row is an array with one number for each feature: NaN where a value is missing, the index of a category among those
// of training, and any larger number for a category that training did not have.
"use strict";

const ferlEngine = (() => {
  const numbers = (values) => (Array.isArray(values) ? values.map(numbers) : values === null ? null : Number(values));
  // NaN becomes 0, as in the core.
  const clip = (value) => (value > 0 ? (value < 1 ? value : 1) : 0);
  const isMissing = (value) => value !== value;

  function hasSeen(category, code) {
    return code >= 0 && code < category.length && !isMissing(category[code]);
  }

  function gateOf([low, high, slope], x) {
    const below = low - x, above = x - high;
    return clip(1 - (below > above ? below : above) * slope);
  }

  // Columns that are computed from one feature; dates are days since the beginning of 1970.
  const hasCalendar = (x) => Math.abs(x) <= 1e8;
  const dateParts = {
    weekday: (whole) => (((whole + 3) % 7) + 7) % 7,
    hour: (whole, x) => Math.floor((x - whole) * 86400 + 0.5) / 3600,
    month: (whole) => new Date(whole * 864e5).getUTCMonth(),
    "day of the year": (whole) => {
      const first = new Date(0);
      first.setUTCFullYear(new Date(whole * 864e5).getUTCFullYear());
      return whole - first.getTime() / 864e5 + 1;
    },
  };
  const derivedKinds = {
    missing: (item, x) => (isMissing(x) ? 1 : 0),
    category: ({ evidence }, x) =>
      isMissing(x) ? evidence[evidence.length - 1] : x >= 0 && x < evidence.length - 1 ? evidence[x] : 0,
    date: ({ first, last }, x) => (x < first ? first : x > last ? last : x),
    "date in range": ({ first, last }, x) => (x >= first && x <= last ? x : NaN),
    part: (item, x) => (hasCalendar(x) ? dateParts[item.part](Math.floor(x), x) : NaN),
    day: ({ days, evidence }, x) => {
      const place = hasCalendar(x) ? days.indexOf(Math.floor(x)) : -1;
      return isMissing(x) ? NaN : place < 0 ? 0 : evidence[place];
    },
  };

  function argmax(values) {
    let best = 0;
    for (let c = 1; c < values.length; ++c) if (values[c] > values[best]) best = c;
    return best;
  }

  // Nodes, each with its own condition, and how far they fire.
  class Nodes {
    constructor(model) {
      this.model = model;
      this.constants = model.constants;
      this.nClasses = model.classes.length;
      this.parent = model.nodes.parent;
      this.feature = model.nodes.feature;
      this.rise = numbers(model.nodes.rise);
      this.fall = numbers(model.nodes.fall);
      this.gate = numbers(model.nodes.gate);
      this.share = numbers(model.nodes.share);
      this.category = model.nodes.category.map(numbers);
      this.size = this.parent.length;
    }

    withDerived(values) {
      return values.concat(this.model.derived.map((item) => derivedKinds[item.kind](item, values[item.feature])));
    }

    // Parts of the columns, numbers or lists of them, those of derived ones added to the features they belong to.
    byFeature(parts) {
      const out = parts.slice(0, this.model.n_features);
      const sum = (one, other) => (Array.isArray(one) ? one.map((item, c) => item + other[c]) : one + other);
      this.model.derived.forEach(({ feature: j }, k) => (out[j] = sum(out[j], parts[this.model.n_features + k])));
      return out;
    }

    // What gates withhold and what makes a row novel, from parts by column.
    withNovelty(parts, lost) {
      const noveltyByFeature = this.byFeature(parts);
      const novelty = noveltyByFeature.reduce((sum, part) => sum + part, 0);
      return { supportDeficit: this.byFeature(lost), noveltyByFeature, novelty };
    }

    // The label by another decision than the largest probability, the first of equals.
    decided(answer, { threshold, costs, power, frequency }) {
      const probability = answer.probability || answer.pignistic;
      if (threshold !== null) return probability[1] >= threshold ? 1 : 0;
      if (!this.isLinear && answer.belief.every((mass) => mass === 0)) return this.model.usual;
      if (costs === null) return argmax(frequency.map((item, c) => this.lift(answer, c, item, power)));
      const saved = costs.map((item) => item.map((cost) => Math.max(...item) - cost)), most = Math.max(...saved.flat());
      return argmax(costs.map((_, c) => this.committed(answer).reduce((sum, item, truth) => sum + item * (saved[truth][c] / most), 0)));
    }

    fits(o, x) {
      if (isMissing(x)) return this.share[o];
      const category = this.category[o];
      if (category !== null) return hasSeen(category, x) ? category[x] : this.share[o];
      const up = this.rise[o], down = this.fall[o];
      const rise = clip(up[2] + (x - up[0]) * up[1]), fall = clip(down[2] + (down[0] - x) * down[1]);
      return rise < fall ? rise : fall;
    }

    opens(o, x) {
      if (isMissing(x)) return 1;
      const category = this.category[o];
      if (category !== null) return hasSeen(category, x) ? 1 : this.constants.unseen_gate;
      return gateOf(this.gate[o], x);
    }

    // Firing of every node; parents come before their children.
    fire(row, gated) {
      const phi = new Float64Array(this.size);
      phi[0] = 1;
      for (let o = 1; o < this.size; ++o) {
        const above = phi[this.parent[o]];
        if (!(above > 0)) continue;
        const x = row[this.feature[o]];
        phi[o] = above * this.fits(o, x) * (gated ? this.opens(o, x) : 1);
      }
      return phi;
    }
  }

  // A tree, whose nodes are sources of evidence.
  class Tree extends Nodes {
    constructor(model) {
      super(model);
      this.isLinear = false;
      this.consequent = numbers(model.consequent);
      this.reliability = numbers(model.reliability);
      this.novelty = model.novelty.measure === "neighbour" ? new Neighbours(this) : new Residual(this);
    }

    // The full answer to a row.
    judge(values) {
      const row = this.withDerived(values);
      const firing = this.fire(row, this.model.gated);
      const answer = this.combine(firing);
      answer.firing = firing;
      answer.plausibility = answer.belief.map((mass) => mass + answer.ignorance);
      answer.pignistic = answer.belief.map((mass) => mass + answer.ignorance / this.nClasses);
      const most = Math.max(...answer.belief);
      answer.set = answer.plausibility.map((mass) => mass >= most - this.constants.tie);
      answer.label = most > 0 ? argmax(answer.pignistic) : this.model.usual;
      const lost = this.lostSupport(row, firing);
      return { ...answer, ...this.withNovelty(this.novelty.parts(row, lost), lost) };
    }

    // The label alone, and whether no rule fires for it.
    briefly(values) {
      const { belief, ignorance } = this.combine(this.fire(this.withDerived(values), this.model.gated));
      const probability = belief.map((mass) => mass + ignorance / this.nClasses);
      const isSilent = belief.every((mass) => mass === 0);
      return { label: isSilent ? this.model.usual : argmax(probability), probability, isSilent };
    }

    // Ignorance belongs to no class: neither frequencies nor costs are weighed by a share of it.
    committed(answer) {
      return answer.belief;
    }

    lift(answer, c, frequency, power) {
      return frequency > 0 ? answer.belief[c] / frequency ** power : 0;
    }

    // Mass lost at closed gates, by column.
    lostSupport(row, firing) {
      const lost = new Array(row.length).fill(0);
      if (!this.model.gated) return lost;
      for (let o = 1; o < this.size; ++o) {
        const above = firing[this.parent[o]], x = row[this.feature[o]];
        if (above > 0) lost[this.feature[o]] += above * this.fits(o, x) * (1 - this.opens(o, x));
      }
      return lost;
    }

    combine(firing) {
      const rule = this.model.combination;
      if (rule === "vote") return this.vote(firing);
      if (rule === "cautious") return this.cautious(firing);
      return rule === "chain" ? this.chain(firing) : this.dempster(firing);
    }

    *sources(firing) {
      for (let o = 0; o < this.size; ++o) if (firing[o] > 0 && this.model.is_source[o]) yield o;
    }

    vote(firing) {
      const belief = new Array(this.nClasses).fill(0);
      let total = 0;
      for (const o of this.sources(firing)) {
        const phi = firing[o] * this.reliability[o];
        for (let c = 0; c < this.nClasses; ++c) belief[c] += phi * this.consequent[o][c];
        total += phi;
      }
      const scale = Math.max(total, 1);
      return { belief: belief.map((mass) => mass / scale), ignorance: Math.max(0, 1 - total), conflict: 0 };
    }

    dempster(firing) {
      const masses = new Masses(this.nClasses, this.constants);
      for (const o of this.sources(firing)) {
        const phi = firing[o] * this.reliability[o];
        masses.add(phi, 1 - phi, this.consequent[o]);
      }
      return masses.finish();
    }

    cautious(firing) {
      const odds = new Array(this.nClasses).fill(0);
      for (const o of this.sources(firing)) this.raiseOdds(odds, o, firing[o]);
      const sum = odds.reduce((total, item) => total + item, 1);
      return { belief: odds.map((item) => item / sum), ignorance: 1 / sum, conflict: 0 };
    }

    // Cautious along each path, whose nodes all count as its end fires; Dempster across the paths.
    chain(firing) {
      const masses = new Masses(this.nClasses, this.constants);
      for (const end of this.sources(firing)) {
        const odds = new Array(this.nClasses).fill(0);
        for (let o = end; o >= 0; o = this.parent[o]) if (this.model.is_rule[o]) this.raiseOdds(odds, o, firing[end]);
        const share = 1 / odds.reduce((total, item) => total + item, 1);
        masses.add(share, share, odds);
      }
      return masses.finish();
    }

    raiseOdds(odds, o, firing) {
      const phi = Math.min(firing * this.reliability[o], this.constants.most_firing), ratio = phi / (1 - phi);
      for (let c = 0; c < this.nClasses; ++c) odds[c] = Math.max(odds[c], ratio * this.consequent[o][c]);
    }
  }

  // A block of terms that are chains of conditions: what each adds to the scores of a row, and the columns that it reads.
  class RuleTerms {
    constructor(form) {
      this.node = form.node;
      this.weight = numbers(form.weight);
      this.columns = form.columns;
      // Whether what the terms add is linear between two corners of any feature: none asks a column twice.
      this.isLinear = this.columns.every((item) => new Set(item).size === item.length);
    }

    contributions(row, firing, support) {
      return this.node.map((o, term) => this.weight[term].map((item) => firing[o] * item * support));
    }

    // The squared length of the triangle times the standardised firings.
    leverage(row, firing, { mean, per_deviation, triangle }) {
      const z = this.node.map((o, term) => (firing[o] - mean[term]) * per_deviation[term]);
      return triangle.reduce((sum, factors) => {
        const item = factors.reduce((total, factor, k) => total + z[k] * factor, 0);
        return sum + item * item;
      }, 0);
    }
  }

  // Curves and maps: the values of the cells that a row is in.
  class PictureTerms {
    constructor(form) {
      this.columns = form.columns;
      this.cuts = form.cuts;
      this.nCategories = form.n_categories;
      this.value = numbers(form.value);
      this.support = form.support;
      this.isLinear = true; // constant between two corners
    }

    static cell(x, cuts, nCategories) {
      if (isMissing(x)) return 0;
      if (nCategories > 0) return 1 + Math.min(x, nCategories);
      let low = 0, high = cuts.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (cuts[middle] < x) low = middle + 1; else high = middle;
      }
      return 1 + low;
    }

    cells(row) {
      return this.columns.map((columns, term) => {
        let cell = 0;
        columns.forEach((column, axis) => {
          const cuts = this.cuts[term][axis], n = this.nCategories[term][axis];
          cell = cell * ((n > 0 ? n : cuts.length) + 2) + PictureTerms.cell(row[column], cuts, n);
        });
        return cell;
      });
    }

    contributions(row, firing, support) {
      return this.cells(row).map((cell, term) => this.value[term][cell].map((item) => item * support));
    }

    // That of the cell with the fewest training rows.
    leverage(row) {
      return Math.max(0, ...this.cells(row).map((cell, term) => 1 / (1 + this.support[term][cell])));
    }
  }

  // Similar cases: each is evidence for its class, which weakens with distance; as cpp/cases/cases.cpp.
  class CaseTerms {
    constructor(form) {
      this.form = form;
      this.row = numbers(form.row);
      this.centre = numbers(form.centre);
      this.perUnit = numbers(form.per_unit);
      this.columns = [[]]; // the vote is no matter of single columns
      this.isLinear = false;
    }

    distance(row, kept) {
      const { n_categories: nCategories } = this.form;
      let sum = 0;
      for (let j = 0; j < kept.length; ++j) {
        if (isMissing(row[j])) continue;
        if (nCategories[j] > 0) sum += (row[j] !== kept[j] ? 1 : 0) * this.perUnit[j];
        else sum += Math.abs(row[j] - (isMissing(kept[j]) ? this.centre[j] : kept[j])) * this.perUnit[j];
      }
      return sum;
    }

    // At least n of the nearest places, and all at distance 0, the nearest first; equally near ones in their order.
    nearest(row, n) {
      const distance = Float64Array.from(this.row, (kept) => this.distance(row, kept));
      const least = distance.slice().sort()[Math.min(n, distance.length) - 1], near = [];
      distance.forEach((item, index) => item <= least && near.push({ index, distance: item }));
      return near.sort((a, b) => a.distance - b.distance || a.index - b.index);
    }

    contributions(row, firing, support) {
      const { start, label, weight, frequency, n_nearest: nNearest, strength } = this.form;
      const near = this.nearest(row, Math.max(...nNearest) + 1), nThere = near.filter((item) => item.distance === 0).length;
      const added = frequency.map(() => 0);
      nNearest.forEach((wanted, k) => {
        const n = Math.min(wanted, near.length - 1), farthest = near[n].distance, vote = frequency.map(() => 0);
        let total = 0;
        for (const { index, distance } of near) {
          if (farthest > 0 ? !(distance < farthest) : distance > 0) break;
          const closeness = farthest > 0 ? 1 - distance / farthest : n / nThere;
          for (let item = start[index]; item < start[index + 1]; ++item) {
            vote[label[item]] += weight[item] * closeness;
            total += weight[item] * closeness;
          }
        }
        const evidence = vote.map((item, c) => Math.log((item / frequency[c] + 1) / (total + 1)));
        const mean = evidence.reduce((sum, item) => sum + item, 0) / evidence.length;
        evidence.forEach((item, c) => (added[c] += strength[k] * (item - mean)));
      });
      return [added.map((item) => item * support)];
    }

    leverage() {
      return 0;
    }

    // The most similar cases: their numbers, classes and values.
    similar(row, n) {
      if (!this.perUnit.some((item, j) => item > 0 && !isMissing(row[j]))) return []; // all cases are equally near
      const { start, place, label } = this.form, result = [];
      for (const { index } of this.nearest(row, n))
        for (let item = start[index]; item < start[index + 1]; ++item) result.push({ place: place[item], label: label[item], values: this.row[index] });
      return result.slice(0, n);
    }
  }

  // The most rows that an answer to a category rests on; the last number is for those that training did not have.
  function mostRows(code, rows) {
    return Number.isNaN(code) ? Infinity : rows[Math.min(code, rows.length - 1)];
  }

  // Blocks of terms, by the kind that their form has.
  const TERMS = { rules: RuleTerms, pictures: PictureTerms, cases: CaseTerms };

  // Terms, whose weights of evidence add up; as cpp/rules/scores.cpp.
  class Rules extends Nodes {
    constructor(model) {
      super(model);
      this.terms = model.terms.map((form) => new TERMS[form.kind](form));
      this.columns = this.terms.flatMap((item) => item.columns);
      this.isLinear = this.terms.every((item) => item.isLinear);
      this.prior = numbers(model.prior);
      this.base = numbers(model.base); // scores of the class frequencies, where no support is left
      this.columnGate = model.gate.map((item) => ({ ...item, range: numbers(item.range) }));
      this.novelty = model.novelty.measure === "neighbour" ? new Neighbours(this) : new Residual(this);
      this.familiar = model.behind.familiar && new Neighbours(this, model.behind.familiar.n);
    }

    // Number of values that one search for similar known cases reads; 0 where the model has none.
    get caseWork() {
      return this.terms.reduce((sum, own) => sum + (own instanceof CaseTerms ? own.row.length * own.perUnit.length : 0), 0);
    }

    // The most similar known cases of a row; none where the model has no cases, or where all are equally near.
    similar(values, n) {
      const item = this.terms.find((block) => block instanceof CaseTerms);
      return item ? item.similar(this.withDerived(values), n) : [];
    }

    // What each term adds to the scores of a row, times the support.
    added(row, firing, support) {
      return this.terms.flatMap((item) => item.contributions(row, firing, support));
    }

    // The full answer to a row.
    judge(values) {
      const row = this.withDerived(values), firing = this.fire(row, false);
      const openness = this.columnGate.map((item) => this.openness(item, row[item.column]));
      const support = openness.reduce((product, item) => product * item, 1), fade = this.fading(row);
      const contributions = this.added(row, firing, fade);
      contributions.push(this.prior.map((item) => item * fade));
      const sums = this.prior.map((_, c) => contributions.reduce((sum, item) => sum + item[c], 0));
      const conflict = this.conflict(sums, contributions), scores = this.withBase(sums, fade);
      contributions.push(this.withBase(contributions.pop(), fade));
      const lost = this.withheld(row.length, openness, support), byColumn = this.sharedByColumn(row.length, contributions);
      const distance = this.novelty.parts(row, lost), probability = this.probability(scores);
      const answer = { ...this.evidence(probability, this.rowsBehind(row, firing), support), conflict };
      answer.label = argmax(probability);
      const parts = this.model.novelty.measure === "neighbour" ? this.withEntropy(distance, scores, lost, byColumn) : distance;
      const apart = contributions.filter((_, term) => term >= this.columns.length || this.columns[term].length === 0);
      const featureContributions = [...this.byFeature(byColumn), ...apart]; // the cases, if any, and the prior
      return { ...answer, firing, scores, fade, contributions, featureContributions, ...this.withNovelty(parts, lost) };
    }

    // The label alone, and whether there is no evidence for it.
    briefly(values) {
      const row = this.withDerived(values), firing = this.fire(row, false);
      const support = this.columnGate.reduce((product, item) => product * this.openness(item, row[item.column]), 1);
      const fade = this.fading(row), added = this.added(row, firing, fade);
      const sums = this.prior.map((item, c) => added.reduce((sum, part) => sum + part[c], 0) + item * fade);
      const probability = this.probability(this.withBase(sums, fade));
      return { label: argmax(probability), probability, isSilent: this.nClasses > 1 && support === 0 };
    }

    // The summed weights with all gates open, as a scorecard adds them up.
    opened(values) {
      const row = this.withDerived(values), added = this.added(row, this.fire(row, false), 1);
      return this.prior.map((item, c) => added.reduce((sum, part) => sum + part[c], item));
    }

    committed(answer) {
      return answer.probability;
    }

    // Where the gates are closed the probability alone counts: without evidence no rare class is preferred.
    lift(answer, c, frequency, power) {
      const known = answer.fade > 0 && frequency > 0 ? power * Math.log(frequency) : 0;
      return Math.log(answer.probability[c]) - known;
    }

    openness(item, x) {
      if (isMissing(x)) return 1;
      if (item.n_categories > 0) return x < item.n_categories ? 1 : this.constants.unseen_gate;
      return gateOf(item.range, x);
    }

    // How far the summed weights count, and not the class frequencies.
    fading(row) {
      return this.columnGate.reduce((product, item) => (item.fades ? product * this.openness(item, row[item.column]) : product), 1);
    }

    withBase(sums, fade) {
      return sums.map((item, c) => item + (1 - fade) * this.base[c]);
    }

    centred(scores) {
      const mean = scores.reduce((sum, item) => sum + item, 0) / this.nClasses;
      return scores.map((item) => item - mean);
    }

    // The share of all weights that cancelled.
    conflict(sums, contributions) {
      const size = contributions.flat().reduce((all, item) => all + Math.abs(item), 0);
      const net = this.centred(sums).reduce((all, item) => all + Math.abs(item), 0);
      return size > 0 ? clip(1 - net / size) : 0;
    }

    probability(scores) {
      const w = this.centred(scores), most = Math.max(...w);
      const power = w.map((item) => Math.exp(Math.max(-this.constants.largest_exponent, item - most)));
      const sum = power.reduce((total, item) => total + item, 0);
      return power.map((item) => item / sum);
    }

    // How many training rows an answer averages, were all gates open; as cpp/rules/rows_behind.cpp. Fewer where the row is
    // far from the familiar rows.
    rowsBehind(row, firing) {
      const { behind } = this.model;
      const leverage = this.terms.reduce((sum, item) => sum + item.leverage(row, firing, behind), behind.least);
      const most = Math.min(1 / leverage, ...behind.most.map((item) => mostRows(row[item.column], item.rows)));
      if (!this.familiar) return most;
      const away = this.familiar.parts(row).reduce((sum, item) => sum + item, 0) / behind.familiar.far;
      return most / (1 + away * away);
    }

    // The probability as far as it is reliable; the rest lies on all classes. The set: the fewest, most probable classes
    // whose beliefs reach the level. A class is in it unless more probable ones reach the level without it.
    evidence(probability, nBehind, support) {
      const { prior_rows: prior, set_level: level, tie } = this.constants;
      // What lies on all classes lies on the only one.
      const reliability = this.nClasses > 1 ? support * (nBehind / (nBehind + prior)) : 1, ignorance = 1 - reliability;
      const belief = probability.map((item) => reliability * item), plausibility = belief.map((item) => item + ignorance);
      const above = (item) => probability.reduce((sum, other) => (other > item + tie ? sum + other : sum), 0);
      const set = probability.map((item) => reliability * above(item) < level - tie);
      return { belief, plausibility, probability, ignorance, set, rows: support * nBehind };
    }

    // The share of all weights that closed gates withhold, by column: in proportion to the logarithms of the gates.
    withheld(nColumns, openness, support) {
      const isClosed = openness.includes(0), lost = new Array(nColumns).fill(0);
      const cost = openness.map((item) => (isClosed ? Number(item === 0) : -Math.log(item)));
      const total = cost.reduce((sum, item) => sum + item, 0);
      if (total > 0) cost.forEach((item, k) => (lost[this.columnGate[k].column] = (item / total) * (1 - support)));
      return lost;
    }

    // Distances in usual ones, and the entropy of the probabilities: what gates withhold of it goes to their columns, the
    // rest to columns in proportion to what they say.
    withEntropy(distance, scores, lost, byColumn) {
      const most = Math.max(...scores), below = scores.map((item) => Math.min(most - item, this.constants.largest_exponent));
      const power = below.map((item) => Math.exp(-item)), sum = power.reduce((total, item) => total + item, 0);
      const entropy = Math.log(sum) + power.reduce((total, item, c) => total + item * below[c], 0) / sum;
      const moved = byColumn.map((item) => item.reduce((total, weight) => total + Math.abs(weight), 0));
      const total = moved.reduce((all, item) => all + item, 0), left = 1 - lost.reduce((all, item) => all + item, 0);
      return distance.map((item, j) => {
        const share = lost[j] + left * (total > 0 ? moved[j] / total : 1 / moved.length);
        return item / this.model.novelty.usual + this.constants.entropy_share * entropy * share;
      });
    }

    // What each column adds to the scores; a term is shared equally among the columns that it reads.
    sharedByColumn(nColumns, contributions) {
      const byColumn = Array.from({ length: nColumns }, () => new Array(this.nClasses).fill(0));
      this.columns.forEach((read, term) => {
        for (const j of read) contributions[term].forEach((item, c) => (byColumn[j][c] += item / read.length));
      });
      return byColumn;
    }
  }

  // Dempster's rule, source by source, without subtractions.
  class Masses {
    constructor(nClasses, constants) {
      this.constants = constants;
      this.mass = new Array(nClasses).fill(0);
      this.frame = 1;
      this.isScaled = false;
    }

    add(phi, theta, p) {
      const frame = this.frame;
      let sum = (this.frame = frame * theta);
      for (let c = 0; c < this.mass.length; ++c) {
        const s = phi * p[c];
        this.mass[c] = this.mass[c] * (theta + s) + frame * s;
        sum += this.mass[c];
      }
      if (!(sum < this.constants.least_mass)) return;
      // Masses that are about to underflow are scaled up together.
      this.mass = this.mass.map((mass) => mass * this.constants.mass_scale);
      this.frame *= this.constants.mass_scale;
      this.isScaled = true;
    }

    finish() {
      const sum = this.mass.reduce((total, mass) => total + mass, this.frame);
      // Sources that exclude each other entirely say nothing together.
      if (!(sum > 0)) return { belief: this.mass, ignorance: 1, conflict: 1 };
      const conflict = this.isScaled ? 1 : Math.max(0, 1 - sum);
      return { belief: this.mass.map((mass) => mass / sum), ignorance: this.frame / sum, conflict };
    }
  }

  // Distance to the nearest exemplar: of the nodes where the row's paths end, or of rules that add up any.
  class Neighbours {
    // n: how many rows, the first ones; all rows without.
    constructor(engine, n) {
      const item = engine.model.novelty;
      this.engine = engine;
      this.farAway = engine.constants.far_away; // in units: all values further away are equally far for the search
      this.exemplar = item.exemplar ?? null;
      this.row = numbers(item.row.slice(0, n));
      this.centre = numbers(item.centre);
      this.perUnit = numbers(item.per_unit);
      this.isNumber = item.is_number;
      const columns = this.isNumber.map((_, j) => j);
      this.order = columns.filter((j) => this.isNumber[j]).concat(columns.filter((j) => !this.isNumber[j]));
      this.nNumbers = this.isNumber.filter(Boolean).length;
      this.mismatch = Float32Array.from(this.order, (j) => this.perUnit[j]);
      // A value that an exemplar lacks: the centre, or a category like no other.
      this.units = this.row.map((values) =>
        this.toUnits(values).map((unit, k) => (isMissing(unit) ? (k < this.nNumbers ? 0 : -1) : unit)));
    }

    toUnits(values) {
      return Float32Array.from(this.order, (j, k) =>
        k < this.nNumbers
          ? Math.min(this.farAway, Math.max(-this.farAway, (values[j] - this.centre[j]) * this.perUnit[j]))
          : values[j]);
    }

    parts(row) {
      const nearest = this.nearest(row);
      if (nearest < 0) return row.map(() => NaN);
      const share = 1 / Math.max(row.filter((value) => !isMissing(value)).length, 1);
      return row.map((value, j) => this.away(value, this.row[nearest][j], j) * this.perUnit[j] * share);
    }

    away(value, exemplar, j) {
      if (isMissing(value)) return 0;
      if (!this.isNumber[j]) return value !== exemplar ? 1 : 0;
      return Math.abs(value - (isMissing(exemplar) ? this.centre[j] : exemplar));
    }

    nearest(row) {
      const query = this.toUnits(row);
      let best = -1, least = Infinity;
      for (const index of this.exemplar === null ? this.row.keys() : this.ofPathEnds(row)) {
        const distance = this.distance(query, this.units[index]);
        if (distance < least) [best, least] = [index, distance];
      }
      return best;
    }

    *ofPathEnds(row) {
      const engine = this.engine, firing = engine.fire(row, false), goesOn = this.goesOn(row);
      for (let o = 0; o < engine.size; ++o)
        if (this.exemplar[o] !== null && firing[o] > 0 && !goesOn[o]) yield* this.exemplar[o];
    }

    // Of every node, whether the row fits a child.
    goesOn(row) {
      const { size, parent, feature } = this.engine, result = new Array(size).fill(false);
      for (let o = 1; o < size; ++o) if (this.engine.fits(o, row[feature[o]]) > 0) result[parent[o]] = true;
      return result;
    }

    // In single precision and in two sums, as the core searches: which of two near exemplars is nearer must not differ.
    distance(query, exemplar) {
      const fround = Math.fround;
      let sums = [0, 0];
      for (let k = 0; k < this.nNumbers; ++k) {
        const away = Math.abs(fround(exemplar[k] - query[k]));
        const odd = k % 2;
        if (!isMissing(away)) sums[odd] = fround(sums[odd] + away);
      }
      for (let k = this.nNumbers; k < query.length; ++k)
        if (!isMissing(query[k]) && exemplar[k] !== query[k]) sums[1] = fround(sums[1] + this.mismatch[k]);
      return fround(sums[0] + sums[1]);
    }
  }

  // The paper's residual, of a model that keeps no training row, plus what the gates take away.
  class Residual {
    constructor(engine) {
      const item = engine.model.novelty;
      this.engine = engine;
      this.mean = item.mean.map(numbers);
      this.precision = item.precision.map(numbers);
      this.lostMass = engine.constants.lost_mass;
    }

    parts(row, lost) {
      const engine = this.engine, firing = engine.fire(row, false), parts = new Array(row.length).fill(0);
      let total = 0;
      for (let o = 0; o < engine.size; ++o) {
        if (!engine.model.nodes.is_leaf[o] || !(firing[o] > 0)) continue;
        total += firing[o];
        this.add(parts, o, row, firing[o]);
      }
      if (total === 0) this.add(parts, 0, row, (total = 1)); // it fits no leaf
      return parts.map((part, j) => part / total + this.lostMass * lost[j]);
    }

    add(parts, o, row, phi) {
      row.forEach((value, j) => {
        if (isMissing(value)) return;
        const away = value - this.mean[o][j];
        parts[j] += phi * (away * this.precision[o][j]) * away;
      });
    }
  }

  const ENGINES = { rules: Rules, trees: Tree };

  return (model) => new ENGINES[model.kind](model);
})();
