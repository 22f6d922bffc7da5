import { beforeEach, describe, expect, it } from 'vitest';
import type { AppEvent } from '../../../src/event-hub.ts';
import { EventHub } from '../../../src/event-hub.ts';
import { logEvents } from '../../../src/operate/log-events.ts';
import { createLogger } from '../../../src/operate/logger.ts';

const WARN = 'warn';

let said: { readonly level: string; readonly msg: string }[];
let events: EventHub;
let now: number;

beforeEach(() => {
  said = [];
  now = 0;
  events = new EventHub();
  logEvents(createLogger('info', { write: (line) => void said.push(JSON.parse(line)) }), () => now, events);
});

function levelsOf(...reported: readonly AppEvent[]): readonly string[] {
  for (const event of reported) events.report(event);
  return said.map(({ level }) => level);
}

const indexer = 'indexer:8081';
const answered: Extract<AppEvent, { name: 'upstream-answered' }> = {
  name: 'upstream-answered',
  indexer,
  operation: 'pendingTraces',
  status: 200,
  ms: 1,
};
describe('the log', () => {
  it('reports keys with 429 once a minute, without accounts and secrets, whatever other answers come in between', () => {
    const secret = 'f'.repeat(64);
    const ofPath = {
      name: 'key-paused',
      indexer,
      key: `GET /api/v3/top/${secret}/all`,
      isCached: false,
      ms: 1,
      says: '429: quota',
    } as const;
    const ofKey = { ...ofPath, key: `mainnet adjacentTransactions?hash=${secret}`, isCached: true };
    const good = new Array(20).fill(answered);
    expect(levelsOf(ofPath, ...good, ofKey, ...good, ofPath)).toEqual([WARN]);
    now = 60_000;
    expect(levelsOf(ofKey)).toEqual([WARN, WARN]);
    expect(said).toEqual([
      expect.objectContaining({
        path: 'GET /api/v3/top/…/all',
        upstreamMessage: '429: quota',
        msg: expect.stringContaining('429 for one key or path'),
      }),
      expect.objectContaining({ key: expect.stringMatching(/^.{16}$/) }),
    ]);
    expect(JSON.stringify(said)).not.toContain(secret);
  });
});
