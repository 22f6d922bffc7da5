import { Chart } from './charts.js';
import { explainOnSubmit } from './explain.js';
import { duration, mebibytes, number, percent } from './format.js';
import { Access, readEvents } from './read-events.js';

const OUTCOMES = ['memory', 'redis', 'stale', 'coalesced', 'miss', 'refused', 'error', 'invalid'];
const MIB = 2 ** 20;

const byId = (id) => document.getElementById(id);
const charts = {
  requests: new Chart('chart-requests', OUTCOMES),
  latency: new Chart('chart-latency', ['p50', 'p99']),
  slots: new Chart('chart-slots', ['in use', 'limit', 'queue']),
  memory: new Chart('chart-memory', ['entries', 'RSS', 'heap']),
};

const access = new Access();
byId('access').addEventListener('submit', (event) => {
  event.preventDefault();
  access.use(byId('token').value);
});

function show(id, text, isBad = false) {
  const element = byId(id);
  element.textContent = text;
  element.classList.toggle('bad', isBad);
}

function showNumbers({ rates, hitRatio, savedRatio, upstream, memory, process, redis, stream, newestSeqno }) {
  if (rates) show('requests', number(OUTCOMES.reduce((sum, outcome) => sum + rates[outcome], 0)));
  show('hit-ratio', percent(hitRatio));
  show('saved', percent(savedRatio));
  show('p50', duration(upstream.p50Seconds));
  show('p99', duration(upstream.p99Seconds));
  show('slots', `${upstream.inFlight} of ${upstream.limit}`);
  show('queue', String(upstream.queued));
  show('wait', duration(upstream.expectedWaitSeconds));
  show('memory', `${mebibytes(memory.bytes)} of ${mebibytes(memory.maxBytes)}`);
  show('entries', number(memory.entries));
  show('process', `${mebibytes(process.rssBytes)}, ${mebibytes(process.heapBytes)}`);
  show('lag', duration(process.loopLagSeconds));
  show('redis', redis, redis === 'failed');
  show('stream', stream, stream === 'lost');
  show('newest', newestSeqno === undefined ? 'not known' : String(newestSeqno));
  const open = upstream.openBreakers.map((operation) => `open: ${operation}`);
  const states = upstream.paused ? [...open, 'paused by a 429'] : open;
  show('breakers', states.join(', ') || 'closed', states.length > 0);
}

function draw({ at, rates, upstream, memory, process }) {
  const seconds = at / 1000;
  if (rates) {
    const values = OUTCOMES.map((outcome) => rates[outcome]);
    charts.requests.add(seconds, values);
  }
  charts.latency.add(
    seconds,
    [upstream.p50Seconds, upstream.p99Seconds].map((each) => (each === undefined ? undefined : each * 1000)),
  );
  charts.slots.add(seconds, [upstream.inFlight, upstream.limit, upstream.queued]);
  charts.memory.add(
    seconds,
    [memory.bytes, process.rssBytes, process.heapBytes].map((bytes) => bytes / MIB),
  );
}

function showKeys(keys) {
  byId('access').hidden = keys !== undefined;
  byId('keys-note').textContent =
    keys === undefined
      ? 'Shown to those who may purge.'
      : 'One request in 16 is counted, those of the last minute above all.';
  const rows = (keys ?? []).map(({ share, answerClass, freshForMs, request }) => {
    const row = document.createElement('tr');
    const fresh = freshForMs === undefined ? '–' : duration(freshForMs / 1000);
    for (const text of [percent(share), answerClass ?? 'not in memory', fresh, request]) {
      row.insertCell().textContent = text;
    }
    return row;
  });
  byId('keys').replaceChildren(...rows);
}

function onMessage(message) {
  showNumbers(message);
  draw(message);
  showKeys(message.keys);
}

explainOnSubmit(byId('explain'), byId('explanation'), access);
readEvents(access, onMessage, (state) => show('connection', state, state !== 'live'));
