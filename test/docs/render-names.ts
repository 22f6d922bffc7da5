import { readFileSync, writeFileSync } from 'node:fs';
import { DETAILS } from '../../src/answer/cache-status.ts';
import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load.ts';
import { type ErrorCode, failure, overloaded } from '../../src/errors.ts';
import { type AppEvent, EventHub } from '../../src/event-hub.ts';
import { FAILURES, type Failure } from '../../src/failures/codes.ts';
import { REFUSED, REFUSED_REASONS } from '../../src/failures/refusals.ts';
import type { AnsweredRequest } from '../../src/http/public/responder.ts';
import { accessLog } from '../../src/operate/access-log.ts';
import { logEvents } from '../../src/operate/log-events.ts';
import { createLogger } from '../../src/operate/logger.ts';
import { CONDITIONS, type ConditionName, type ConditionRow } from '../../src/tell/conditions.ts';
import { sentencesOf } from '../../src/tell/episode-words.ts';
import { episodeLog } from '../../src/tell/log.ts';
import type { DescribedMetric } from '../../src/tell/metrics.ts';
import { CONDITION_REASONS } from './condition-reasons.ts';
import { DETAIL_HELP, FAILURE_HELP, REASON_HELP } from './failure-help.ts';
import { LABEL_VALUES } from './label-values.ts';
import { LOGGED_EVENTS } from './logged-events.ts';
import { between, table } from './marked-tables.ts';
import type { RenderedDoc } from './render-settings.ts';

const PAGES = {
  metrics: new URL('../../docs/reference/metrics.md', import.meta.url),
  logs: new URL('../../docs/reference/logs.md', import.meta.url),
  errors: new URL('../../docs/reference/errors.md', import.meta.url),
  lifetimes: new URL('../../docs/reference/lifetimes.md', import.meta.url),
  incidents: new URL('../../docs/incidents.md', import.meta.url),
};
// The cast: these are the names of CONDITIONS.
const CONDITION_NAMES = Object.keys(CONDITIONS) as ConditionName[];
const START = new URL('../../src/cli/start.ts', import.meta.url);

const code = (text: string | number) => `\`${text}\``;
const listed = (names: readonly string[]) => names.map(code).join(', ');
/** A text with placeholders, as a page shows it. */
const shown = (text: string) => text.replace(/\{\w+\}/g, '…');

/** Every metric of toncache itself, by name: those of an app with all its parts, which does not listen. */
export const EVERY_METRIC = await readMetrics();

/** Each page with tables of public names: its expected and its actual text. */
export function renderNames(): RenderedDoc[] {
  return Object.entries(PAGES).map(([page, file]) => {
    const actual = readFileSync(file, 'utf8');
    const tables = Object.entries(TABLES).filter(([name]) => name.startsWith(`${page}:`));
    return { file, actual, expected: tables.reduce((text, [name, render]) => between(text, name, render()), actual) };
  });
}

const TABLES: Readonly<Record<string, () => string>> = {
  'metrics:all': () =>
    table(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      EVERY_METRIC.map(({ name, type, labelNames, help }) => [code(name), type, listed(labelNames), help]),
    ),
  'metrics:labels': () =>
    table(
      ['Metric', 'Label', 'Value', 'Meaning'],
      LABEL_VALUES.flatMap(([metric, label, meanings]) =>
        Object.entries(meanings).map(([value, meaning]) => [code(metric), code(label), code(value), meaning]),
      ),
    ),
  'logs:lines': () =>
    table(
      ['Level', 'Message', 'Fields'],
      everyLine().map(({ level, msg, time: _, ...fields }) => [level, msg, listed(Object.keys(fields))]),
    ),
  'incidents:conditions': () =>
    table(
      ['Line on the page', 'Level', 'Condition', 'Alert', 'Steps'],
      CONDITION_NAMES.map((name) => {
        const { level, section, ...row } = CONDITIONS[name];
        return [
          `*${wordsOf(name)}*`,
          'ifAll' in row ? `${level}; ${row.ifAll} if all are affected` : level,
          code(name),
          'alert' in row ? code(row.alert) : '',
          `[Steps](#${section})`,
        ];
      }),
    ),
  'errors:codes': () =>
    table(
      ['Code', 'Status', '`Retry-After`', 'Cause', 'What to do', 'The client reads'],
      Object.entries<Failure>(FAILURES).map(([name, { status, retryAfter, clientReads }]) => {
        // The cast: these are the names of FAILURES.
        const { cause, help } = FAILURE_HELP[name as ErrorCode];
        // Its status is that of the indexer's response.
        const sent = name === 'upstream-error' ? "the indexer's" : String(status);
        const texts = listed([...new Set(Object.values(clientReads).map(shown))]);
        return [code(name), sent, retryAfter, cause, help, name === 'client-closed-request' ? '' : texts];
      }),
    ),
  'errors:reasons': () =>
    table(
      ['Reason', 'Status', 'What happened', 'What helps', 'The client reads'],
      REFUSED_REASONS.map((reason) => {
        const { cause, help } = REASON_HELP[reason];
        const error = reason === 'client-limit' ? failure('too-many-requests') : overloaded(reason, 0);
        return [code(reason), String(error.status), cause, help, code(shown(REFUSED[reason].clientReads))];
      }),
    ),
  'lifetimes:details': () =>
    table(
      ['`detail`', 'Meaning', 'What to do'],
      Object.entries(DETAILS).map(([detail, meaning]) => {
        // The cast: these are the names of DETAILS.
        return [code(detail), meaning, DETAIL_HELP[detail as keyof typeof DETAILS]];
      }),
    ),
};

