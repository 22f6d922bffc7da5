import type { Samples } from '../telemetry/samples.ts';
import { duration, grouped, textTable } from './text-table.ts';

/** Two samples of one instance. The differences between them are shown as rates. */
export interface Looks {
  readonly url: string;
  readonly page: Samples;
  /** The sample before. Without one, rates are averages since the start of the instance. */
  readonly before: Samples | undefined;
  /** Between the two, in milliseconds. */
  readonly betweenMs: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Counters that are shown for each value of a label, as rate, total and share. */
const COUNTED = [
  { title: 'requests', name: 'requests_total', label: 'outcome' },
  { title: 'operation', name: 'requests_total', label: 'operation' },
  { title: 'to the indexer', name: 'upstream_requests_total', label: 'result' },
  { title: 'refused', name: 'shed_total', label: 'reason' },
  { title: 'failed', name: 'request_failures_total', label: 'code' },
] as const;

type Show = (value: number) => string;

const bytes: Show = (value) => `${(value / 1024 ** 2).toFixed(1)} MiB`;

/** Gauges that are shown as they are. */
const GAUGES: readonly (readonly [title: string, name: string, show: Show])[] = [
  ['requests in flight', 'requests_in_flight', grouped],
  ['at the indexer', 'upstream_in_flight', grouped],
  ['of at most', 'upstream_concurrency_limit', grouped],
  ['waiting for a slot', 'upstream_queued', grouped],
  ['circuit breakers open', 'breaker_open', grouped],
  ['paused by a 429', 'upstream_paused', (value) => (value > 0 ? 'yes' : 'no')],
  ['entries in memory', 'memory_entries', grouped],
  ['memory tier', 'memory_bytes', bytes],
  ['resident memory', 'process_resident_memory_bytes', bytes],
];

/** The names of all metrics that are read, without their prefix. */
export const READ_METRICS: readonly string[] = [
  ...COUNTED.map(({ name }) => name),
  ...GAUGES.map(([, name]) => name),
  'upstream_request_seconds_sum',
  'upstream_request_seconds_count',
  'process_start_time_seconds',
];

/** One screen of `toncache top`. Metrics that the instance does not have are left out. */
export function topScreen(looks: Looks): string {
  const { url, page, before, now } = looks;
  const upMs = upTimeMs(looks);
  const rates = before === undefined ? 'averages since it started' : 'a second now';
  const head = `toncache at ${url}, up ${duration(upMs)}, ${new Date(now).toISOString()} (${rates})\n`;
  const counted = COUNTED.map((counter) => countedTable(counter, looks)).filter((table) => table !== '');
  const gauges = GAUGES.flatMap(([title, name, show]) => {
    return page.of(name).length === 0 ? [] : [[title, show(page.sum(name))]];
  });
  const latency = meanLatency(looks);
  if (latency !== undefined) gauges.push(['mean answer of the indexer', duration(latency)]);
  return [head, ...counted, textTable(['now', ''], gauges)].join('\n');
}

function countedTable({ title, name, label }: (typeof COUNTED)[number], looks: Looks): string {
  const { page, before } = looks;
  const all = page.sum(name);
  const seconds = (before === undefined ? upTimeMs(looks) : looks.betweenMs) / 1000;
  const rows = page.valuesOf(name, label).map((value) => {
    const total = page.sum(name, { [label]: value });
    const rate = (total - (before?.sum(name, { [label]: value }) ?? 0)) / seconds;
    return { total, cells: [value, rate.toFixed(1), grouped(total), `${((100 * total) / all).toFixed(1)} %`] };
  });
  const shown = rows.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total);
  if (shown.length === 0) return '';
  return textTable(
    [title.padEnd(24), 'a second', 'total', 'share'],
    shown.map(({ cells }) => cells),
  );
}

function upTimeMs({ page, now }: Looks): number {
  return Math.max(1, now - 1000 * (page.sum('process_start_time_seconds') || now / 1000));
}

/** The time between the two samples, or since the start, in milliseconds. */
function meanLatency({ page, before }: Looks): number | undefined {
  const since = (name: string) => page.sum(name) - (before?.sum(name) ?? 0);
  const count = since('upstream_request_seconds_count');
  return count === 0 ? undefined : (1000 * since('upstream_request_seconds_sum')) / count;
}
