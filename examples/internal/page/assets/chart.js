// A chart of the last 90 seconds: lines over time, each with its label at the end.

// Each priority has the same colour and dash in all charts.
export const priorities = [
  { name: "high", label: "High", dash: [] },
  { name: "important", label: "Important", dash: [9, 4] },
  { name: "medium", label: "Medium", dash: [3, 3] },
  { name: "low", label: "Low", dash: [9, 3, 2, 3] },
];

const spans = [30, 45, 60, 75, 90]; // seconds; a new chart shows fewer
const gutter = { left: 44, right: 78, top: 8, bottom: 22 };

// Chart draws on a canvas. A line is {label, colour, dash, width, fill, value(sample)}; colours are
// names of CSS variables. top(samples) is the highest value on the axis. The background is tinted
// where band(sample) is true.
export class Chart {
  constructor(canvas, { lines, top, format, band }) {
    this.canvas = canvas;
    this.lines = lines;
    this.top = top;
    this.format = format;
    this.band = band;
    this.samples = [];
    new ResizeObserver(() => this.draw(this.samples)).observe(canvas);
  }

  draw(samples) {
    this.samples = samples;
    const box = this.canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(box.width * scale);
    const height = Math.round(box.height * scale);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    const style = getComputedStyle(this.canvas);
    this.paint({
      pen,
      colour: (name) => style.getPropertyValue(name).trim(),
      font: `12px ${style.fontFamily}`,
      left: gutter.left,
      right: box.width - gutter.right,
      above: gutter.top,
      below: box.height - gutter.bottom,
    });
  }

  paint(area) {
    const end = this.samples.length > 0 ? this.samples[this.samples.length - 1].at : 0;
    const age = this.samples.length > 0 ? (end - this.samples[0].at) / 1000 : 0;
    const span = spans.find((s) => s >= age) ?? spans[spans.length - 1];
    const seen = this.samples.filter((s) => s.at > end - span * 1000 - 1000);
    const top = this.top(seen);
    const x = (at) => area.right - ((end - at) / (span * 1000)) * (area.right - area.left);
    const y = (value) => area.below - (value / top) * (area.below - area.above);
    const { pen } = area;
    pen.font = area.font;
    this.paintAxes(area, top, span, y);
    pen.save();
    pen.beginPath();
    pen.rect(area.left, 0, area.right - area.left, area.below + 2);
    pen.clip();
    this.paintBand(area, seen, x);
    for (const line of this.lines) paintLine(area, line, seen, x, y);
    pen.restore();
    this.paintLabels(area, seen, y);
  }

  paintAxes(area, top, span, y) {
    const { pen } = area;
    pen.lineWidth = 1;
    pen.strokeStyle = area.colour("--rule");
    pen.fillStyle = area.colour("--soft");
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const value of [0, top / 2, top]) {
      const at = Math.round(y(value)) + 0.5;
      pen.beginPath();
      pen.moveTo(area.left, at);
      pen.lineTo(area.right, at);
      pen.stroke();
      pen.fillText(this.format(value), area.left - 8, at);
    }
    pen.textBaseline = "alphabetic";
    const wide = area.right - area.left > 220;
    for (const part of wide ? [3, 2, 1, 0] : [3, 0]) {
      pen.textAlign = part === 3 ? "left" : part === 0 ? "right" : "center";
      const ago = (part * span) / 3;
      const at = area.right - (part / 3) * (area.right - area.left);
      pen.fillText(ago === 0 ? "now" : `${ago} s ago`, at, area.below + 17);
    }
  }

  paintBand(area, samples, x) {
    if (!this.band) return;
    area.pen.fillStyle = area.colour("--off");
    let from = null;
    samples.forEach((sample, i) => {
      if (this.band(sample)) from ??= x(samples[Math.max(0, i - 1)].at);
      const ends = from !== null && (!this.band(sample) || i === samples.length - 1);
      if (!ends) return;
      area.pen.fillRect(from, area.above, x(sample.at) - from, area.below - area.above);
      from = null;
    });
  }

  // paintLabels paints the label of each line beside its end, without overlaps.
  paintLabels(area, samples, y) {
    const last = samples[samples.length - 1];
    if (!last) return;
    const apart = 15;
    const labels = this.lines
      .filter((line) => line.label)
      .map((line) => ({ line, at: y(line.value(last) ?? 0) }))
      .sort((a, b) => a.at - b.at);
    labels.forEach((label, i) => { if (i > 0) label.at = Math.max(label.at, labels[i - 1].at + apart); });
    let limit = area.below;
    for (const label of labels.toReversed()) {
      label.at = Math.min(label.at, limit);
      limit = label.at - apart;
    }
    area.pen.textAlign = "left";
    area.pen.textBaseline = "middle";
    for (const { line, at } of labels) {
      area.pen.fillStyle = area.colour(line.colour);
      area.pen.fillText(line.label, area.right + 8, at);
    }
  }
}

function paintLine(area, line, samples, x, y) {
  const { pen } = area;
  const path = new Path2D();
  let first = null;
  let last = null;
  const close = () => {
    if (!line.fill || first === null) return;
    const ground = new Path2D(path);
    ground.lineTo(last, area.below);
    ground.lineTo(first, area.below);
    pen.fillStyle = area.colour(line.fill);
    pen.fill(ground);
  };
  let drawing = false;
  for (const sample of samples) {
    const value = line.value(sample);
    if (value === null || value === undefined) {
      drawing = false;
      continue;
    }
    const at = x(sample.at);
    if (drawing) path.lineTo(at, y(value)); else path.moveTo(at, y(value));
    first ??= at;
    last = at;
    drawing = true;
  }
  close();
  pen.strokeStyle = area.colour(line.colour);
  pen.lineWidth = line.width ?? 2;
  pen.lineJoin = "round";
  pen.setLineDash(line.dash ?? []);
  pen.stroke(path);
  pen.setLineDash([]);
}

// niceTop returns a round number that is at least value.
export function niceTop(value) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  for (const step of [1, 2, 3, 4, 5, 6, 8]) {
    if (step * unit >= value) return step * unit;
  }
  return 10 * unit;
}
