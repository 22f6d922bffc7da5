/** A table with columns as wide as their longest cell. Columns of numbers are aligned right, except the first. */
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

/**
 * Units: the milliseconds from which each is used, its length, its name. Days are used only from 48 h on, because a
 * lifetime is called `24 h`.
 */
const UNITS = [
  [172_800_000, 86_400_000, 'd'],
  [3_600_000, 3_600_000, 'h'],
  [60_000, 60_000, 'min'],
  [1000, 1000, 's'],
] as const;

/** Milliseconds for people, in the largest unit that applies, with at most one decimal: `400 ms`, `1.5 s`, `24 h`. */
export function duration(ms: number): string {
  const [, size, unit] = UNITS.find(([least]) => Math.abs(ms) >= least) ?? [0, 1, 'ms'];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}

/** A part of all as a percentage for people, at least 1. */
export const percent = (part: number, all: number): string =>
  `${Math.max(1, Math.round((100 * part) / Math.max(1, all)))} %`;
