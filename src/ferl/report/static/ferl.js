// The engine: one row through the tree, with the arithmetic of the compiled core in the same order.
//
// A row is an array with one number for each feature: NaN where a value is missing, the index of a category among those
// of training, and any larger number for a category that training did not have.
"use strict";

const FerlEngine = (() => {
  const numbers = (values) => (Array.isArray(values) ? values.map(numbers) : values === null ? null : Number(values));
  // NaN becomes 0, as in the core.
  const clip = (value) => (value > 0 ? (value < 1 ? value : 1) : 0);
  const isMissing = (value) => value !== value;

  function hasSeen(category, code) {
    return code >= 0 && code < category.length && !isMissing(category[code]);
  }

  function argmax(values) {
    let best = 0;
    for (let c = 1; c < values.length; ++c) if (values[c] > values[best]) best = c;
    return best;
  }

  class Engine {
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
      this.consequent = numbers(model.consequent);
      this.reliability = numbers(model.reliability);
      this.size = this.parent.length;
      this.novelty = model.novelty.measure === "neighbour" ? new Neighbours(this) : new Residual(this);
    }

    // All that can be said of a row.
    judge(values) {
      const row = this.withIndicators(values);
      const firing = this.fire(row, this.model.gated);
      const answer = this.combine(firing);
      answer.firing = firing;
      answer.plausibility = answer.belief.map((mass) => mass + answer.ignorance);
      answer.pignistic = answer.belief.map((mass) => mass + answer.ignorance / this.nClasses);
      const most = Math.max(...answer.belief);
      answer.set = answer.plausibility.map((mass) => mass >= most);
      answer.label = argmax(answer.pignistic);
      answer.supportDeficit = this.byFeature(this.lostSupport(row, firing));
      answer.noveltyByFeature = this.byFeature(this.novelty.parts(row, firing));
      answer.novelty = answer.noveltyByFeature.reduce((sum, part) => sum + part, 0);
      return answer;
    }

    withIndicators(values) {
      return values.concat(this.model.missing_features.map((j) => (isMissing(values[j]) ? 1 : 0)));
    }

    // Parts of the columns, those of indicators added to the features they belong to.
    byFeature(parts) {
      const out = parts.slice(0, this.model.n_features);
      this.model.missing_features.forEach((j, k) => (out[j] += parts[this.model.n_features + k]));
      return out;
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
      const [low, high, slope] = this.gate[o];
      const below = low - x, above = x - high;
      return clip(1 - (below > above ? below : above) * slope);
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
      for (const o of this.sources(firing)) this.raiseOdds(odds, o, firing);
      const sum = odds.reduce((total, own) => total + own, 1);
      return { belief: odds.map((own) => own / sum), ignorance: 1 / sum, conflict: 0 };
    }

    // Cautious along each path, Dempster across the paths.
    chain(firing) {
      const masses = new Masses(this.nClasses, this.constants), odds = new Array(this.size);
      for (let o = 0; o < this.size; ++o) {
        if (!(firing[o] > 0)) continue;
        odds[o] = o > 0 ? odds[this.parent[o]].slice() : new Array(this.nClasses).fill(0);
        if (this.model.speaks[o]) this.raiseOdds(odds[o], o, firing);
        if (!this.model.is_source[o]) continue;
        const share = 1 / odds[o].reduce((total, own) => total + own, 1);
        masses.add(share, share, odds[o]);
      }
      return masses.finish();
    }

    raiseOdds(odds, o, firing) {
      const phi = Math.min(firing[o] * this.reliability[o], this.constants.most_firing), ratio = phi / (1 - phi);
      for (let c = 0; c < this.nClasses; ++c) odds[c] = Math.max(odds[c], ratio * this.consequent[o][c]);
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

  // Distance to the nearest exemplar of the nodes where the row's paths end.
  class Neighbours {
    constructor(engine) {
      const own = engine.model.novelty;
      this.engine = engine;
      this.farAway = engine.constants.far_away; // in units: all values further away are equally far for the search
      this.exemplar = own.exemplar;
      this.row = numbers(own.row);
      this.centre = numbers(own.centre);
      this.perUnit = numbers(own.per_unit);
      this.isNumber = own.is_number;
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
      const engine = this.engine, firing = engine.fire(row, false), goesOn = this.goesOn(row), query = this.toUnits(row);
      let best = -1, least = Infinity;
      for (let o = 0; o < engine.size; ++o) {
        if (this.exemplar[o] === null || !(firing[o] > 0) || goesOn[o]) continue;
        for (const index of this.exemplar[o]) {
          const distance = this.distance(query, this.units[index]);
          if (distance < least) [best, least] = [index, distance];
        }
      }
      return best;
    }

    // Of every node, whether the row fits a child.
    goesOn(row) {
      const { size, parent, feature } = this.engine, found = new Array(size).fill(false);
      for (let o = 1; o < size; ++o) if (this.engine.fits(o, row[feature[o]]) > 0) found[parent[o]] = true;
      return found;
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
      const own = engine.model.novelty;
      this.engine = engine;
      this.mean = own.mean.map(numbers);
      this.precision = own.precision.map(numbers);
      this.lostMass = engine.constants.lost_mass;
    }

    parts(row, gatedFiring) {
      const engine = this.engine, firing = engine.fire(row, false), parts = new Array(row.length).fill(0);
      let total = 0;
      for (let o = 0; o < engine.size; ++o) {
        if (!engine.model.nodes.is_leaf[o] || !(firing[o] > 0)) continue;
        total += firing[o];
        this.add(parts, o, row, firing[o]);
      }
      if (total === 0) this.add(parts, 0, row, (total = 1)); // it fits no leaf
      const lost = engine.lostSupport(row, gatedFiring);
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

  return Engine;
})();
