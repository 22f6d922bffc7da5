import { readFileSync, writeFileSync } from 'node:fs';
import { between } from './marked-tables.ts';
import type { RenderedDoc } from './render-settings.ts';

const BENCHMARKS = new URL('../../docs/background/benchmarks.md', import.meta.url);
const CLIENTS_PAGE = new URL('../../docs/start/your-clients.md', import.meta.url);
const PICTURE = new URL('../../docs/overview.svg', import.meta.url);
const SECTION = 'public-clients-in-their-exact-forms';
/** Of the run in the table. */
const RATE = 900;

interface Row {
  readonly operation: string;
  readonly sent: number;
  readonly arrived: number;
  /** In per cent, as the table has it. */
  readonly saved: string;
}

/** The rows of `npm run bench:clients` in the benchmarks. The last one, `all`, has the sums. */
function measuredRows(): Row[] {
  const [, section = ''] = readFileSync(BENCHMARKS, 'utf8').split('\n## Public clients in their exact forms\n');
  const rows = [
    ...(section.split('\n### ')[0] ?? '').matchAll(/^\| (\S+(?: \S+)?) +\| *(\d+) \| +(\d+) \| +(\S+ %) \|$/gm),
  ];
  return rows.map(([, operation = '', sent, arrived, saved = '']) => ({
    operation,
    sent: Number(sent),
    arrived: Number(arrived),
    saved,
  }));
}

/** The operations with the most requests at the indexer that are more than half of all together. */
function mostOf(rows: readonly Row[], arrived: number): string[] {
  const names: string[] = [];
  let sum = 0;
  for (const row of rows.toSorted((a, b) => b.arrived - a.arrived)) {
    if (sum > arrived / 2) break;
    sum += row.arrived;
    names.push(`\`${row.operation}\``);
  }
  return names;
}

const count = (value: number) => value.toLocaleString('en-US');

/** The saving that was measured for public clients, in the page about them and in the picture of README. */
export function renderSavings(): RenderedDoc[] {
  const rows = measuredRows();
  const all = rows.pop();
  if (all?.operation !== 'all') throw new Error(`${BENCHMARKS.pathname} has no sums for public clients`);
  const names = mostOf(rows, all.arrived);
  const sentence = [
    `In [a mix of these clients](../background/benchmarks.md#${SECTION}) with ${RATE} requests a second, the indexer got`,
    `${count(all.arrived)} requests instead of ${count(all.sent)}: ${all.saved} were saved. Most requests that reached it were ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`,
  ].join('\n');
  const page = readFileSync(CLIENTS_PAGE, 'utf8');
  const picture = readFileSync(PICTURE, 'utf8');
  const figures = { sent: count(all.sent), arrived: count(all.arrived), saved: `saves ${all.saved}` };
  return [
    { file: CLIENTS_PAGE, expected: between(page, 'clients:saved', sentence), actual: page },
    { file: PICTURE, expected: Object.entries(figures).reduce(withText, picture), actual: picture },
  ];
}

/** Replaces the text of the element with this id. */
function withText(svg: string, [id, text]: readonly [id: string, text: string]): string {
  const [before, after, ...more] = svg.split(new RegExp(`(?<= id="${id}">)[^<]*`));
  if (before === undefined || after === undefined || more.length > 0) throw new Error(`the picture needs one "${id}"`);
  return `${before}${text}${after}`;
}

if (import.meta.main) {
  for (const { file, expected, actual } of renderSavings()) if (expected !== actual) writeFileSync(file, expected);
}
