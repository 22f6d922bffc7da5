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
