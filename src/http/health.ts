/** A path for load balancers and orchestrators; the same on both ports. */
interface HealthPath {
  readonly answer: (isReady: boolean) => { readonly status: number; readonly body: { readonly status: string } };
}

/**
 * By path. `/readyz` fails only until the public port is open and during the shutdown. It does not fail without Redis
 * or the indexer: the cache still has answers, and removing every instance at once would help nobody.
 */
export const HEALTH: ReadonlyMap<string, HealthPath> = new Map([
  ['/healthz', { answer: () => ({ status: 200, body: { status: 'ok' } }) }],
  [
    '/readyz',
    {
      answer: (isReady: boolean) => ({
        status: isReady ? 200 : 503,
        body: { status: isReady ? 'ready' : 'shutting down' },
      }),
    },
  ],
]);
