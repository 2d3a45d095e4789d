// Formats numbers for readers.

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Formats bytes with about three digits. */
export function bytes(amount) {
  let unit = 0;
  while (amount >= 1024 && unit < BYTES.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount.toLocaleString("en", { maximumFractionDigits: unit && amount < 100 ? 1 : 0 })} ${BYTES[unit]}`;
}

/** Formats a whole number. */
export function count(number) {
  return number.toLocaleString("en");
}

/** Formats US dollars, with enough digits for small sums. */
export function dollars(sum) {
  const digits = sum !== 0 && sum < 1 ? 5 : 2;
  return `$${sum.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** Formats how many times the first number is the second; a dash if the second is zero. */
export function ratio(one, other) {
  if (!(other > 0)) return "–";
  const times = one / other;
  return `× ${times.toLocaleString("en", { maximumFractionDigits: times < 100 ? 1 : 0 })}`;
}

/** Formats a duration; a dash if nothing was measured. */
export function milliseconds(duration) {
  return duration === null ? "–" : `${duration.toLocaleString("en", { maximumFractionDigits: duration < 10 ? 1 : 0 })} ms`;
}
