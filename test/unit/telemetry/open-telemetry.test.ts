import { expect, it, vi } from 'vitest';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { OpenTelemetry } from '../../../src/telemetry/open-telemetry.ts';
import { startTraceCollector } from '../../support/trace-collector.ts';

it('logs when the collector stops to take spans and when it takes them again, once each', async () => {
  await using collector = await startTraceCollector();
  const lines: string[] = [];
  const tracing = new OpenTelemetry({
    endpoint: collector.url,
    sampler: 'always_on',
    sampledShare: 1,
    upstreamUrl: 'http://indexer:8081',
    logger: createLogger('info', { write: (line) => void lines.push(JSON.parse(line).msg) }),
  });
  for (const status of [200, 400, 400, 200, 200]) {
    collector.status = status;
    // So many are exported at once, without waiting for more.
    for (let count = 0; count < 512; count++) {
      const request = { method: 'GET', route: '/x', path: '/x', traceparent: undefined };
      tracing.startRequest(request).end(200, 'toncache; fwd=miss');
    }
    const posts = collector.paths.length;
    await vi.waitFor(() => expect(collector.paths.length).toBe(posts + 1), { timeout: 20_000, interval: 2 });
  }
  await tracing.close();
  expect(lines).toEqual([expect.stringMatching(/^traces are not exported/), 'traces are exported again']);
});
