/** Rows under a head in columns as wide as their longest cell; columns of numbers alone, but for the first, end on the right. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const isNumeric = head.map(
    (_, column) => column > 0 && rows.every((row) => /^[-\d,.]*( %)?$/.test(row[column] ?? '')),
  );
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => {
      const width = widths[column] ?? 0;
      return isNumeric[column] ? cell.padStart(width) : cell.padEnd(width);
    });
    return `${padded.join('  ').trimEnd()}\n`;
  };
  return [head, ...rows].map(line).join('');
}

/** From so many milliseconds on, the unit of so many milliseconds: a lifetime of 24 h is not called a day. */
const UNITS = [
  [172_800_000, 86_400_000, 'd'],
  [3_600_000, 3_600_000, 'h'],
  [60_000, 60_000, 'min'],
  [1000, 1000, 's'],
] as const;

/** Milliseconds for people, in the largest unit that leaves a whole: `400 ms`, `1.5 s`, `24 h`. */
export function duration(ms: number): string {
  const [, size, unit] = UNITS.find(([least]) => Math.abs(ms) >= least) ?? [0, 1, 'ms'];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}

/** A number with its thousands apart. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
