import { readFileSync, writeFileSync } from 'node:fs';
import { DETAILS } from '../../src/answer/cache-status.ts';
import { EXIT } from '../../src/cli/command.ts';
import { SETTINGS } from '../../src/config/load.ts';
import { type AppEvent, EventHub } from '../../src/event-hub.ts';
import { FAILURES } from '../../src/failures/codes.ts';
import { REFUSED } from '../../src/failures/refusals.ts';
import type { AnsweredRequest } from '../../src/http/public/responder.ts';
import { accessLog } from '../../src/operate/access-log.ts';
import type { DescribedMetric } from '../../src/operate/event-counters.ts';
import { logEvents } from '../../src/operate/log-events.ts';
import { createLogger } from '../../src/operate/logger.ts';
import { Metrics, type MetricsDependencies } from '../../src/operate/metrics.ts';
import { CONDITIONS } from '../../src/tell/conditions.ts';
import { conditionLog } from '../../src/tell/log.ts';
import { LABEL_VALUES } from './label-values.ts';
import { LOGGED_EVENTS } from './logged-events.ts';
import { between, table } from './marked-tables.ts';
import { OPENAPI_FILE, type OpenApiDocument } from './render-openapi.ts';

const PAGE = new URL('../../docs/reference/names.md', import.meta.url);
const START = new URL('../../src/cli/start.ts', import.meta.url);

const code = (text: string | number) => `\`${text}\``;
const listed = (names: readonly string[]) => names.map(code).join(', ');

/** The page of all public names: its expected and its actual text. */
export function renderNames(): { readonly expected: string; readonly actual: string } {
  const actual = readFileSync(PAGE, 'utf8');
  const expected = Object.entries(TABLES).reduce(
    (page, [name, render]) => between(page, `names:${name}`, render()),
    actual,
  );
  return { expected, actual };
}

const TABLES: Readonly<Record<string, () => string>> = {
  settings: () =>
    table(
      ['Variable', 'In the file'],
      [
        ...SETTINGS.map(({ env, envOnly, path }) => [env ? code(env) : '', envOnly ? '' : code(path.join('.'))]),
        [code('CONFIG_FILE'), ''],
      ],
    ),
  metrics: () =>
    table(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      everyMetric().map(({ name, type, labelNames, help }) => [code(name), type, listed(labelNames), help]),
    ),
  labels: () =>
    table(
      ['Metric', 'Label', 'Value', 'Meaning'],
      LABEL_VALUES.flatMap(([metric, label, meanings]) =>
        Object.entries(meanings).map(([value, meaning]) => [code(metric), code(label), code(value), meaning]),
      ),
    ),
  log: () =>
    table(
      ['Level', 'Message', 'Fields'],
      everyLine().map(({ level, msg, time: _, ...fields }) => [level, msg, listed(Object.keys(fields))]),
    ),
  conditions: () =>
    table(
      ['Condition', 'Level', 'Words', 'Alert'],
      Object.entries(CONDITIONS).map(([name, { level, says, ...row }]) => [
        code(name),
        'ifAll' in row ? `${level}; ${row.ifAll} if true of every indexer but backups` : level,
        says.replace(/\{(\w+)\}/g, '<$1>'),
        'alert' in row ? code(row.alert) : '',
      ]),
    ),
  details: () =>
    table(
      ['Detail', 'Meaning'],
      Object.entries(DETAILS).map(([detail, meaning]) => [code(detail), meaning]),
    ),
  codes: () =>
    table(
      ['Code', 'Status', 'Retry-After', 'Meaning'],
      Object.entries(FAILURES).map(([name, { status, retryAfter, operatorReads }]) => [
        code(name),
        // Its status is that of the indexer's answer.
        name === 'upstream-error' ? "the indexer's" : String(status),
        retryAfter,
        operatorReads.replace('{indexer}', 'the indexer'),
      ]),
    ),
  reasons: () =>
    table(
      ['Reason', 'The client reads'],
      Object.entries(REFUSED).map(([reason, { clientReads }]) => [code(reason), clientReads.replace(/\{\w+\}/g, '…')]),
    ),
  exits: () =>
    table(
      ['Status', 'Name'],
      Object.entries(EXIT).map(([name, status]) => [String(status), code(name)]),
    ),
  paths: () =>
    table(
      ['Path', 'Method', 'Meaning'],
      adminPaths().map(({ path, method, summary }) => [code(path), method.toUpperCase(), summary]),
    ),
};

/** Every metric of toncache itself, by name. */
export function everyMetric(): readonly DescribedMetric[] {
  // The cast: none of these is read before a scrape.
  const sources = { operations: [], indexers: {}, redis: {}, push: {}, streams: {}, proof: {}, events: new EventHub() };
  return new Metrics(sources as unknown as MetricsDependencies).described.toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
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
  return [...startLines(), requestLine(), ...conditionLines(), ...LOGGED_EVENTS.map((events) => lineOf(events))];
}

/** The lines at the beginning and at the end of a condition, which are the same for all. */
function conditionLines(): Line[] {
  const lines: Line[] = [];
  const { onBegin, onEnd } = conditionLog(loggerTo(lines));
  const about = { name: 'breaker-open', upstream: 'a', operation: 'b', section: 'c', why: '...', since: 0 } as const;
  for (const level of ['failing', 'degraded', 'note'] as const) onBegin({ ...about, level, says: '...' });
  onEnd({ ...about, level: 'note', says: '...' }, 20_000);
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

function adminPaths() {
  const document: OpenApiDocument = JSON.parse(readFileSync(OPENAPI_FILE, 'utf8'));
  return Object.entries(document.paths)
    .filter(([, { servers }]) => servers !== undefined)
    .flatMap(([path, { get, post }]) =>
      Object.entries({ get, post }).flatMap(([method, described]) =>
        described === undefined ? [] : [{ path, method, summary: described.summary }],
      ),
    );
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
  const { expected } = renderNames();
  writeFileSync(PAGE, expected);
}
