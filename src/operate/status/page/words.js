/** A share, 0 to 1. */
export const percent = (part) => (part === undefined ? '–' : `${(part * 100).toFixed(1)} %`);

/** A rate, short enough for a tile. */
export const rate = (value) => (value < 100 ? value.toFixed(1) : whole(value));

/** A rate with at most three digits: `9.6`, `123`, `1.2k`. */
export function short(value) {
  const [size, unit] = [
    [1, ''],
    [1000, 'k'],
    [1_000_000, 'M'],
  ].find(([each]) => value < 999.5 * each) ?? [1_000_000, 'M'];
  return `${(value / size).toFixed(value / size < 99.95 ? 1 : 0)}${unit}`;
}

/** A share for people, 0 to 1, in whole percents: only all are 100 %. */
export const share = (part) => `${Math.floor(100 * part)} %`;

/** The requests of a flow that got no response. */
export const lostIn = ({ refused, failed }) => refused + failed;

/** A whole number. */
export const whole = (value) => Math.round(value).toLocaleString('en');

export function duration(seconds) {
  if (seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size < 0.995) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (size < 120) return `${Number(seconds.toFixed(1))} s`;
  return size < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** The savings of the last hour. Only answered requests are counted: without one, others may have failed. */
export function savedOf({ seconds, requests, saved, olderAnswers }) {
  const time = seconds > 3500 ? 'in the last hour' : `in the last ${duration(seconds)}`;
  if (requests === 0) return seconds < 1 ? 'Nothing has been answered yet.' : `Nothing was answered ${time}.`;
  const older = { 0: 'no response was', 1: '1 response was' }[olderAnswers] ?? `${whole(olderAnswers)} responses were`;
  return `Saved ${whole(saved)} of ${whole(requests)} requests ${time}; ${older} older than an earlier one.`;
}

/** A block with its age, if known. */
export function blockOf(seqno, ageSeconds) {
  if (seqno === undefined) return '–';
  const block = whole(seqno);
  if (ageSeconds === undefined) return block;
  return `${block}, ${ageSeconds < 0 ? `${duration(-ageSeconds)} ahead` : `${duration(ageSeconds)} old`}`;
}

/** The requests that wait for a slot, with their expected wait. */
export const queuedOf = ({ queued, expectedWaitSeconds }) =>
  queued === 0 ? '0' : `${whole(queued)}, for ${duration(expectedWaitSeconds)}`;

/** Without clients to show: they are sampled, so that a few may have been missed. */
export const noClientsOf = (hitRatio = 1) =>
  hitRatio === 1 ? 'Nothing queued; memory serves everything.' : 'Nothing queued.';

export function usedOf({ bytes, maxBytes }) {
  const [unit, size] = maxBytes < 10 * 2 ** 30 ? ['MiB', 2 ** 20] : ['GiB', 2 ** 30];
  return `${(bytes / size).toFixed(0)} of ${(maxBytes / size).toFixed(0)} ${unit}`;
}

export const redisOf = (redis) => ({ used: 'connected', failed: 'not used' })[redis] ?? redis;

/** The number of responses about accounts that are proven, and the block up to which; or the state without proof. */
export function proofOf(proof) {
  if (proof === undefined) return 'not configured';
  return proof.state === 'alive' ? `${whole(proof.entries)} to ${whole(proof.block)}` : proof.state;
}

export function freshnessOf(freshForMs) {
  if (freshForMs === undefined) return '–';
  return `${freshForMs > 0 ? 'fresh' : 'stale'} for ${duration(Math.abs(freshForMs) / 1000)}`;
}

/** The answers of an indexer a second: by status code, the most frequent first, and how requests failed without one. */
export const statusesOf = (statuses) =>
  Object.entries(statuses)
    .filter(([, perSecond]) => perSecond > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([status, perSecond]) => `${status.replace('upstream-', '')}: ${rate(perSecond)}`)
    .join(', ') || '–';

/** Without Redis a purge reaches only the process that serves the page. */
export const purgeQuestion = (named, redis) =>
  `Purge in ${redis === 'not configured' ? 'this instance' : 'all instances'}: ${JSON.stringify(named)}?`;

/** The first line of a page without new numbers. `at`: the instant of its last ones; `undefined` without any. */
export function lostOf(state, at) {
  const lost = state.startsWith('refused') ? state : 'Connection lost';
  if (at === undefined) return lost;
  return `${lost}; last update ${new Date(at).toLocaleTimeString('en-GB', { hourCycle: 'h23' })}`;
}
