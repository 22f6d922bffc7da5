const words = (ms) => {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 120_000) return `${Number((ms / 1000).toFixed(1))} s`;
  return size < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Number((ms / 3_600_000).toFixed(1))} h`;
};

function cached(answer) {
  if (typeof answer === 'string') return answer;
  const { answerClass, state, ageMs, freshForMs, usableForMs, status, indexer, bodyBytes } = answer;
  const left = freshForMs > 0 ? `fresh for ${words(freshForMs)}` : `${state}, usable for ${words(usableForMs)}`;
  const by = indexer === undefined ? '' : ` by ${indexer}`;
  return `${answerClass}, ${left}, asked for ${words(ageMs)} ago${by}, status ${status}, ${bodyBytes} bytes`;
}

function lifetime({ rule, lifetime: fixed, shortestLifetime, longestLifetime, ageDivisor }) {
  const lives =
    fixed === undefined ? `${words(shortestLifetime)} to ${words(longestLifetime)}, age / ${ageDivisor}` : words(fixed);
  return ['can live', `${rule}: ${lives}`];
}

/** What `/explain` said, as rows of two texts. */
export function explanationRows({ error, target, headers, key, dropped, memory, redis, lifetimes }) {
  if (error !== undefined) return [['refused', error]];
  return [
    ['asks', target],
    ...Object.entries(headers).map(([name, value]) => ['with', `${name}: ${value}`]),
    ['key', key],
    ...dropped.map(({ input, why }) => ['drops', `${input} (${why})`]),
    ['memory', cached(memory)],
    ['redis', cached(redis)],
    ...lifetimes.map(lifetime),
  ];
}

/** What a purge must name to end the answers to a request; `undefined` for one that names nothing that can be purged. */
export function purgeOf(request) {
  const query = new URLSearchParams(request.slice(request.indexOf('?') + 1).replaceAll('+', '%2B'));
  const seqno = query.get('seqno');
  if (seqno !== null) return { seqno: Number(seqno) };
  const account = query.get('account');
  if (account !== null) return { account };
  const hash = query.get('hash') ?? query.get('ext_msg_hash');
  return hash === null ? undefined : { hash };
}
