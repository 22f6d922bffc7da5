import { ask, useToken, watchNumbers } from './ask.js';
import { Chart } from './charts.js';
import { purgeOf } from './purge-of.js';
import { shownRequest } from './shown-request.js';

const OUTCOMES = [
  'hit-memory',
  'hit-redis',
  'hit-proven',
  'stale',
  'collapsed',
  'miss',
  'invalid',
  'refused',
  'failed',
];

const byId = (id) => document.getElementById(id);
const toMebi = (bytes) => bytes / 2 ** 20;
const toMs = (seconds) => (seconds === undefined ? undefined : seconds * 1000);
const perSecondOf = ({ rates }) => rates && OUTCOMES.reduce((sum, outcome) => sum + rates[outcome], 0);

const spark = (id, figureOf) => new Chart(id, [''], (moment) => [figureOf(moment)], { isSpark: true });
const charts = [
  spark('spark-requests', perSecondOf),
  spark('spark-answered', ({ answeredRatio }) => answeredRatio),
  spark('spark-saved', ({ savedRatio }) => savedRatio),
  spark('spark-p99', ({ latency }) => toMs(latency.p99Seconds)),
  new Chart('chart-requests', OUTCOMES, ({ rates }) => OUTCOMES.map((outcome) => rates?.[outcome]), {
    isStacked: true,
  }),
  new Chart('chart-latency', ['p50', 'p99'], ({ upstream }) => [upstream.p50Seconds, upstream.p99Seconds].map(toMs)),
  new Chart('chart-slots', ['in use', 'limit', 'waiting'], ({ upstream }) => [
    upstream.inFlight,
    upstream.limit,
    upstream.queued,
  ]),
  new Chart('chart-memory', ['entries', 'RSS', 'heap'], ({ memory, process }) =>
    [memory.bytes, process.rssBytes, process.heapBytes].map(toMebi),
  ),
];

