import { z } from 'zod';
import { about, duration, integer } from './values.ts';

/** 0 would mean no cache, and without an upper bound a wrong answer could stay for ever. */
const lifetime = () => duration('1ms', '30d');
const window = () => duration('0ms', '30d');

function rule(description: string, times: { lifetime: string; memoryTtl: string; swr: string; sie: string }) {
  return z
    .strictObject({
      lifetime: lifetime().prefault(times.lifetime).meta(about('How long the answer is fresh.')),
      memoryTtl: window()
        .prefault(times.memoryTtl)
        .meta(about('How long a memory copy answers before Redis is asked again.')),
      staleWhileRevalidate: window()
        .prefault(times.swr)
        .meta(about('How long after that it is served while it is refreshed; at most the lifetime.')),
      staleIfError: window()
        .prefault(times.sie)
        .meta(about('How long after its lifetime it is served when the indexer fails or a request is shed.')),
    })
    .prefault({})
    .meta(about(description));
}

const growing = z
  .strictObject({
    shortestLifetime: lifetime().prefault('1s').meta(about('The lower bound of the lifetime.')),
    longestLifetime: lifetime().prefault('1h').meta(about('The upper bound of the lifetime.')),
    ageDivisor: integer(1, 1000)
      .prefault(10)
      .meta(about('Between these two, the lifetime is the age of the youngest child divided by this.')),
    memoryTtl: window().prefault('10min').meta(about('How long a memory copy answers before Redis is asked again.')),
    staleWhileRevalidate: window()
      .prefault('30s')
      .meta(about('How long after that it is served while it is refreshed; at most the lifetime.')),
    staleIfError: window()
      .prefault('10min')
      .meta(about('How long after its lifetime it is served when the indexer fails or a request is shed.')),
  })
  .refine(({ shortestLifetime, longestLifetime }) => shortestLifetime <= longestLifetime, {
    error: 'shortestLifetime must not be longer than longestLifetime',
  })
  .prefault({})
  .meta(about('Adjacent transactions that can gain children.'));

/** The group `lifetimes`: a row for each kind of answer. */
export const lifetimes = z
  .strictObject({
    shardsFinal: rule('A complete block set: a masterchain block and its shard blocks.', {
      lifetime: '24h',
      memoryTtl: '1h',
      swr: '10min',
      sie: '24h',
    }),
    shardsFinalPage: rule('A page of the blocks of a masterchain block.', {
      lifetime: '10min',
      memoryTtl: '10min',
      swr: '10min',
      sie: '1h',
    }),
    shardsLive: rule('A list of blocks that may be incomplete.', {
      lifetime: '400ms',
      memoryTtl: '400ms',
      swr: '0s',
      sie: '0s',
    }),
    adjacentFinal: rule('The one parent of a transaction.', {
      lifetime: '1h',
      memoryTtl: '10min',
      swr: '10min',
      sie: '24h',
    }),
    adjacentGrowing: growing,
    adjacentLive: rule('Adjacent transactions that are not final yet.', {
      lifetime: '400ms',
      memoryTtl: '400ms',
      swr: '0s',
      sie: '2s',
    }),
    pendingFinalized: rule('Traces all of whose transactions are final.', {
      lifetime: '1s',
      memoryTtl: '1s',
      swr: '1s',
      sie: '2s',
    }),
    pendingLive: rule('Traces under way.', { lifetime: '400ms', memoryTtl: '400ms', swr: '400ms', sie: '2s' }),
    empty: rule('An empty list.', { lifetime: '250ms', memoryTtl: '250ms', swr: '0s', sie: '0s' }),
    emptyWatched: duration('1ms', '10s')
      .prefault('2s')
      .meta(
        about(
          'How long an empty list of pending traces is fresh in memory, if clients poll its account and the stream announces the next trace; has no effect if it is shorter than the lifetime of an empty list.',
        ),
      ),
    notFound: rule('A 404.', { lifetime: '300ms', memoryTtl: '300ms', swr: '0s', sie: '0s' }),
  })
  .prefault({})
  .meta(about('How long answers live, by kind (see the table of lifetimes).'));
