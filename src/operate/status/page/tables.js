import { blockOf, duration, percent, rate, statusesOf, whole } from './words.js';

const byId = (id) => document.getElementById(id);

/** An element with children; text children are never parsed as markup. */
export function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The class of an element: `good`, `warn`, `bad` or none. */
export const warnIf = (isSo) => (isSo ? 'warn' : '');

/**
 * `columns`: the name of each with its class; `number` aligns it to the right. A cell is a text or a list of texts and
 * elements, and has the name of its column for narrow screens without columns. `ifEmpty`: the text without rows. A table
 * is not updated while a button in it has the focus.
 */
export function showTable(id, columns, rows, ifEmpty = '') {
  const table = byId(id);
  if (table.contains(document.activeElement)) return;
  if (rows.length === 0) return table.replaceChildren(make('caption', {}, ifEmpty));
  const head = Object.entries(columns);
  const body = rows.map((cells) => {
    const row = make('tr', {});
    for (const [index, content] of cells.entries()) {
      const [name, className] = head[index];
      const cell = make('td', { className }, ...[content].flat());
      // A row of one cell.
      if (cells.length === 1) cell.colSpan = head.length;
      cell.dataset.name = name;
      row.append(cell);
    }
    return row;
  });
  const names = head.map(([name, className]) => make('th', { scope: 'col', className }, name));
  table.replaceChildren(make('thead', {}, make('tr', {}, ...names)), make('tbody', {}, ...body));
}

/** Highlighted text for a problem. */
export const marked = (text, className) =>
  text === '' || className === '' ? text : make('strong', { className }, text);

/** By the rule of the first line: more than 1 % is an outage. */
const failingState = ({ perSecond, failedPerSecond }) =>
  failedPerSecond > 0.01 * perSecond ? 'bad' : warnIf(failedPerSecond > 0);

function failedOf(its) {
  const { perSecond, failedPerSecond } = its;
  const part = (100 * failedPerSecond) / perSecond;
  const shown = failedPerSecond > 0 ? ` (${part.toFixed(part < 10 ? 1 : 0)} %)` : '';
  return marked(`${rate(failedPerSecond)}${shown}`, failingState(its));
}

const RANKS = { bad: 0, warn: 1 };

/** The rows with problems first, otherwise in their order: a phone shows only some at once. */
export function worstFirst(rows, stateOf) {
  const rank = (row) => RANKS[stateOf(row)] ?? 2;
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

function breakerOf({ breakersOpenAt, breakersHalfOpenAt, notServedBy, closedDespite }, minimumKeys) {
  const words = [
    ['open at', breakersOpenAt, 'bad'],
    ['half-open at', breakersHalfOpenAt, ''],
    ['not served by', notServedBy, 'warn'],
  ].filter(([, names]) => names.length > 0);
  if (words.length > 0)
    return words.flatMap(([what, names, className], place) => [
      place > 0 ? '; ' : '',
      marked(`${what} ${names.join(', ')}`, className),
    ]);
  const why = {
    'few-keys': `closed, fewer than ${minimumKeys} keys`,
    'few-failures': 'closed, fewer than half fail',
    'not-counted': 'closed, these failures do not count',
  };
  return why[closedDespite] ?? 'closed';
}

/** The worst of an operation's failures and its breakers. */
export function operationState(its) {
  const failing = failingState(its);
  if (failing === 'bad' || its.breakersOpenAt.length > 0) return 'bad';
  return failing || warnIf(its.notServedBy.length > 0);
}

const OPERATION_COLUMNS = {
  Operation: '',
  'Requests/s': 'number',
  'Failed/s': 'number',
  'Hit ratio': 'number',
  'Latency, p99': 'number',
  'Circuit breaker': 'words',
};

/** Operations without requests are one row. */
export function showOperations({ operations, about }) {
  const used = operations.filter((its) => its.perSecond > 0);
  const idle = operations.length - used.length;
  const rows = worstFirst(used, operationState).map((its) => [
    marked(its.operation, failingState(its)),
    rate(its.perSecond),
    failedOf(its),
    percent(its.hitRatio),
    duration(its.p99Seconds),
    breakerOf(its, about.breakerMinimumKeys),
  ]);
  if (idle > 0) rows.push([`${idle} without requests`]);
  showTable('operations', OPERATION_COLUMNS, rows);
}

const INDEXER_STATES = {
  healthy: 'good',
  idle: '',
  unhealthy: 'bad',
  unreachable: 'bad',
  'lacks blocks': 'bad',
  'another chain': 'bad',
  'stands still': 'bad',
};

export const indexerState = ({ state }) => INDEXER_STATES[state] ?? 'warn';

const INDEXER_COLUMNS = {
  Indexer: '',
  State: '',
  'Newest block': 'number',
  Behind: 'number',
  'Slots in use': 'number',
  'Peak latency': 'number',
  'Requests/s': 'number',
  'Failed/s': 'number',
  'Status codes/s': 'words',
};

export function showIndexers({ upstreams }) {
  const rows = worstFirst(upstreams, indexerState).map((its) => [
    its.upstream,
    marked(its.isBackup ? `${its.state} (backup)` : its.state, indexerState(its)),
    blockOf(its.seqno, its.ageSeconds),
    its.lagBlocks === undefined ? '–' : `${whole(its.lagBlocks)} ${its.lagBlocks === 1 ? 'block' : 'blocks'}`,
    `${its.slotsInUse} of ${its.slotLimit}`,
    duration(its.peakSeconds),
    rate(its.perSecond),
    failedOf(its),
    statusesOf(its.statuses),
  ]);
  showTable('indexers', INDEXER_COLUMNS, rows);
}
