import { FIRST_TRY } from '../admission/lane.ts';
import type { ExplainDependencies, ExplainedIndexer } from '../answer/explain.ts';
import { ProxyError } from '../errors.ts';
import { ofLoad } from '../fleet/lanes.ts';
import { isBelow, parseTarget } from '../http/parse-request.ts';
import { refusedTarget } from '../http/pass-through/pass-on.ts';
import { pathKey } from '../http/pass-through/passable-target.ts';
import { notServedAt, type ServedPaths, servedAt } from '../http/public/served-paths.ts';
import { STREAM_PATHS } from '../http/streaming/streaming.ts';
import { seqnoOf } from '../ton/parse-call.ts';
import type { OpenIndexers } from './indexers.ts';

/** How requests are explained that the cache does not answer. `joins`: true if equal passed-through requests are joined. */
export function explainers(
  { all, whyNot }: Pick<OpenIndexers, 'all' | 'whyNot'>,
  paths: ServedPaths,
  joins: boolean,
): Pick<ExplainDependencies, 'passed' | 'indexersFor'> {
  const named = (reasons: ReturnType<typeof whyNot>): ExplainedIndexer[] =>
    all.map(({ name }, index) => ({ name, ...(reasons[index] !== undefined && { whyNot: reasons[index] }) }));
  return {
    indexersFor: (call, key) =>
      named(whyNot({ operation: call.operation.name, key, clients: [], lane: ofLoad(false, seqnoOf(call)) })),
    passed: (target) => {
      const parsed = parseTarget(target);
      const refused = servedAt(parsed, paths).pass === undefined ? notServedAt(parsed, paths) : undefined;
      const wrong = refused ?? refusedTarget(target, paths.operations);
      if (wrong instanceof ProxyError) return wrong;
      const isStream = isBelow(STREAM_PATHS, parsed);
      const isJoined = joins && isBelow(['/api/v3/'], parsed);
      return {
        target,
        notCached: isJoined ? 'passed through, joined with equal requests' : 'passed through',
        indexers: isStream
          ? []
          : named(whyNot({ operation: 'passthrough', key: pathKey('GET', target), clients: [], lane: FIRST_TRY })),
      };
    },
  };
}
