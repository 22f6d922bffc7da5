import { availableParallelism, cpus } from 'node:os';

/** One line with the machine and the time of the figures. */
export function describeMachine(): string {
  const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, ${process.platform} ${process.arch}`;
  return `${machine}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
}

/**
 * Returns quantiles of these values, with this many decimals; '-' without values. The share is 0 to 1, 0.5 the median.
 */
export function quantilesOf(values: readonly number[], decimals = 0): (share: number) => string {
  const sorted = values.toSorted((a, b) => a - b);
  return (share) => {
    const place = share * (sorted.length - 1);
    const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
    if (below === undefined || above === undefined) return '-';
    return (below + (above === below ? 0 : (place % 1) * (above - below))).toFixed(decimals);
  };
}

/** A Markdown table whose columns are also aligned in the text; all but the first column are numbers. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
