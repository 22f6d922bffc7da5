/** A path for load balancers and orchestrators; the same on both ports. */
interface HealthPath {
  readonly summary: string;
  /** The reasons of refusals, by status. */
  readonly refused: Readonly<Record<number, string>>;
  readonly answer: (isReady: boolean) => { readonly status: number; readonly body: { readonly status: string } };
}

/**
 * By path. `/readyz` fails only until the public port is open and during the shutdown. It does not fail without Redis
 * or the indexer: the cache still has answers, and removing every instance at once would help nobody.
 */
export const HEALTH: ReadonlyMap<string, HealthPath> = new Map([
  [
    '/healthz',
    {
      summary: 'Liveness: 200 while the process runs',
      refused: {},
      answer: () => ({ status: 200, body: { status: 'ok' } }),
    },
  ],
  [
    '/readyz',
    {
      summary: 'Readiness: 503 after a signal to end',
      refused: { 503: 'Not yet, or no more' },
      answer: (isReady: boolean) => ({
        status: isReady ? 200 : 503,
        body: { status: isReady ? 'ready' : 'shutting down' },
      }),
    },
  ],
]);
