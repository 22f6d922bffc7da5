import { expect, test } from 'vitest';
import { type RequestHandlerDependencies, requestHandlerWith } from '../../../src/answer/get.ts';
import type { AppEvent } from '../../../src/event-hub.ts';
import { anEntry, bodyOf } from '../../support/entry.ts';
import { callOf } from '../ton/requests.ts';

// The fast lane finds a hit, but cannot always send it in one piece. Then `handle` finds it again and counts it.
test('a hit in memory counts as requested when it is sent, not when it is found', () => {
  const entry = anEntry();
  const keyed = { call: callOf('masterchainBlockShards', 'seqno=1'), key: entry.key, unknownSpelling: undefined };
  const asked: string[] = [];
  const events: AppEvent[] = [];
  const used = {
    now: () => 0,
    calls: { recall: () => keyed },
    cache: { lookInMemory: () => ({ state: 'fresh', tier: 'memory', entry }) },
    gzip: { bodyFor: () => ({ coding: 'identity', body: bodyOf(entry), varies: false }) },
    onTouch: (key: string) => void asked.push(key),
    report: (event: AppEvent) => void events.push(event),
  };
  // The cast: a hit in memory needs only these dependencies of the handler.
  const handler = requestHandlerWith(used as unknown as RequestHandlerDependencies);
  const hit = handler.findHit('masterchainBlockShards?seqno=1', false);
  expect([asked, events]).toEqual([[], []]);
  if (hit === undefined) throw new Error('not found');
  handler.countHit(hit);
  expect(asked).toEqual([entry.key]);
  expect(events).toEqual([{ name: 'answered', operation: 'masterchainBlockShards', outcome: 'hit-memory' }]);
});
