import { text } from '../overload/svg-panel.ts';
import { hitRatio, type Row } from './report.ts';

/** One figure of every mode, as bars. */
interface Panel {
  readonly title: string;
  /** Undefined when the mode has no such figure. */
  readonly value: (row: Row) => number | undefined;
  readonly label: (value: number, row: Row) => string;
}

const PANELS: readonly Panel[] = [
  {
    title: 'Requests at the indexer',
    value: ({ upstream }) => upstream.total,
    label: (value, row) => `${value} (${(hitRatio(row) * 100).toFixed(0)} % spared)`,
  },
  { title: 'Lies and failures', value: ({ lies, failed }) => lies + failed, label: String },
  {
    title: 'Until a client sees a change of its trace, median',
    value: ({ traceSeen }) => traceSeen.p50Ms,
    label: (value) => `${value.toFixed(0)} ms`,
  },
  { title: 'Answer, 99th percentile', value: ({ p99Ms }) => p99Ms, label: (value) => `${value.toFixed(0)} ms` },
];

const WIDTH = 880;
const NAMES_WIDTH = 120;
const LABEL_WIDTH = 150;
const BAR = { height: 16, step: 24 };
const TITLE_HEIGHT = 34;
const MARGIN = 20;

/** Draws the figures of all modes as an SVG document for light and dark themes. */
export function drawWorkload(rows: readonly Row[], caption: string): string {
  const panelHeight = TITLE_HEIGHT + rows.length * BAR.step;
  const height = 2 * MARGIN + PANELS.length * panelHeight + 24;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="The same clients through different caches">`,
    STYLE,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>`,
    ...PANELS.flatMap((panel, place) => bars(panel, rows, MARGIN + place * panelHeight)),
    text(WIDTH / 2, height - 16, caption, 'middle', 'small'),
    '</svg>',
  ].join('\n');
}

function bars({ title, value, label }: Panel, rows: readonly Row[], top: number): string[] {
  const highest = Math.max(1, ...rows.map((row) => value(row) ?? 0));
  const longest = WIDTH - 2 * MARGIN - NAMES_WIDTH - LABEL_WIDTH;
  const left = MARGIN + NAMES_WIDTH;
  return [
    text(MARGIN, top + 18, title, 'start', 'strong'),
    ...rows.flatMap((row, place) => {
      const y = top + TITLE_HEIGHT - 6 + place * BAR.step;
      const shown = value(row);
      const width = Math.round(((shown ?? 0) / highest) * longest);
      const look = row.mode.startsWith('toncache') ? 'own' : 'other';
      return [
        text(left - 10, y + 12, row.mode, 'end'),
        `<rect class="${look}" x="${left}" y="${y}" width="${width}" height="${BAR.height}" rx="2"/>`,
        text(left + width + 8, y + 12, shown === undefined ? 'none seen' : label(shown, row), 'start'),
      ];
    }),
  ];
}

const STYLE = [
  '<style>',
  'text{font:12px system-ui,sans-serif;fill:#3d444d}.small{font-size:11px;fill:#59636e}.strong{font-size:13px;fill:#1f2328}',
  '.paper{fill:#fff}.own{fill:#0063a6}.other{fill:#8c959f}',
  '@media (prefers-color-scheme:dark){',
  'text{fill:#c3cad2}.small{fill:#9198a1}.strong{fill:#f0f6fc}.paper{fill:#0d1117}.own{fill:#5db5f5}.other{fill:#6e7681}}',
  '</style>',
].join('\n');
