/** A number as short as it can be read. */
export function number(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)));
}

/** A fraction as a percentage, - where there is none. */
export function percent(value) {
  return value === undefined ? '–' : `${(value * 100).toFixed(1)} %`;
}

/** A duration in its unit. */
export function duration(seconds) {
  if (seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size < 1) return `${number(seconds * 1000)} ms`;
  if (size < 120) return `${seconds.toFixed(1)} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Bytes in MiB. */
export function mebibytes(bytes) {
  const size = bytes / 2 ** 20;
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} MiB`;
}
