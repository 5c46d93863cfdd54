/* Number formats equal to those of driftduel._internal.wording, for values that change while a page is open. */
export const NOTHING = "-";
const missing = (value) => value === null || value === undefined || Number.isNaN(value);
const grouped = (text) => text.replace(/^(-?\d+)/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ","));

export function fixed(value, digits) {
  const text = value.toFixed(digits);
  return grouped(/[1-9]/.test(text) ? text : text.replace("-", ""));
}

export function whole(value) {
  if (missing(value)) return NOTHING;
  const low = Math.floor(value);
  const even = value - low === 0.5 ? low + (Math.abs(low) % 2) : Math.round(value);
  return fixed(even, 0);
}

export function number(value) {
  if (missing(value)) return NOTHING;
  const size = Math.abs(value);
  if (size >= 99.95 || Number.isInteger(value)) return whole(value);
  if (size < 0.001) return value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2");
  return fixed(value, Math.max(0, 2 - Math.floor(Math.log10(Number(size.toPrecision(3))))));
}

export const decimals = (value, digits = 2) => (missing(value) ? NOTHING : fixed(value, digits));
export const share = (value, digits = 0) => (missing(value) ? NOTHING : `${fixed(100 * value, digits).replace(/,/g, "")}%`);
export const interval = (low, high, write = number) =>
  (missing(low) || missing(high) ? NOTHING : `${write(low)} to ${write(high)}`);
export const counted = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

export function duration(seconds) {
  if (missing(seconds)) return NOTHING;
  for (const [size, unit] of [[3600, "h"], [60, "min"], [1, "s"]]) {
    if (seconds >= 2 * size || unit === "s") {
      const count = seconds / size;
      return `${unit !== "min" && count < 9.95 ? fixed(count, 1) : whole(count)} ${unit}`;
    }
  }
  return NOTHING;
}

export function short(value) {
  const kept = Number(value.toPrecision(3));
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(kept) >= size) return `${Number((kept / size).toPrecision(6))}${letter}`;
  }
  return String(kept + 0);
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
const YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

// Formats a tick of a calendar axis; `span` is the length of the axis in milliseconds.
export function moment(at, span) {
  const write = span < 86400000 ? CLOCK : span < 300 * 86400000 ? DAY : MONTH;
  return write.format(new Date(at));
}

// Formats a time: today without the day, otherwise with it.
export function when(at, now = Date.now()) {
  const [time, today] = [new Date(at), new Date(now)];
  if (time.toDateString() === today.toDateString()) return CLOCK.format(time);
  return `${(time.getFullYear() === today.getFullYear() ? DAY : YEAR).format(time)}, ${CLOCK.format(time)}`;
}
