// What the stream tells: a model is replaced by each snapshot and changed by each sample.

const historyLength = 300;
const smoothing = 5; // samples behind a rate that is shown
const calm = 15; // samples behind the order of the list

// A series has one number per sample, the newest last; null stands for nothing but zeros.
function pushTo(series, value, before) {
  if (series === null) {
    if (value === 0) return null;
    series = new Array(before).fill(0);
  }
  series.push(value);
  if (series.length > historyLength) series.shift();
  return series;
}

function meanOf(series, samples, last) {
  const n = Math.min(samples, last);
  if (n === 0) return null;
  if (series === null) return 0;
  let sum = 0;
  for (let i = series.length - n; i < series.length; i++) sum += series[i];
  return sum / n;
}

// Lane is one priority of a throttle.
class Lane {
  constructor(word) {
    this.word = word;
    this.samples = 0;
    this.admitted = this.shed = this.wouldShed = this.probabilities = null;
    this.read([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, []]);
  }

  // read takes the figures in the order in which track.go writes them.
  read(figures) {
    const [admitted, shedOwn, shedAbove, wouldOwn, wouldAbove, probability, cause, accepted, rejected, shed, inFlight, clamped,
      ended, fallbacks = []] = figures;
    this.total = { admitted, shedOwn, shedAbove, wouldOwn, wouldAbove, clamped, ended, fallbacks };
    this.window = { accepted, rejected, shed };
    Object.assign(this, { probability, cause, inFlight });
  }

  recall([admitted, shed, wouldShed, probabilities], samples) {
    const series = (s) => (s === 0 ? null : s);
    this.samples = samples;
    this.admitted = series(admitted);
    this.shed = series(shed);
    this.wouldShed = series(wouldShed);
    this.probabilities = series(probabilities);
  }

  // follow takes one sample: figures are undefined if nothing has changed.
  follow(figures, seconds) {
    const before = this.total;
    if (figures) this.read(figures);
    const now = this.total;
    const rate = (a, b) => Math.max(0, b - a) / seconds;
    const n = this.samples;
    this.admitted = pushTo(this.admitted, rate(before.admitted, now.admitted), n);
    this.shed = pushTo(this.shed, rate(before.shedOwn + before.shedAbove, now.shedOwn + now.shedAbove), n);
    this.wouldShed = pushTo(this.wouldShed, rate(before.wouldOwn + before.wouldAbove, now.wouldOwn + now.wouldAbove), n);
    this.probabilities = pushTo(this.probabilities, this.probability, n);
    this.samples = Math.min(n + 1, historyLength);
  }

  admittedRate(last = smoothing) { return meanOf(this.admitted, this.samples, last); }
  shedRate(last = smoothing) { return meanOf(this.shed, this.samples, last); }
  wouldShedRate(last = smoothing) { return meanOf(this.wouldShed, this.samples, last); }

  // used tells whether there has ever been a call.
  used() {
    const t = this.total;
    return t.admitted + t.shedOwn + t.shedAbove > 0;
  }
}

// Row is all throttles of one name.
class Row {
  constructor(head) {
    this.lanes = [];
    this.settle(head);
  }

  settle(head) {
    Object.assign(this, head);
    this.shown = visible(head.name);
    this.sought = head.name.toLowerCase();
    this.settled = head;
    for (const word of head.priorities.slice(this.lanes.length)) this.lanes.push(new Lane(word));
  }

  sum(of) {
    let sum = 0;
    for (const lane of this.lanes) sum += of(lane) ?? 0;
    return sum;
  }

  calls(last) { return this.sum((l) => l.admittedRate(last)) + this.shed(last); }
  shed(last) { return this.sum((l) => l.shedRate(last)); }
  wouldShed(last) { return this.sum((l) => l.wouldShedRate(last)); }

  // state is in a word how the throttle is.
  state() {
    if (this.shed() > 0) return "shedding";
    if (this.wouldShed() > 0) return "would";
    return this.calls() > 0 ? "admitting" : "idle";
  }
}

class Model {
  constructor(snapshot) {
    this.process = snapshot.process;
    this.outcomes = snapshot.outcomes;
    this.faults = snapshot.faults;
    this.causes = snapshot.causes;
    this.time = snapshot.time;
    this.times = snapshot.times;
    this.rows = new Map();
    this.sources = new Map(snapshot.sources.map((s) => [s.id, s]));
    for (const { figures, history, samples, ...head } of snapshot.throttles) {
      const row = new Row(head);
      row.lanes.forEach((lane, p) => {
        if (figures[p]) lane.read(figures[p]);
        if (history[p]) lane.recall(history[p], samples);
      });
      this.rows.set(row.id, row);
    }
    this.overall = this.addUp();
  }

  // addUp returns the history of all throttles together. One that has closed since stays in it.
  addUp() {
    const overall = new Lane("");
    overall.samples = this.times.length;
    for (const name of ["admitted", "shed", "wouldShed"]) {
      const sum = new Array(overall.samples).fill(0);
      for (const row of this.rows.values()) {
        for (const { [name]: series } of row.lanes) {
          series?.forEach((v, i) => { sum[i - series.length + sum.length] += v; });
        }
      }
      overall[name] = sum;
    }
    return overall;
  }

  extendOverall() {
    const n = this.overall.samples;
    for (const [name, of] of [["admitted", "admittedRate"], ["shed", "shedRate"], ["wouldShed", "wouldShedRate"]]) {
      let sum = 0;
      for (const row of this.rows.values()) sum += row.sum((lane) => lane[of](1));
      this.overall[name] = pushTo(this.overall[name], sum, n);
    }
    this.overall.samples = Math.min(n + 1, historyLength);
  }

  follow(sample) {
    const seconds = Math.max(0.001, (sample.time - this.time) / 1000);
    this.time = sample.time;
    this.times.push(sample.time);
    if (this.times.length > historyLength) this.times.shift();
    for (const id of sample.gone ?? []) this.rows.delete(id);
    for (const head of sample.rows ?? []) {
      const row = this.rows.get(head.id);
      if (row) row.settle(head);
      else this.rows.set(head.id, new Row(head));
    }
    const changed = new Map();
    for (const [id, p, ...figures] of sample.figures ?? []) changed.set(id + "/" + p, figures);
    for (const row of this.rows.values()) {
      row.lanes.forEach((lane, p) => lane.follow(changed.get(row.id + "/" + p), seconds));
    }
    this.extendOverall();
    for (const id of sample.gone_sources ?? []) this.sources.delete(id);
    for (const source of sample.sources ?? []) this.sources.set(source.id, source);
  }
}
