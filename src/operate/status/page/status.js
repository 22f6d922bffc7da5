import { ask, useToken, watchNumbers } from './ask.js';
import { Chart } from './charts.js';
import { purgeOf } from './purge-of.js';
import { shownRequest } from './shown-request.js';
import { make, showIndexers, showOperations, showTable, warnIf } from './tables.js';
import {
  blockOf,
  duration,
  freshnessOf,
  lostOf,
  noClientsOf,
  percent,
  proofOf,
  purgeQuestion,
  queuedOf,
  rate,
  redisOf,
  savedOf,
  usedOf,
  whole,
} from './words.js';

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
  new Chart('chart-slots', ['in use', 'queued'], ({ upstream }) => [upstream.inFlight, upstream.queued]),
  new Chart('chart-memory', ['entries', 'RSS', 'heap'], ({ memory, process }) =>
    [memory.bytes, process.rssBytes, process.heapBytes].map(toMebi),
  ),
];

const LEVEL_STATES = { OK: 'good', DEGRADED: 'warn', FAILING: 'bad' };

/** The link opens the one section of docs/incidents.md. */
const stepsFor = ({ section }) => make('a', { href: `status/docs/${section}`, target: '_blank' }, 'What to do');

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

function showAbout({ about, at }) {
  const { version, host, network, upstreams, startedAt } = about;
  byId('about').textContent =
    `${version} on ${host}, ${network}, up ${duration((at - startedAt) / 1000)}, indexer ${upstreams.join(', ')}`;
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

/** The tiles next to figures and charts: each with its name, its text and its class. */
function tilesOf({ newestSeqno, newestAgeSeconds, hitRatio, upstream, memory, process, redis, proof }) {
  return [
    ['Newest block', blockOf(newestSeqno, newestAgeSeconds), warnIf(newestAgeSeconds > 120)],
    ['Queued', queuedOf(upstream), warnIf(upstream.queued > 0)],
    ['Hit ratio', percent(hitRatio)],
    ['Entries', whole(memory.entries)],
    ['Memory used', usedOf(memory)],
    ['Evicted/s', rate(memory.evictedPerSecond), warnIf(memory.evictedPerSecond > 0)],
    ['Redis', redisOf(redis), { used: 'good', failed: 'bad' }[redis]],
    ['Account proofs', proofOf(proof), { alive: 'good', resting: 'warn' }[proof?.state]],
    ['Loop lag, p99', duration(process.loopLagSeconds), warnIf(process.loopLagSeconds > 0.1)],
  ];
}

function showTiles(message) {
  const shown = tilesOf(message).filter(([, text]) => text !== 'not configured');
  const made = shown.map(([name, text, className = '']) =>
    make('div', { className }, make('dt', {}, name), make('dd', {}, text)),
  );
  byId('tiles').replaceChildren(...made);
}

function button(text, act) {
  const made = make('button', { type: 'button' }, text);
  made.addEventListener('click', act);
  return made;
}

const KEY_COLUMNS = { Request: '', Share: 'number', Class: '', Freshness: 'number' };
const CLIENT_COLUMNS = { Client: '', Queued: 'number', Share: 'number' };

/** Without keys and clients, the form for the token is shown. */
function showSecrets({ about, hitRatio, redis, keys, clients = [] }) {
  const isHidden = keys === undefined;
  byId('access').hidden = !isHidden;
  const requests = (keys ?? []).map(({ share, answerClass = 'not in memory', freshForMs, request }) => [
    [
      make('span', { title: request }, shownRequest(request, about.network)),
      button('Explain', () => explain(request)),
      ...(purgeOf(request) === undefined ? [] : [button('Purge', () => purge(request, redis))]),
    ],
    percent(share),
    answerClass,
    freshnessOf(freshForMs),
  ]);
  showTable('keys', KEY_COLUMNS, requests, isHidden ? 'Needs ADMIN_TOKEN.' : 'Nothing sampled in the last minutes.');
  // Several clients of one network look the same.
  const named = clients.map(({ client, ...is }, index) => {
    const before = clients.slice(0, index).filter((other) => other.client === client).length;
    return { ...is, client: before === 0 ? client : `${client} (${before + 1})` };
  });
  const queued = named.map(({ share, waiting, client }) => [client, whole(waiting), percent(share)]);
  const nothing = isHidden ? 'Needs ADMIN_TOKEN.' : noClientsOf(hitRatio);
  showTable('clients', CLIENT_COLUMNS, queued, nothing);
}

/** Shows the result of `done` for an answer, or the error. */
async function tell(path, options, done) {
  try {
    const response = await ask(path, options);
    byId('explanation').textContent = response.ok ? await done(response) : (await response.json()).error;
  } catch {
    byId('explanation').textContent = 'Connection lost.';
  }
}

/** Shows the output of the command `toncache explain`. */
function explain(target) {
  byId('target').value = target;
  const options = { headers: { Accept: 'text/plain' } };
  return tell(`explain?${new URLSearchParams({ target })}`, options, (response) => response.text());
}

async function purge(request, redis) {
  const named = purgeOf(request);
  if (!confirm(purgeQuestion(named, redis))) return;
  const options = { method: 'POST', body: JSON.stringify(named) };
  await tell('purge', options, () => `purged ${JSON.stringify(named)}`);
}

// What is too wide scrolls, also by keys.
for (const wide of document.querySelectorAll('.scroll, #explanation')) wide.tabIndex = 0;
byId('access').addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(byId('token').value);
});
byId('explain').addEventListener('submit', (event) => {
  event.preventDefault();
  void explain(byId('target').value);
});
let updatedAt;
watchNumbers(
  (message) => {
    updatedAt = Date.now();
    showLevel(message);
    showFigures(message);
    byId('hour').textContent = savedOf(message.hour);
    byId('slots-title').textContent = `Slots in use, of ${whole(message.upstream.limit)}, and queued requests`;
    for (const chart of charts) chart.show(message.history);
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
    document.title = 'No connection – toncache';
    byId('verdict').textContent = lostOf(state, updatedAt);
    byId('verdict').className = '';
    byId('conditions').replaceChildren();
  },
);
