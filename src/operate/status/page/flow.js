import { indexerState, make, marked, warnIf } from './tables.js';
import { duration, lostIn, share, short, whole } from './words.js';

const byId = (id) => document.getElementById(id);

/** The parts of the requests in the order of the bar, with their names. */
const NAMES = {
  memory: 'memory',
  proven: 'proven',
  redis: 'Redis',
  joined: 'collapsed',
  stale: 'stale',
  sentOn: 'sent on',
  refused: 'refused',
  failed: 'failed',
};

/** Those that clients got no response for: they are a rate, after the others. */
const LOST = ['refused', 'failed'];

/** Shows the way of the requests of the last 10 s, from the clients through toncache to the indexers. */
export function showFlow(message) {
  const { flow } = message;
  const isMeasured = flow.seconds >= 10;
  showClients(message, isMeasured);
  showParts(message, isMeasured);
  byId('flow-indexers').replaceChildren(...indexersOf(message, isMeasured));
}

function showClients({ flow, latency, savedRatio, conditions }, isMeasured) {
  const { clients, seconds, parts } = flow;
  const answered = clients === 0 ? undefined : 1 - lostIn(parts) / clients;
  byId('flow-rate').textContent = isMeasured ? `${short(clients / seconds)}/s` : 'measuring';
  byId('flow-answered').textContent = answered === undefined ? 'no requests' : `${share(answered)} answered`;
  byId('flow-answered').className = answered < 0.99 ? 'bad' : '';
  byId('flow-p99').textContent = `p99 ${duration(latency.p99Seconds)}`;
  byId('flow-p99').className = warnIf(conditions.some(({ name }) => name === 'slow'));
  byId('flow-saved').textContent = `saved ${savedRatio === undefined ? '–' : share(savedRatio)}`;
}

function showParts({ flow, redis }, isMeasured) {
  const { clients, seconds, parts } = flow;
  const shown = Object.keys(NAMES).filter(
    (name) => parts[name] > 0 || (name === 'redis' && redis !== 'not configured'),
  );
  const bar = shown
    .filter((name) => parts[name] > 0)
    .map((name) => {
      const part = make('span', { className: `part ${name}` });
      part.style.flexGrow = parts[name] / Math.max(1, clients);
      return part;
    });
  byId('flow-bar').replaceChildren(...bar);
  const rows = shown.map((name) => {
    if (name === 'redis' && redis === 'failed') return make('li', { className: 'failed bad' }, 'Redis is unreachable');
    const number = isMeasured ? `${short(parts[name] / seconds)}/s` : '…';
    const text = [make('span', {}, NAMES[name]), ' ', make('b', {}, number)];
    return make('li', { className: LOST.includes(name) ? `${name} bad` : name }, ...text);
  });
  byId('flow-parts').replaceChildren(...rows);
}

function indexersOf({ flow, upstreams }, isMeasured) {
  const boxes = flow.indexers.map(({ upstream, requests, failed }) => {
    const its = upstreams.find((each) => each.upstream === upstream);
    const rate = isMeasured ? `${short(requests / flow.seconds)}/s` : 'measuring';
    const lost = failed > 0 ? [', ', marked(`${short(failed / flow.seconds)}/s failed`, 'bad')] : [];
    const isReserve = its.isBackup && requests === 0;
    const className = failed > 0 ? 'box bad' : isReserve ? 'box reserve' : `box ${indexerState(its)}`;
    return make(
      'li',
      { className },
      make('b', {}, upstream),
      make('span', {}, stateWords(its)),
      make('span', {}, rate, ...lost),
    );
  });
  const ofFailed = flow.parts.failed > 0 ? ', and requests that failed' : '';
  const words = `of these toncache's own: ${short(flow.own / flow.seconds)}/s (head, blocks, refreshes${ofFailed})`;
  const own = make('li', { className: 'own' }, isMeasured ? words : '');
  return [...boxes, own];
}

/** The state of an indexer in a word, with its size. */
function stateWords({ state, lagBlocks, sameForSeconds, isBackup }) {
  const sizes = {
    behind: lagBlocks && `${whole(lagBlocks)} blocks`,
    'stands still': `for ${duration(sameForSeconds)}`,
  };
  const words = [state, sizes[state]].filter(Boolean).join(' ');
  return isBackup ? `${words} (backup)` : words;
}