/** A share, 0 to 1. */
const percent = (part) => (part === undefined ? '–' : `${(part * 100).toFixed(1)} %`);
/** A rate, short enough for a tile. */
const rate = (value) => (value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en'));

function duration(seconds) {
  if (seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (size < 120) return `${Number(seconds.toFixed(1))} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** An element with children; text children are never parsed as markup. */
function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The class of an element: `good`, `warn`, `bad` or none. */
const warnIf = (isSo) => (isSo ? 'warn' : '');

const LEVEL_STATES = { OK: 'good', DEGRADED: 'warn', FAILING: 'bad' };

/** The link shows the Markdown source of the incident guide, which has no anchors: a text fragment leads to the heading. */
function stepsFor({ section }) {
  const heading = encodeURIComponent(`# ${section.replaceAll('-', ' ')}`);
  return make('a', { href: `status/incidents.md#:~:text=${heading}`, target: '_blank' }, 'What to do');
}

/** The first line; below it all other conditions, of one indexer only one with the same steps. */
function showLevel({ at, level, says, conditions }) {
  const shown = new Set();
  const distinct = conditions.filter(({ section, upstream }) => {
    const key = `${section} ${upstream}`;
    return !shown.has(key) && shown.add(key);
  });
  const [worst] = distinct;
  const others = level === 'OK' ? distinct : distinct.slice(1);
  byId('verdict').replaceChildren(says, ...(level === 'OK' ? [] : [' ', stepsFor(worst)]));
  byId('verdict').className = LEVEL_STATES[level];
  byId('conditions').replaceChildren(
    ...others.map((each) => {
      const age = duration(Math.round((at - each.since) / 1000));
      return make(
        'li',
        { className: LEVEL_STATES[each.level.toUpperCase()] ?? '' },
        `Also for ${age}: ${each.says} `,
        stepsFor(each),
      );
    }),
  );
  document.title = level === 'OK' ? 'toncache' : `${level}: ${worst.says} – toncache`;
}

function showHour({ hour: { seconds, requests, saved, olderAnswers } }) {
  const time = seconds > 3500 ? 'in the last hour' : `in the last ${duration(seconds)}`;
  const older = `${olderAnswers.toLocaleString('en')} ${olderAnswers === 1 ? 'answer was' : 'answers were'} older than one`;
  byId('hour').textContent =
    requests === 0
      ? `No requests ${seconds < 1 ? 'yet' : time}.`
      : `Saved ${saved.toLocaleString('en')} of ${requests.toLocaleString('en')} requests ${time}; ` +
        `${olderAnswers === 0 ? 'no answer was older than one' : older} that clients had got before.`;
}

function showAbout({ about, at }) {
  const { version, host, network, upstreams, startedAt } = about;
  byId('about').textContent =
    `${version} on ${host}, ${network}, for ${duration((at - startedAt) / 1000)}, indexer ${upstreams.join(', ')}`;
}

/** The four large figures: their text and their class. */
function showFigures(message) {
  const { answeredRatio: answered, savedRatio, latency, level } = message;
  // One failure among thousands is less than all answered.
  const shown = answered < 1 ? Math.min(answered, 0.999) : answered;
  const figures = {
    'spark-requests': [message.rates === undefined ? '–' : rate(perSecondOf(message))],
    'spark-answered': [percent(shown), answered < 1 ? (level === 'FAILING' ? 'bad' : 'warn') : ''],
    'spark-saved': [percent(savedRatio)],
    'spark-p99': [duration(latency.p99Seconds), warnIf(latency.p99Seconds > 2)],
  };
  for (const [id, [text, className = '']] of Object.entries(figures)) {
    byId(id).previousElementSibling.textContent = text;
    byId(id).parentElement.className = className;
  }
}

/** A block with its age, if known. */
function blockOf(seqno, ageSeconds) {
  if (seqno === undefined) return '–';
  const block = seqno.toLocaleString('en');
  if (ageSeconds === undefined) return block;
  return `${block}, ${ageSeconds < 0 ? `${duration(-ageSeconds)} ahead` : `${duration(ageSeconds)} old`}`;
}

function waitingOf({ queued, expectedWaitSeconds }) {
  return queued === 0 ? 'nobody' : `${queued}, for ${duration(expectedWaitSeconds)}`;
}

function usedOf({ bytes, maxBytes }) {
  const [unit, size] = maxBytes < 10 * 2 ** 30 ? ['MiB', 2 ** 20] : ['GiB', 2 ** 30];
  return `${(bytes / size).toFixed(0)} of ${(maxBytes / size).toFixed(0)} ${unit}`;
}

/** The block up to which answers about accounts are proven, and their number; or the reason why none is. */
function proofOf(proof) {
  if (proof === undefined) return 'not configured';
  const { state, block, entries } = proof;
  const off = { idle: 'off: few polls', resting: 'off for a while', behind: 'behind' }[state];
  return off ?? `${entries.toLocaleString('en')} to ${block.toLocaleString('en')}`;
}

/** The tiles next to figures and charts: each with its name, its text and its class. */
function tilesOf({ newestSeqno, newestAgeSeconds, hitRatio, upstream, memory, process, redis, proof }) {
  return [
    ['Newest block', blockOf(newestSeqno, newestAgeSeconds), warnIf(newestAgeSeconds > 120)],
    ['Waiting', waitingOf(upstream), warnIf(upstream.queued > 0)],
    ['Hit ratio', percent(hitRatio)],
    ['Entries', memory.entries.toLocaleString('en')],
    ['Memory used', usedOf(memory)],
    ['Evicted/s', rate(memory.evictedPerSecond), warnIf(memory.evictedPerSecond > 0)],
    ['Redis', redis, { used: 'good', failed: 'bad' }[redis]],
    ['Proof', proofOf(proof), { alive: 'good', resting: 'warn' }[proof?.state]],
    ['Loop lag p99', duration(process.loopLagSeconds), warnIf(process.loopLagSeconds > 0.1)],
  ];
}

function showTiles(message) {
  const shown = tilesOf(message).filter(([, text]) => text !== 'not configured');
  const made = shown.map(([name, text, className = '']) =>
    make('div', { className }, make('dt', {}, name), make('dd', {}, text)),
  );
  byId('tiles').replaceChildren(...made);
}

/**
 * A cell is a text or a list of texts and elements, and has the name of its column for narrow screens without columns.
 * `ifEmpty`: the text without rows. A table is not updated while a button in it has the focus.
 */
function showTable(id, head, rows, ifEmpty = '') {
  const table = byId(id);
  if (table.contains(document.activeElement)) return;
  const body = rows.map((cells) => {
    const row = make('tr', {}, ...cells.map((cell) => make('td', {}, ...[cell].flat())));
    for (const [index, cell] of [...row.cells].entries()) cell.dataset.name = head[index];
    return row;
  });
  if (rows.length === 0) return table.replaceChildren(make('caption', {}, ifEmpty));
  const names = head.map((name) => make('th', { scope: 'col' }, name));
  table.replaceChildren(make('thead', {}, make('tr', {}, ...names)), make('tbody', {}, ...body));
}

/** Highlighted text for a problem. */
const marked = (text, className) => (className === '' ? text : make('strong', { className }, text));

/** By the rule of the first line: more than 1 % is an outage. */
const failingState = ({ perSecond, failedPerSecond }) =>
  failedPerSecond > 0.01 * perSecond ? 'bad' : warnIf(failedPerSecond > 0);

function failedOf(its) {
  const { perSecond, failedPerSecond } = its;
  const part = (100 * failedPerSecond) / perSecond;
  const shown = failedPerSecond > 0 ? ` (${part.toFixed(part < 10 ? 1 : 0)} %)` : '';
  return marked(`${rate(failedPerSecond)}${shown}`, failingState(its));
}

const closedBreaker = (minimumKeys) => ({
  'few-keys': `closed, fewer than ${minimumKeys} keys`,
  'few-failures': 'closed, fewer than half fail',
  'not-counted': 'closed, does not count these failures',
});

function showOperations({ operations, about }) {
  const head = ['Operation', 'Requests/s', 'Failed/s', 'Hit ratio', 'Latency p99', 'Circuit breaker'];
  const rows = operations.map(({ operation, breakersOpenAt, notServedBy, closedDespite, ...its }) => [
    marked(operation, failingState(its)),
    rate(its.perSecond),
    failedOf(its),
    percent(its.hitRatio),
    duration(its.p99Seconds),
    [
      ...breakersOpenAt.map((indexer) => make('strong', { className: 'bad' }, `open at ${indexer} `)),
      ...notServedBy.map((indexer) => make('strong', { className: 'warn' }, `not served by ${indexer} `)),
      breakersOpenAt.length + notServedBy.length === 0
        ? (closedBreaker(about.breakerMinimumKeys)[closedDespite] ?? 'closed')
        : '',
    ],
  ]);
  showTable('operations', head, rows);
}

const INDEXER_STATES = { healthy: 'good', unhealthy: 'bad', 'lacks blocks': 'bad', 'another chain': 'bad' };

function showIndexers({ upstreams }) {
  byId('indexers-section').hidden = upstreams.length === 0;
  const head = ['Indexer', 'State', 'Newest block', 'Behind', 'Slots', 'Takes up to', 'Requests/s', 'Failed/s'];
  const rows = upstreams.map(({ upstream, isBackup, state, lagBlocks, slotsInUse, peakSeconds, ...its }) => [
    upstream,
    marked(isBackup ? `${state} (backup)` : state, INDEXER_STATES[state] ?? 'warn'),
    blockOf(its.seqno, its.ageSeconds),
    lagBlocks === undefined ? '?' : `${lagBlocks} ${lagBlocks === 1 ? 'block' : 'blocks'}`,
    slotsInUse,
    duration(peakSeconds),
    rate(its.perSecond),
    failedOf(its),
  ]);
  showTable('indexers', head, rows);
}

function button(text, act) {
  const made = make('button', { type: 'button' }, text);
  made.addEventListener('click', act);
  return made;
}

function freshnessOf(freshForMs) {
  if (freshForMs === undefined) return '–';
  return `${freshForMs > 0 ? 'fresh' : 'stale'} for ${duration(Math.abs(freshForMs) / 1000)}`;
}

/** Without keys and clients, the form for the token is shown. */
function showSecrets({ about, keys, clients = [] }) {
  byId('access').hidden = keys !== undefined;
  const requests = (keys ?? []).map(({ share, answerClass = 'not in memory', freshForMs, request }) => [
    [
      make('span', { title: request }, shownRequest(request, about.network)),
      button('Explain', () => explain(request)),
      ...(purgeOf(request) === undefined ? [] : [button('Purge', () => purge(request))]),
    ],
    percent(share),
    answerClass,
    freshnessOf(freshForMs),
  ]);
  const hidden = keys === undefined ? '' : 'Nobody has asked for anything in the last minutes.';
  showTable('keys', ['Request', 'Share', 'Class', 'Freshness'], requests, hidden);
  // Several clients of one network look the same.
  const named = clients.map(({ client, ...is }, index) => {
    const before = clients.slice(0, index).filter((other) => other.client === client).length;
    return { ...is, client: before === 0 ? client : `${client} (${before + 1})` };
  });
  const waiting = named.map(({ share, waiting, client }) => [client, waiting || 'none', percent(share)]);
  const nobody = keys === undefined ? '' : 'Nobody waits, and memory answers all.';
  showTable('clients', ['Client', 'Waiting', 'Share'], waiting, nobody);
}

/** Shows the result of `done` for an answer, or the error. */
async function tell(path, options, done) {
  try {
    const response = await ask(path, options);
    byId('explanation').textContent = response.ok ? await done(response) : (await response.json()).error;
  } catch {
    byId('explanation').textContent = 'toncache does not answer';
  }
}

/** Shows the output of the command `toncache explain`. */
function explain(target) {
  byId('target').value = target;
  const options = { headers: { Accept: 'text/plain' } };
  return tell(`explain?${new URLSearchParams({ target })}`, options, (response) => response.text());
}

async function purge(request) {
  const named = purgeOf(request);
  if (!confirm(`Purge in all instances: ${JSON.stringify(named)}?`)) return;
  const options = { method: 'POST', body: JSON.stringify(named) };
  await tell('purge', options, () => `purged ${JSON.stringify(named)}`);
}

byId('access').addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(byId('token').value);
});
byId('explain').addEventListener('submit', (event) => {
  event.preventDefault();
  void explain(byId('target').value);
});
watchNumbers(
  (message) => {
    for (const chart of charts) chart.show(message.history);
    showLevel(message);
    showFigures(message);
    showHour(message);
    showAbout(message);
    showTiles(message);
    showOperations(message);
    showIndexers(message);
    showSecrets(message);
  },
  (state) => {
    const isLive = state === 'live';
    byId('connection').textContent = state;
    document.body.classList.toggle('gone', !isLive);
    if (isLive) return;
    document.title = 'gone – toncache';
    byId('verdict').textContent = 'this instance does not answer: the numbers are old';
    byId('verdict').className = '';
    byId('conditions').replaceChildren();
  },
);
