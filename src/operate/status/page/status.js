import { ask, useToken, watchNumbers } from './ask.js';
import { Chart, timeOf } from './charts.js';
import { purgeOf } from './purge-of.js';

const OUTCOMES = ['hit-memory', 'hit-redis', 'stale', 'collapsed', 'miss', 'invalid', 'refused', 'failed'];

const byId = (id) => document.getElementById(id);
const toMebi = (bytes) => bytes / 2 ** 20;
const toMs = (seconds) => (seconds === undefined ? undefined : seconds * 1000);
const charts = [
  new Chart('chart-requests', OUTCOMES, ({ rates }) => OUTCOMES.map((outcome) => rates?.[outcome]), {
    isStacked: true,
  }),
  new Chart('chart-latency', ['p50', 'p99'], ({ upstream }) => [upstream.p50Seconds, upstream.p99Seconds].map(toMs)),
  new Chart('chart-slots', ['in use', 'limit', 'queue'], ({ upstream }) => [
    upstream.inFlight,
    upstream.limit,
    upstream.queued,
  ]),
  new Chart('chart-memory', ['entries', 'RSS', 'heap'], ({ memory, process }) =>
    [memory.bytes, process.rssBytes, process.heapBytes].map(toMebi),
  ),
];

const percent = (part) => (part === undefined ? '–' : `${(part * 100).toFixed(1)} %`);
const mebibytes = (bytes) => `${toMebi(bytes).toFixed(0)} MiB`;

