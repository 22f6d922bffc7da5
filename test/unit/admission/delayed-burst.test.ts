import { expect, test } from 'vitest';
import { delayedBurst } from './delayed-burst.ts';
import { PATIENCE_MS, simulateTime } from './loads-on.ts';

simulateTime();

test('a burst that ends within the patience is served completely even if the event loop is delayed', async () => {
  for (let n = 0; n < 100; n++) {
    const { refused, served, lastedMs } = await delayedBurst(`burst ${n}`);
    expect([refused, served]).toEqual([0, 800]);
    expect(lastedMs).toBeLessThan(PATIENCE_MS);
  }
});
