import { Admission } from '../../../src/admission/admission.ts';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { Slots } from '../../../src/admission/slots.ts';
import { Routes } from '../../../src/fleet/routes.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { sentFor } from '../../support/sent-for.ts';
import { passTime, simulateClock } from '../../support/simulated-clock.ts';

const [REQUESTS, WORKERS] = [800, 20];
/** The requests are spread over this time: reading them takes this long. */
const WITHIN_MS = 150;
/** The default settings. */
const [SLOTS, PATIENCE_MS] = [64, 1500];

/**
 * Simulates a burst in front of 20 workers that take 10 to 30 ms. Turns of the event loop are delayed by up to 100 ms,
 * so arrivals and answers are noticed with a delay; the workers are not delayed. Returns the number of refused and served
 * requests, and the time of the last answer in milliseconds.
 */
export async function delayedBurst(seed: string): Promise<{ refused: number; served: number; lastedMs: number }> {
  const random = new SeededRandom(seed);
  simulateClock(() => 100 * random.next());
  const now = () => performance.now();
  const slots = new Slots({ now, max: SLOTS, shares: {}, patienceMs: PATIENCE_MS });
  const routes = new Routes(() => 0, [{ index: 0, isBackup: false, slots, rate: undefined, guards: new Map() }]);
  const waits = { patienceMs: PATIENCE_MS, shortPatienceMs: 100, maxWaiting: 10_000 };
  const admission = new Admission({ now, routes, memory: { refusesLoads: false }, ...waits });
  const freeAt = new Array<number>(WORKERS).fill(0);
  const work = () => {
    const worker = freeAt.indexOf(Math.min(...freeAt));
    const endsAt = Math.max(now(), freeAt[worker] ?? 0) + 10 + 20 * random.next();
    freeAt[worker] = endsAt;
    return new Promise<void>((resolve) => setTimeout(resolve, endsAt - now()));
  };
  const result = { refused: 0, served: 0, lastedMs: 0 };
  const ask = async (key: string) => {
    const ticket = await admission.enter({
      operation: 'any',
      key,
      clients: [key],
      ...FIRST_TRY,
      sentFor: sentFor(),
    });
    if ('reason' in ticket || ticket.send() !== 'go') {
      result.refused++;
      return;
    }
    await work();
    ticket.learn('answered');
    ticket.free();
    result.served++;
    result.lastedMs = now();
  };
  for (let n = 0; n < REQUESTS; n++) setTimeout(() => void ask(`key ${n}`), (WITHIN_MS * n) / REQUESTS);
  await passTime(4000);
  return result;
}
