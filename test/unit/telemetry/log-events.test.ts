import { beforeEach, describe, expect, it } from 'vitest';
import type { ProxyEvent } from '../../../src/proxy/events.ts';
import { EventLog } from '../../../src/telemetry/log-events.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const WARN = 40;
const INFO = 30;

let said: { readonly level: number; readonly msg: string }[];
let log: EventLog;

beforeEach(() => {
  said = [];
  log = new EventLog(createLogger('info', { write: (line) => void said.push(JSON.parse(line)) }));
});

function told(...events: readonly ProxyEvent[]): readonly number[] {
  for (const event of events) log.onProxyEvent(event);
  return said.map(({ level }) => level);
}

const opened: ProxyEvent = { name: 'breaker', operation: 'pendingTraces', state: 'open' };
const closed: ProxyEvent = { name: 'breaker', operation: 'pendingTraces', state: 'closed' };
const answered: ProxyEvent = { name: 'upstream-answered', operation: 'pendingTraces', status: 200, ms: 1 };
const useless: ProxyEvent = { name: 'upstream-useless', operation: 'pendingTraces', code: 'upstream-invalid' };

describe('the log', () => {
  it('says once that an operation is cut off, however many probes fail, and once that it is asked again', () => {
    expect(told(opened, opened, opened, closed, opened)).toEqual([WARN, INFO, WARN]);
  });

  it('tells the operations apart', () => {
    expect(told(opened, { ...opened, operation: 'adjacentTransactions' })).toEqual([WARN, WARN]);
  });

  it('takes an answer that is none for a failure, whatever its status, and once', () => {
    expect(told(answered, useless, answered, useless, answered, useless)).toEqual([WARN]);
    expect(said[0]).toMatchObject({ msg: 'the indexer fails', code: 'upstream-invalid' });
  });

  it('says when the failures are over', () => {
    expect(told(useless, ...Array.from({ length: 20 }, () => answered))).toEqual([WARN, INFO]);
  });

  it('says when a pause begins and ends', () => {
    expect(told({ name: 'pause', state: 'begun', ms: 1000 }, { name: 'pause', state: 'ended' })).toEqual([WARN, INFO]);
  });

  it('says when Redis does not count the rate, and when it does again', () => {
    expect(told({ name: 'rate-shared', shared: false }, { name: 'rate-shared', shared: true })).toEqual([WARN, INFO]);
  });
});