/** An example of the words of a condition. */
/** The effect of the conditions whose counts say it. */
const EFFECTS: Readonly<Partial<Record<ConditionName, string>>> = {
  'no-answer': '50 % of requests fail (pendingTraces)',
  'one-unanswered': '20 % of requests fail',
  'limited-most': '50 % of requests are limited',
  slow: 'responses are slow',
};

function wordsOf(name: ConditionName): string {
  const { says, effect = EFFECTS[name] ?? '' }: ConditionRow = CONDITIONS[name];
  const why = CONDITION_REASONS[name];
  if (why === undefined && says.includes('{why}')) throw new Error(`condition-reasons.ts has no reason for ${name}`);
  const words = sentencesOf(
    {
      ...{ level: 'degraded', since: 0, until: undefined, isOver: false, isTrue: true, indexers: [], operations: 1 },
      effect: effect.replace('{who}', 'b:8081'),
      cause: { name, why: why ?? '', operation: 'pendingTraces', section: '' },
    },
    1,
  );
  return words.replace(/\.$/, '');
}

async function readMetrics(): Promise<readonly DescribedMetric[]> {
  const { settings } = loadSettings({
    UPSTREAM_URL: 'http://127.0.0.1:1',
    REDIS_URL: 'redis://127.0.0.1:1',
    CACHE_OPERATIONS: 'all',
    PASSTHROUGH: 'on',
  });
  const app = await createApp({ logger: loggerTo([]) }, settings);
  await app.close();
  return app.metrics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly time: string;
}

/** The last line of the log for events in a row. */
function lineOf(events: readonly AppEvent[], hub = new EventHub()): Line {
  const lines: Line[] = [];
  logEvents(loggerTo(lines), () => 0, hub);
  for (const event of events) hub.report(event);
  const last = lines.at(-1);
  if (last === undefined) throw new Error(`nothing is logged of ${events.at(-1)?.name}`);
  return last;
}

function loggerTo(lines: Line[]) {
  return createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
}

function everyLine(): readonly Line[] {
  return [...startLines(), requestLine(), ...episodeLines(), ...LOGGED_EVENTS.map((events) => lineOf(events))];
}

/** The lines at the beginning and at the end of an episode, which are the same for all; a note has no end. */
function episodeLines(): Line[] {
  const lines: Line[] = [];
  const { onBegin, onEnd } = episodeLog(loggerTo(lines), 2);
  const about = { indexers: ['a'], operations: 2, since: 0, until: 20_000, isOver: false, isTrue: true, effect: '' };
  const cause = { name: 'overloaded', why: '..', section: 'c' } as const;
  for (const level of ['failing', 'degraded', 'note'] as const) onBegin({ ...about, level, cause });
  onEnd({ ...about, level: 'failing', cause });
  return lines;
}

/** The lines of `toncache start` from its source: it runs as a separate process. */
function startLines(): Line[] {
  const calls = readFileSync(START, 'utf8').matchAll(/logger\.(\w+)\(\s*(?:\{(.*?)\},\s*)?'([^']+)',?\s*\)/g);
  return [...calls].map(([, level = '', fields = '', msg = '']) => {
    const names = fields
      .replaceAll(/\([^)]*\)/g, '')
      .split(',')
      .flatMap((field) => /\w+/.exec(field) ?? []);
    return { level, msg, time: '', ...Object.fromEntries(names.map((name) => [name, ''])) };
  });
}

function requestLine(): Line {
  const lines: Line[] = [];
  const request: Readonly<Record<keyof AnsweredRequest, unknown>> = {
    id: 'a',
    client: '10.0.7.0/24',
    operation: 'pendingTraces',
    key: 'mainnet pendingTraces?account=0:00',
    status: 503,
    hasFailed: true,
    cacheStatus: 'toncache; detail=overloaded',
    ms: 5,
    indexer: 'indexer:8081',
    reason: 'queue-full',
    joined: 'b',
  };
  let now = 0;
  const dependencies = { logger: loggerTo(lines), shown: String, random: () => 0, now: () => now, sample: 1 };
  const log = accessLog({ ...dependencies, requests: 'all' });
  // More than are logged in a second, so that the line of the next second has every field. The cast: each has a value.
  for (let failed = 0; failed < 20; failed++) log(request as AnsweredRequest);
  now = 1000;
  log(request as AnsweredRequest);
  const line = lines.at(-1);
  if (line === undefined) throw new Error('no request is logged');
  return line;
}

/** The names of events with lines in the log, and those among them that {@link LOGGED_EVENTS} ends with. */
export function loggedNames(): { readonly listened: ReadonlySet<string>; readonly shown: ReadonlySet<string> } {
  const listened = new Set<string>();
  const hub = new EventHub();
  const on = hub.on.bind(hub);
  hub.on = (name, listener) => {
    listened.add(name);
    on(name, listener);
  };
  logEvents(loggerTo([]), () => 0, hub);
  return { listened, shown: new Set(LOGGED_EVENTS.flatMap((events) => events.at(-1)?.name ?? [])) };
}

if (import.meta.main) {
  for (const { file, expected, actual } of renderNames()) if (expected !== actual) writeFileSync(file, expected);
}
