import { type Counted, NOW_MS, type Span } from '../../tell/counted.ts';

/** Each part of the requests of clients, in the order of the page: each request is in exactly one. */
const PARTS = {
  memory: ({ all }) => all['hit-memory'],
  proven: ({ all }) => all['hit-proven'],
  redis: ({ all }) => all['hit-redis'],
  joined: ({ all }) => all.collapsed,
  stale: ({ all }) => all.stale,
  /** Sent to an indexer, which answered. */
  sentOn: ({ all }) => all.miss,
  refused: ({ refused }) => refused,
  failed: ({ failed }) => failed,
} as const satisfies Record<string, (span: Span) => number>;

type Part = keyof typeof PARTS;

/**
 * The way of the requests of the last 10 s, as counts: from clients, by {@link PARTS}, to the indexers. `seconds`: the
 * time that was counted, less than 10 after the start. Requests with mistakes of clients are not in it.
 */
export function flowOf(counted: Pick<Counted, 'within'>, indexers: readonly { readonly name: string }[]) {
  const span = counted.within(NOW_MS);
  const { sendable, seconds } = span;
  const counts = Object.entries(PARTS).map(([part, count]) => [part, count(span)] as const);
  // The cast: its members are those of PARTS.
  const parts = Object.fromEntries(counts) as Readonly<Record<Part, number>>;
  const sent = indexers.map(({ name: upstream }) => {
    const its = span.upstream(upstream);
    return { upstream, requests: its.all, failed: its.all - its.allGood };
  });
  const toIndexers = sent.reduce((sum, { requests }) => sum + requests, 0);
  return {
    seconds,
    /** The sum of the parts: all that were answered or should have been. */
    clients: span.clients,
    parts,
    indexers: sent,
    /** The requests of toncache itself: head polls, blocks, refreshes, retries. A stream has a server of its own. */
    own: Math.max(0, toIndexers - sendable.miss),
  };
}