function duration(seconds) {
  if (seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (size < 120) return `${seconds.toFixed(1)} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Shows a text; `state` colors its tile: `good`, `warn`, `bad` or nothing. */
function show(id, text, state = '') {
  byId(id).textContent = text;
  byId(id).parentElement.dataset.state = state;
}

const VERDICT_STATES = { serving: 'good', stale: 'warn', refusing: 'bad' };

function showVerdict({ level, says, why, since }) {
  const from = why === '' ? '' : ` since ${timeOf(since)}: ${why}`;
  byId('verdict').textContent = `${says}${from}`;
  byId('verdict').dataset.state = VERDICT_STATES[level];
  document.title = level === 'serving' ? 'toncache' : `${says} – toncache`;
}

function showAbout({ about, at }) {
  const { version, host, network, indexers, startedAt } = about;
  byId('about').textContent =
    `${version} on ${host}, ${network}, for ${duration((at - startedAt) / 1000)}, indexer ${indexers.join(', ')}`;
}

function showNumbers({ rates, hitRatio, savedRatio, upstream, memory, process, redis, stream, newestSeqno, indexers }) {
  if (rates) {
    const all = OUTCOMES.reduce((sum, outcome) => sum + rates[outcome], 0);
    const part = all === 0 ? 0 : (rates.refused + rates.failed) / all;
    show('requests', all.toFixed(1));
    show('unanswered', percent(part), part > 0.01 ? 'bad' : part > 0 ? 'warn' : 'good');
  }
  show('hit-ratio', percent(hitRatio));
  show('saved', percent(savedRatio));
  show('p50', duration(upstream.p50Seconds));
  show('p99', duration(upstream.p99Seconds), upstream.p99Seconds > 2 ? 'warn' : '');
  show('slots', `${upstream.inFlight} of ${upstream.limit}`, upstream.inFlight >= upstream.limit ? 'warn' : '');
  show('queue', String(upstream.queued), upstream.queued > 0 ? 'warn' : '');
  show('wait', duration(upstream.expectedWaitSeconds));
  show('newest', newestSeqno === undefined ? 'not known' : newestSeqno.toLocaleString('en'));
  const states = [...upstream.openBreakers, ...(upstream.paused ? ['paused by a 429'] : [])];
  byId('breakers').replaceChildren(
    ...states.map((text) => Object.assign(document.createElement('span'), { textContent: text })),
  );
  show('entries', memory.entries.toLocaleString('en'));
  show('memory', `${toMebi(memory.bytes).toFixed(0)} of ${mebibytes(memory.maxBytes)}`);
  byId('redis-tile').hidden = redis === 'not configured';
  show('redis', redis, redis === 'failed' ? 'bad' : 'good');
  byId('stream-tile').hidden = stream === 'not configured';
  show('stream', stream, stream === 'lost' ? 'warn' : 'good');
  show('rss', mebibytes(process.rssBytes));
  show('heap', mebibytes(process.heapBytes));
  show('lag', duration(process.loopLagSeconds), process.loopLagSeconds > 0.1 ? 'warn' : '');
  byId('indexers-section').hidden = indexers.length === 0;
  showRows(
    'indexers',
    indexers.map(({ indexer, state, seqno, lagBlocks, slotsInUse, peakSeconds, perSecond, failedPerSecond }) => ({
      cells: [
        state,
        seqno,
        `${lagBlocks} blocks`,
        slotsInUse,
        duration(peakSeconds),
        perSecond.toFixed(1),
        failedPerSecond.toFixed(1),
        indexer,
      ],
      state: state === 'well' ? 'good' : 'warn',
    })),
  );
}

/**
 * Each cell is text, never markup, and has the name of its column for screens that are too narrow for columns; `buttons` of
 * a row follow the text of its last cell.
 */
function showRows(id, rows) {
  const names = [...(byId(id).closest('table').tHead?.rows[0]?.cells ?? [])].map(({ textContent }) => textContent);
  const shown = rows.map(({ cells, state = '', buttons = [] }) => {
    const row = document.createElement('tr');
    row.dataset.state = state;
    cells.forEach((text, index) => {
      const cell = row.insertCell();
      cell.textContent = text;
      cell.dataset.name = names[index] ?? '';
    });
    row.lastElementChild.append(...buttons);
    return row;
  });
  byId(id).replaceChildren(...shown);
}

function button(text, act) {
  const made = Object.assign(document.createElement('button'), { type: 'button', textContent: text });
  made.addEventListener('click', act);
  return made;
}

/** Without keys and clients, the form for the token is shown. Rows are left alone while a button in them has the focus. */
function showSecrets({ keys, clients = [] }) {
  byId('access').hidden = keys !== undefined;
  if (!byId('keys').contains(document.activeElement)) {
    showRows(
      'keys',
      (keys ?? []).map(({ share, answerClass, freshForMs, request }) => ({
        cells: [
          percent(share),
          answerClass ?? 'not in memory',
          freshForMs === undefined ? '–' : duration(freshForMs / 1000),
          request,
        ],
        buttons: [button('Explain', () => explain(request)), button('Purge', () => purge(request))],
      })),
    );
  }
  showRows(
    'clients',
    clients.map(({ share, waiting, client }) => ({ cells: [waiting, percent(share), client] })),
  );
}

/** Shows what `/explain` says: what the command `toncache explain` prints. */
async function explain(target) {
  byId('target').value = target;
  try {
    const response = await ask(`/explain?${new URLSearchParams({ target })}`, { headers: { Accept: 'text/plain' } });
    byId('explanation').textContent = response.ok ? await response.text() : (await response.json()).error;
  } catch {
    byId('explanation').textContent = 'toncache does not answer';
  }
}

async function purge(request) {
  const named = purgeOf(request);
  if (named === undefined || !confirm(`Purge in all instances: ${JSON.stringify(named)}?`)) return;
  try {
    const { error } = await (await ask('/purge', { method: 'POST', body: JSON.stringify(named) })).json();
    byId('explanation').textContent = error ?? `purged ${JSON.stringify(named)}`;
  } catch {
    byId('explanation').textContent = 'not purged: toncache does not answer';
  }
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
    showVerdict(message.verdict);
    showAbout(message);
    showNumbers(message);
    showSecrets(message);
  },
  (state) => {
    const isLive = state === 'live';
    byId('connection').textContent = state;
    document.body.classList.toggle('gone', !isLive);
    if (isLive) return;
    document.title = 'gone – toncache';
    byId('verdict').textContent = 'this instance does not answer: the numbers are old';
    byId('verdict').dataset.state = '';
  },
);
