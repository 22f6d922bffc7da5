import { ask, useToken, watchNumbers } from './ask.js';
import { showFlow } from './flow.js';
import { purgeOf } from './purge-of.js';
import { shownRequest } from './shown-request.js';
import { make, showIndexers, showOperations, showTable, warnIf } from './tables.js';
import { titleOf, toldOf } from './told.js';
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

const byId = (id) => document.getElementById(id);

/** A time of day in the browser's zone, with the date of another day. */
function at(instant, now) {
  const [day, today] = [instant, now].map((each) => new Date(each).toDateString());
  const time = new Date(instant).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return day === today ? time : `${day.split(' ').slice(1, 3).join(' ')}, ${time}`;
}

const BROWSER_CLOCK = { at, zone: '' };

/** What is shown now, by the id of its element: an element that stays the same keeps its focus. */
const shown = new Map();

/** The first line, the last hour, what happened, and the notes. */
function showTold(message) {
  const told = toldOf(message, BROWSER_CLOCK);
  for (const [id, html] of Object.entries(told)) {
    if (shown.get(id) !== html) byId(id).innerHTML = html;
    shown.set(id, html);
  }
  document.documentElement.className = message.level.toLowerCase();
  document.title = titleOf(message);
  byId('notes').replaceChildren(...message.notes.map((says) => make('li', {}, `Note: ${says}`)));
}

function showAbout({ about, at }) {
  const { version, host, network, upstreams, startedAt } = about;
  byId('about').textContent =
    `${version} on ${host}, ${network}, up ${duration((at - startedAt) / 1000)}, indexer ${upstreams.join(', ')}`;
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
/** They are large, so they are loaded after the first numbers. */
let charts;
watchNumbers(
  (message) => {
    updatedAt = Date.now();
    showTold(message);
    showFlow(message);
    byId('saved').textContent = savedOf(message.hour);
    byId('slots-title').textContent = `Slots in use, of ${whole(message.upstream.limit)}, and queued requests`;
    showAbout(message);
    showTiles(message);
    showOperations(message);
    showIndexers(message);
    showSecrets(message);
    if (message.history === undefined) return;
    charts ??= import('./charts.js').then(({ openCharts }) => openCharts());
    charts
      .then((show) => show(message.history))
      .catch(() => {
        charts = undefined;
      });
  },
  (state) => {
    const isLive = state === 'live';
    byId('connection').textContent = state;
    document.body.classList.toggle('gone', !isLive);
    if (isLive) return;
    document.title = 'No connection – toncache';
    document.documentElement.className = '';
    for (const [id, text] of Object.entries({ level: lostOf(state, updatedAt), says: '', steps: '' })) {
      byId(id).textContent = text;
      shown.delete(id);
    }
  },
);
