import { Panel, text } from './svg-panel.ts';

/** One line of the chart. */
export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Point {
  /** Multiple of the capacity. */
  readonly load: number;
  readonly goodputPerSecond: number;
  readonly p99Ms: number;
}

export interface ChartOptions {
  readonly lines: readonly Line[];
  readonly capacityPerSecond: number;
  /** What a load of 1 is. */
  readonly requestsPerSecond: number;
  /** Below the chart: what it was measured on. */
  readonly caption: string;
}

const WIDTH = 880;
const HEIGHT = 420;
const PLOT = { top: 92, width: 350, height: 240 };
const LEFT_X = 60;
const RIGHT_X = 500;

/** Told apart by those who do not see all colours (Okabe and Ito), and by their marks; for light and for dark. */
const COLOURS: readonly (readonly [light: string, dark: string])[] = [
  ['#c1440e', '#ff8a5c'],
  ['#0063a6', '#5db5f5'],
  ['#00805c', '#3ecf9f'],
  ['#9b4a86', '#e39acb'],
  ['#8a6a00', '#e8c04a'],
  ['#3f4a5a', '#b4c0d0'],
  ['#6a51c7', '#b3a2ff'],
  ['#4d7c0f', '#a3d65c'],
];

/** Goodput and 99th percentile against the offered load, as an SVG document that is readable in light and in dark. */
export function drawChart({ lines, capacityPerSecond, requestsPerSecond, caption }: ChartOptions): string {
  const points = lines.flatMap((line) => line.points);
  const loads = [...new Set(points.map(({ load }) => load))].sort((a, b) => a - b);
  const goodput = new Panel({
    ...PLOT,
    left: LEFT_X,
    loads,
    highest: Math.max(capacityPerSecond, ...points.map(({ goodputPerSecond }) => goodputPerSecond)),
    title: 'Right answers within 2 s, a second (one request in ten is a hit)',
  });
  const p99 = new Panel({
    ...PLOT,
    left: RIGHT_X,
    loads,
    highest: Math.max(...points.map(({ p99Ms }) => p99Ms / 1000)),
    title: 'Seconds until an answer, a 503, or leaving: p99',
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="Goodput and p99 against offered load">`,
    style(lines.length),
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="8"/>`,
    ...legend(lines),
    ...goodput.frame(),
    ...goodput.level(capacityPerSecond, 'capacity of the indexer:'),
    ...lines.map(({ points }, number) =>
      goodput.line(
        number,
        points.map(({ load, goodputPerSecond }) => [load, goodputPerSecond]),
      ),
    ),
    ...p99.frame(),
    ...lines.map(({ points }, number) =>
      p99.line(
        number,
        points.map(({ load, p99Ms }) => [load, p99Ms / 1000]),
      ),
    ),
    text(WIDTH / 2, 375, `offered load; 1x is ${requestsPerSecond} requests a second`, 'middle'),
    text(WIDTH / 2, 403, caption, 'middle', 'small'),
    '</svg>',
  ].join('\n');
}

function legend(lines: readonly Line[]): string[] {
  const step = Math.min(160, (WIDTH - 2 * LEFT_X) / lines.length);
  return lines.flatMap(({ name }, number) => {
    const x = LEFT_X + number * step;
    return [
      `<line class="line mode${number}" x1="${x}" x2="${x + 22}" y1="26" y2="26"/>`,
      `<circle class="mark mode${number}" cx="${x + 11}" cy="26" r="4"/>`,
      text(x + 30, 30, name, 'start', 'strong'),
    ];
  });
}

function style(modes: number): string {
  const colours = (theme: 0 | 1) =>
    Array.from({ length: modes }, (_, number) => {
      const colour = COLOURS[number % COLOURS.length]?.[theme];
      return `.line.mode${number}{stroke:${colour}}.mark.mode${number}{fill:${colour}}`;
    }).join('');
  return [
    '<style>',
    'text{font:12px system-ui,sans-serif;fill:#3d444d}.small{font-size:11px;fill:#59636e}.strong{font-size:13px;fill:#1f2328}',
    '.paper{fill:#fff}.grid{stroke:#d8dee4}.axis{stroke:#818b98}.level{stroke:#59636e;stroke-dasharray:5 4}',
    `.line{fill:none;stroke-width:2.5;stroke-linejoin:round}${colours(0)}`,
    '@media (prefers-color-scheme:dark){',
    'text{fill:#c3cad2}.small{fill:#9198a1}.strong{fill:#f0f6fc}',
    `.paper{fill:#0d1117}.grid{stroke:#2b323b}.axis{stroke:#6e7681}.level{stroke:#9198a1}${colours(1)}}`,
    '</style>',
  ].join('\n');
}
