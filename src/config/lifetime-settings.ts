import { duration, group, integer, setting } from './values.ts';

/** 0 would mean no cache, and without an upper bound a wrong answer could stay for ever. */
const lifetime = (byDefault: string, description: string) =>
  setting(duration('1ms', '30d').prefault(byDefault), description);

const window = (byDefault: string, description: string) =>
  setting(duration('0ms', '30d').prefault(byDefault), description);

function windows(whileRevalidate: string, ifError: string) {
  return {
    staleWhileRevalidate: window(
      whileRevalidate,
      'Time after its lifetime in which an answer is served while it is refreshed; at most the lifetime.',
    ),
    staleIfError: window(
      ifError,
      'Time after its lifetime in which an answer is served if the indexer fails or a request is shed.',
    ),
  };
}

type Times = readonly [lifetime: string, staleWhileRevalidate: string, staleIfError: string];

function rule(description: string, [fresh, ...stale]: Times) {
  return setting(
    group({ lifetime: lifetime(fresh, 'How long the answer is fresh.'), ...windows(...stale) }),
    description,
  );
}

/** `fraction`: the description of `ageDivisor`. */
const growing = (description: string, fraction: string) =>
  setting(
    group({
      minLifetime: lifetime('1s', 'The lower bound of the lifetime.'),
      maxLifetime: lifetime('1h', 'The upper bound of the lifetime.'),
      ageDivisor: setting(integer(1, 1000).prefault(10), fraction),
      ...windows('30s', '10min'),
    }).refine(({ minLifetime, maxLifetime }) => minLifetime <= maxLifetime, {
      error: 'minLifetime must not be longer than maxLifetime',
    }),
    description,
  );

/** The group `lifetimes`: a row for each kind of answer. */
export const lifetimes = setting(
  group({
    shardsFinal: rule('A complete block set: a masterchain block and its shard blocks.', ['24h', '10min', '24h']),
    shardsFinalPage: rule('A page of the blocks of a masterchain block.', ['10min', '10min', '1h']),
    shardsLive: rule('A list of blocks that may be incomplete.', ['400ms', '0s', '0s']),
    adjacentFinal: rule('The one parent of a transaction.', ['1h', '10min', '24h']),
    adjacentGrowing: growing(
      'Adjacent transactions that can gain children.',
      'Between these two, the lifetime is the age of the youngest child divided by this.',
    ),
    adjacentLive: rule('Adjacent transactions that are not final yet.', ['400ms', '0s', '2s']),
    byHashFinal: rule('A trace or transactions, found by a hash, that can gain nothing.', ['1h', '10min', '24h']),
    byHashGrowing: growing(
      'A trace or transactions, found by a hash, that can still gain rows or actions.',
      'Between these two, the lifetime is the age of the newest transaction divided by this.',
    ),
    byHashLive: rule('A trace or transactions, found by a hash, that may be incomplete.', ['400ms', '0s', '0s']),
    accountLive: rule('The state or the transactions of one account, unless blocks prove them.', ['400ms', '0s', '0s']),
    pendingFinalized: rule('Pending traces whose transactions are all final.', ['1s', '1s', '2s']),
    pendingLive: rule('Other pending traces.', ['400ms', '400ms', '2s']),
    head: rule('The newest masterchain block.', ['400ms', '400ms', '2s']),
    empty: rule('An empty list.', ['250ms', '0s', '0s']),
    emptyOfBlock: rule('An empty page of transactions of a masterchain block that is known to exist.', [
      '2s',
      '0s',
      '0s',
    ]),
    notFound: rule('A 404.', ['300ms', '0s', '0s']),
  }),
  'How long answers live, by kind (see the table of lifetimes).',
);
