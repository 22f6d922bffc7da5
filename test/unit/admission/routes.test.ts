import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Admission, type Entered } from '../../../src/admission/admission.ts';
import { Backlog } from '../../../src/admission/backlog.ts';
import { RateLimit } from '../../../src/admission/rate-limit.ts';
import { type Route, Routes } from '../../../src/admission/routes.ts';
import { Slots } from '../../../src/admission/slots.ts';
import { sentFor } from '../../support/sent-for.ts';
import { MUCH_MEMORY, PATIENCE_MS } from './open-admission.ts';

const now = () => performance.now();
const asking = { operation: 'any', key: 'key', clients: ['one'], sentFor: sentFor() };

/** A replica, and a backup. The rate of the replica lets one request pass in ten seconds. */
function open(): Admission {
  const route = (index: number, isBackup: boolean): Route => ({
    index,
    isBackup,
    slots: new Slots({ now, max: 4, shares: {}, patienceMs: PATIENCE_MS }),
    rate: isBackup ? undefined : new RateLimit({ now, perSecond: 0.1 }),
    guards: new Map(),
  });
  const routes = new Routes(() => 0, [route(0, false), route(1, true)]);
  const backlog = new Backlog({ routes, patienceMs: PATIENCE_MS, shortPatienceMs: 100, maxWaiting: 10 });
  return new Admission({ routes, backlog, memory: MUCH_MEMORY, patienceMs: PATIENCE_MS });
}

const placeOf = (entered: Entered) =>
  typeof entered === 'object' && 'route' in entered ? entered.route.index : entered;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('a client that would wait too long for the rate of the replica is sent to the backup, a refresh is not', async () => {
  const admission = open();
  const first = await admission.enter(asking);
  expect(placeOf(first)).toBe(0);
  if (typeof first === 'object' && 'send' in first) await first.send();
  expect(placeOf(await admission.enter(asking))).toBe(1);
  const refresh = { ...asking, clients: [], neverWaits: true };
  expect(await admission.enter(refresh)).toMatchObject({ reason: 'rate-limit' });
});
