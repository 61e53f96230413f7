// The data of the page. Each snapshot replaces the model, each sample updates it.

const historyLength = 300;
const rateSamples = 5; // samples in the mean of a displayed rate
const sortSamples = 15; // samples in the mean by which cards are sorted

// A series has one number per sample, newest last. null means all zeros.
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

// Priority is one priority of a row.
class Priority {
  constructor(name) {
    this.name = name;
    this.samples = 0;
    this.admitted = this.shed = this.wouldShed = this.probabilities = null;
    this.setFigures([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, []]);
  }

  // setFigures sets the current figures. appendFigures in encode.go writes them in this order.
  setFigures(figures) {
    const [admitted, shedOwn, shedAbove, shedLimit, shedProcessor, shedTold, wouldOwn, wouldAbove, wouldLimit, wouldProcessor, wouldTold, probability, cause,
      accepted, rejected, shed, inFlight, clamped, overloaded, ended, fallbacks = []] = figures;
    const sheds = shedOwn + shedAbove + shedLimit + shedProcessor + shedTold;
    const would = wouldOwn + wouldAbove + wouldLimit + wouldProcessor + wouldTold;
    this.total = { admitted, sheds, shedOwn, shedAbove, shedLimit, shedProcessor, shedTold, would, wouldOwn, wouldAbove, wouldLimit, wouldProcessor,
      wouldTold, clamped, overloaded, ended, fallbacks };
    this.window = { accepted, rejected, shed };
    Object.assign(this, { probability, cause, inFlight });
  }

  setHistory([admitted, shed, wouldShed, probabilities], samples) {
    const series = (s) => (s === 0 ? null : s);
    this.samples = samples;
    this.admitted = series(admitted);
    this.shed = series(shed);
    this.wouldShed = series(wouldShed);
    this.probabilities = series(probabilities);
  }

  // addSample adds one sample. figures is undefined if nothing has changed.
  addSample(figures, seconds) {
    const before = this.total;
    if (figures) this.setFigures(figures);
    const now = this.total;
    const rate = (a, b) => Math.max(0, b - a) / seconds;
    const n = this.samples;
    this.admitted = pushTo(this.admitted, rate(before.admitted, now.admitted), n);
    this.shed = pushTo(this.shed, rate(before.sheds, now.sheds), n);
    this.wouldShed = pushTo(this.wouldShed, rate(before.would, now.would), n);
    this.probabilities = pushTo(this.probabilities, this.probability, n);
    this.samples = Math.min(n + 1, historyLength);
  }

  admittedRate(last = rateSamples) { return meanOf(this.admitted, this.samples, last); }
  shedRate(last = rateSamples) { return meanOf(this.shed, this.samples, last); }
  wouldShedRate(last = rateSamples) { return meanOf(this.wouldShed, this.samples, last); }

  // used reports whether there has been any call.
  used() {
    const t = this.total;
    return t.admitted + t.sheds > 0;
  }
}

// Row is all throttles of one name.
class Row {
  constructor(head) {
    this.priorities = [];
    this.setHead(head);
  }

  // setHead sets all but figures: the name and the settings, as text in head too, the worst members of a Group and how many others
  // it has, what Config.Slow does, and what the tenants ask for. What is not said any more is removed.
  setHead({ priorities: names, members = [], members_omitted = 0, slow = null, tenants = null, load_sent = "", load_received = "", ...others }) {
    const settings = { ...others, load_sent, load_received };
    Object.assign(this, settings, { members, members_omitted, slow, tenants });
    this.label = printable(settings.name);
    this.searchText = settings.name.toLowerCase();
    this.head = JSON.stringify(settings);
    for (const name of names.slice(this.priorities.length)) this.priorities.push(new Priority(name));
  }

  // limit returns the open calls at which a call of a priority is refused, or 0.
  limit(p) { return this.slow?.calls[p]?.limit ?? 0; }

  sum(of) {
    let sum = 0;
    for (const priority of this.priorities) sum += of(priority) ?? 0;
    return sum;
  }

  calls(last) { return this.sum((l) => l.admittedRate(last)) + this.shed(last); }
  shed(last) { return this.sum((l) => l.shedRate(last)); }
  wouldShed(last) { return this.sum((l) => l.wouldShedRate(last)); }

  // state returns shedding, would, admitting or idle.
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
      row.priorities.forEach((priority, p) => {
        if (figures[p]) priority.setFigures(figures[p]);
        if (history[p]) priority.setHistory(history[p], samples);
      });
      this.rows.set(row.id, row);
    }
    this.overall = this.sumHistory();
  }

  // sumHistory returns the history summed over all throttles. Closed throttles stay in the sums.
  sumHistory() {
    const overall = new Priority("");
    overall.samples = this.times.length;
    for (const name of ["admitted", "shed", "wouldShed"]) {
      const sum = new Array(overall.samples).fill(0);
      for (const row of this.rows.values()) {
        for (const { [name]: series } of row.priorities) {
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
      for (const row of this.rows.values()) sum += row.sum((priority) => priority[of](1));
      this.overall[name] = pushTo(this.overall[name], sum, n);
    }
    this.overall.samples = Math.min(n + 1, historyLength);
  }

  addSample(sample) {
    const passed = (sample.time - this.time) / 1000;
    const seconds = passed > 0 ? passed : 1; // or the clock was set back; there is a sample each second
    this.time = sample.time;
    this.times.push(sample.time);
    if (this.times.length > historyLength) this.times.shift();
    for (const id of sample.gone ?? []) this.rows.delete(id);
    for (const head of sample.rows ?? []) {
      const row = this.rows.get(head.id);
      if (row) row.setHead(head);
      else this.rows.set(head.id, new Row(head));
    }
    if (sample.processor) this.process.processor = sample.processor[0];
    const changed = new Map();
    for (const [id, p, ...figures] of sample.figures ?? []) changed.set(id + "/" + p, figures);
    for (const row of this.rows.values()) {
      row.priorities.forEach((priority, p) => priority.addSample(changed.get(row.id + "/" + p), seconds));
    }
    this.extendOverall();
    for (const id of sample.gone_sources ?? []) this.sources.delete(id);
    for (const source of sample.sources ?? []) this.sources.set(source.id, source);
  }
}
