import { launch } from '../support/launch.ts';

/** The real server, `src/main.ts`, in a process of its own. */
export interface ToncacheProcess extends AsyncDisposable {
  /** Of its public port. */
  readonly port: number;
  /** Requests to the indexer since it was started, by its own metrics. */
  upstreamRequests(): Promise<number>;
}

/** Starts a server with these environment settings on free ports; resolves when it is ready. */
export async function startToncache(environment: Readonly<Record<string, string>>): Promise<ToncacheProcess> {
  const settings = { PORT: '0', ADMIN_PORT: '0', NETWORK: 'bench', ...environment };
  const server = launch(new URL('../../src/main.ts', import.meta.url), { environment: settings });
  const { publicUrl, adminUrl } = await server.next((line) => {
    if (typeof line !== 'object' || line === null || !('publicUrl' in line) || !('adminUrl' in line)) return undefined;
    return { publicUrl: String(line.publicUrl), adminUrl: String(line.adminUrl) };
  });
  return {
    port: Number(new URL(publicUrl).port),
    upstreamRequests: async () => {
      const page = await (await fetch(`${adminUrl}/metrics`)).text();
      const counts = page.matchAll(/^toncache_upstream_requests_total\{.*\} (\S+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
