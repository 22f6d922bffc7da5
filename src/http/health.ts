interface HealthAnswer {
  readonly status: number;
  readonly body: { readonly status: string };
}

/**
 * The answers to load balancers and orchestrators, by path; the same on both ports. `/readyz` fails only until the public
 * port is open and during the shutdown. It does not fail without Redis or the indexer: the cache still has answers, and
 * removing every instance at once would help nobody.
 */
export const HEALTH: ReadonlyMap<string, (isReady: boolean) => HealthAnswer> = new Map([
  ['/healthz', () => ({ status: 200, body: { status: 'ok' } })],
  [
    '/readyz',
    (isReady: boolean) =>
      isReady ? { status: 200, body: { status: 'ready' } } : { status: 503, body: { status: 'shutting down' } },
  ],
]);
