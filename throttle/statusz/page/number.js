// Formats numbers and names.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });
const missing = "–";

// rateText formats calls per second: 0.4, 37, 1,204, 123k.
function rateText(v) {
  if (v === null) return missing;
  if (v === 0) return "0";
  if (v < 9.95) return Math.max(v, 0.1).toFixed(1);
  return countText(Math.round(v));
}

// countText formats a count in few characters: 98,304, 1.23M.
function countText(n) {
  if (n < 1e5) return grouped.format(n);
  for (const [unit, letter] of [[1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]]) {
    const v = n / unit;
    if (v < 999.5) return (v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0)) + letter;
  }
  return n.toExponential(2);
}

// percentText formats a share of 1 in percent. Only exactly 0 and 1 show as 0 % and 100 %.
function percentText(v) {
  if (v === null) return missing;
  if (v <= 0) return "0 %";
  if (v < 0.001) return "<0.1 %";
  if (v < 1 && v > 0.999) return ">99.9 %";
  return (v * 100).toFixed(v < 1 ? 1 : 0) + " %";
}

// plainText formats any other number.
function plainText(v) {
  if (v === null) return missing;
  const size = Math.abs(v);
  if (size >= 1e5) return (v < 0 ? "-" : "") + countText(Math.round(size));
  if (size !== 0 && size < 0.001) return v.toExponential(1);
  return grouped.format(Number(v.toPrecision(size < 1 ? 2 : size < 1e4 ? 4 : 5)));
}

// durationText formats seconds.
function durationText(s) { return s < 1 ? plainText(s * 1000) + " ms" : plainText(s) + " s"; }

// agoText formats a duration.
function agoText(milliseconds) {
  const s = Math.max(0, Math.round(milliseconds / 1000));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d";
}

function clockText(milliseconds) {
  return new Date(milliseconds).toLocaleTimeString("en-GB");
}

function plural(n, word) {
  return grouped.format(n) + " " + word + (n === 1 ? "" : "s");
}

// printable escapes control characters and characters that change the text direction.
function printable(name) {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}
