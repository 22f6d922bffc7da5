import { Chart } from './charts.js';
import { ask, readEvents, useToken } from './read-events.js';

const OUTCOMES = ['hit-memory', 'hit-redis', 'stale', 'collapsed', 'miss', 'invalid', 'refused', 'failed'];

const byId = (id) => document.getElementById(id);
const charts = {
  requests: new Chart('chart-requests', OUTCOMES),
  latency: new Chart('chart-latency', ['p50', 'p99']),
  slots: new Chart('chart-slots', ['in use', 'limit', 'queue']),
  memory: new Chart('chart-memory', ['entries', 'RSS', 'heap']),
};

const percent = (part) => (part === undefined ? '–' : `${(part * 100).toFixed(1)} %`);
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function duration(seconds) {
  if (seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (size < 120) return `${seconds.toFixed(1)} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function show(id, text, isBad = false) {
  byId(id).textContent = text;
  byId(id).classList.toggle('bad', isBad);
}

function showNumbers({ rates, hitRatio, savedRatio, upstream, memory, process, redis, stream, newestSeqno }) {
  if (rates) show('requests', OUTCOMES.reduce((sum, outcome) => sum + rates[outcome], 0).toFixed(1));
  show('hit-ratio', percent(hitRatio));
  show('saved', percent(savedRatio));
  show('p50', duration(upstream.p50Seconds));
  show('p99', duration(upstream.p99Seconds));
  show('slots', `${upstream.inFlight} of ${upstream.limit}`);
  show('queue', String(upstream.queued));
  show('wait', duration(upstream.expectedWaitSeconds));
  show('memory', `${mebibytes(memory.bytes)} of ${mebibytes(memory.maxBytes)}`);
  show('entries', memory.entries.toLocaleString('en'));
  show('process', `${mebibytes(process.rssBytes)}, ${mebibytes(process.heapBytes)}`);
  show('lag', duration(process.loopLagSeconds));
  show('redis', redis, redis === 'failed');
  show('stream', stream, stream === 'lost');
  show('newest', String(newestSeqno ?? 'not known'));
  const open = upstream.openBreakers.map((operation) => `open: ${operation}`);
  const states = upstream.paused ? [...open, 'paused by a 429'] : open;
  show('breakers', states.join(', ') || 'closed', states.length > 0);
}

function draw({ at, rates, upstream, memory, process }) {
  const seconds = at / 1000;
  const inMs = (duration) => (duration === undefined ? undefined : duration * 1000);
  const inMib = [memory.bytes, process.rssBytes, process.heapBytes].map((bytes) => bytes / 2 ** 20);
  const values = OUTCOMES.map((outcome) => rates?.[outcome]);
  charts.requests.add(seconds, values);
  charts.latency.add(seconds, [upstream.p50Seconds, upstream.p99Seconds].map(inMs));
  charts.slots.add(seconds, [upstream.inFlight, upstream.limit, upstream.queued]);
  charts.memory.add(seconds, inMib);
}

/** Each cell is text, never markup. */
function showRows(id, rows) {
  const shown = rows.map((cells) => {
    const row = document.createElement('tr');
    for (const text of cells) row.insertCell().textContent = text;
    return row;
  });
  byId(id).replaceChildren(...shown);
}

/** Without keys and clients, the form for the token is shown. */
function showSecrets({ keys, clients = [] }) {
  byId('access').hidden = keys !== undefined;
  const keyRows = (keys ?? []).map(({ share, answerClass, freshForMs, request }) => {
    const fresh = freshForMs === undefined ? '–' : duration(freshForMs / 1000);
    return [percent(share), answerClass ?? 'not in memory', fresh, request];
  });
  showRows('keys', keyRows);
  showRows(
    'clients',
    clients.map(({ share, waiting, client }) => [String(waiting), percent(share), client]),
  );
}

async function explain(target) {
  try {
    const response = await ask(`/explain?${new URLSearchParams({ target })}`);
    return JSON.stringify(await response.json(), undefined, 2);
  } catch {
    return 'toncache does not answer';
  }
}

byId('access').addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(byId('token').value);
});
byId('explain').addEventListener('submit', async (event) => {
  event.preventDefault();
  byId('explanation').textContent = await explain(byId('target').value);
});
readEvents(
  (message) => {
    showNumbers(message);
    draw(message);
    showSecrets(message);
  },
  (state) => show('connection', state, state !== 'live'),
);
