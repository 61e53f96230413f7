// Small charts of the last five minutes.

const span = historyLength; // seconds; one unit of x is one second, y runs from 0 at the top to 100

// binned averages several series in bins of a number of seconds, and returns [x, v, v...] per bin.
// Bins are aligned to the clock, so they do not flicker from sample to sample.
function binned(times, now, seconds, ...series) {
  const points = [];
  let bin = -1, n = 0, sums = series.map(() => 0);
  const flush = () => { if (n > 0) points.push([Math.max(0, span - (now - Math.min(now, (bin + 0.5) * seconds * 1000)) / 1000), ...sums.map((s) => s / n)]); };
  for (let i = 0; i < times.length; i++) {
    const at = Math.floor(times[i] / 1000 / seconds);
    if (at !== bin) {
      flush();
      [bin, n, sums] = [at, 0, series.map(() => 0)];
    }
    n++;
    series.forEach((s, j) => { if (s !== null) sums[j] += s[i - times.length + s.length] ?? 0; });
  }
  flush();
  if (points.length > 0) points[points.length - 1][0] = span;
  return points;
}

const px = (v) => v.toFixed(1);

// band returns the outline of the area between two curves, without parts of zero height.
function band(points, low, high, top) {
  const y = (v) => px(100 - 96 * v / top);
  let path = "";
  for (let i = 0; i < points.length; i++) {
    if (!(high(points[i]) > low(points[i]))) continue;
    const from = Math.max(0, i - 1);
    while (i < points.length && high(points[i]) > low(points[i])) i++;
    const run = points.slice(from, Math.min(points.length, i + 1));
    path += "M" + run.map((p) => px(p[0]) + " " + y(high(p))).join("L");
    path += "L" + run.reverse().map((p) => px(p[0]) + " " + y(low(p))).join("L") + "Z";
  }
  return path;
}

function curve(points, of, top) {
  return points.length < 2 ? "" : "M" + points.map((p) => px(p[0]) + " " + px(100 - 96 * of(p) / top)).join("L");
}

// CallsChart draws calls per second: admitted, with shed stacked on top. The part of admitted that
// Enforce would have shed has its own colour.
class CallsChart {
  constructor(seconds) {
    this.seconds = seconds;
    this.paths = ["admitted", "would", "shed"].map((name) => svgElement("path", { class: "area " + name }));
    this.node = svgElement("svg", { class: "spark", viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img" }, ...this.paths);
  }

  draw(times, now, priority) {
    const points = binned(times, now, this.seconds, priority.admitted, priority.shed, priority.wouldShed);
    const zero = () => 0, admitted = (p) => p[1], all = (p) => p[1] + p[2], kept = (p) => Math.max(0, p[1] - p[3]);
    const top = points.reduce((most, p) => Math.max(most, all(p)), 0) || 1;
    setAttribute(this.paths[0], "d", band(points, zero, admitted, top));
    setAttribute(this.paths[1], "d", band(points, kept, admitted, top));
    setAttribute(this.paths[2], "d", band(points, admitted, all, top));
    const mean = (i) => rateText(points.reduce((sum, p) => sum + p[i], 0) / (points.length || 1));
    const shed = points.some((p) => p[3] > 0) ? `would have shed ${mean(3)}` : `shed ${mean(2)}`;
    setAttribute(this.node, "aria-label", points.length === 0 ? "No calls yet"
      : `Last 5 minutes, per second: admitted ${mean(1)}, ${shed} on average, at most ${rateText(top)} calls`);
  }
}

// ProbabilityChart draws a probability from 0 to 1.
class ProbabilityChart {
  constructor(seconds) {
    this.seconds = seconds;
    this.area = svgElement("path", { class: "area chance" });
    this.line = svgElement("path", { class: "line chance", "vector-effect": "non-scaling-stroke" });
    this.node = svgElement("svg", { class: "spark", viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img" }, this.area, this.line);
  }

  draw(times, now, priority) {
    const points = binned(times, now, this.seconds, priority.probabilities);
    const most = points.reduce((max, p) => Math.max(max, p[1]), 0);
    setAttribute(this.area, "d", band(points, () => 0, (p) => p[1], 1));
    setAttribute(this.line, "d", most > 0 ? curve(points, (p) => p[1], 1) : "");
    setAttribute(this.node, "aria-label", `Probability in the last 5 minutes: at most ${percentText(most)}`);
  }
}
