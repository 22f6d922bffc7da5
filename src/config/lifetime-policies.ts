import type { Settings } from './schema.ts';

type Times = Settings['lifetimes']['shardsFinal'];

/** The table of lifetimes in the words of those who use it: the settings are written for people. */
export function policiesOf({ lifetimes }: Settings) {
  const windows = ({ memoryTtl, staleWhileRevalidate, staleIfError }: Omit<Times, 'lifetime'>) => ({
    memoryTtlMs: memoryTtl,
    staleWhileRevalidateMs: staleWhileRevalidate,
    staleIfErrorMs: staleIfError,
  });
  const policy = (times: Times) => ({ lifetimeMs: times.lifetime, ...windows(times) });
  const { adjacentGrowing } = lifetimes;
  return {
    shardsFinal: policy(lifetimes.shardsFinal),
    shardsFinalPage: policy(lifetimes.shardsFinalPage),
    shardsLive: policy(lifetimes.shardsLive),
    adjacentFinal: policy(lifetimes.adjacentFinal),
    adjacentLive: policy(lifetimes.adjacentLive),
    pendingFinalized: policy(lifetimes.pendingFinalized),
    pendingLive: policy(lifetimes.pendingLive),
    empty: policy(lifetimes.empty),
    notFound: policy(lifetimes.notFound),
    adjacentGrowing: {
      ...windows(adjacentGrowing),
      shortestLifetimeMs: adjacentGrowing.shortestLifetime,
      longestLifetimeMs: adjacentGrowing.longestLifetime,
      ageDivisor: adjacentGrowing.ageDivisor,
    },
  };
}
