import { type Launched, launch } from './launch.ts';

/** What the server used and did since it was started, by its own metrics. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly upstreamRequests: number;
}

/** The real server, `src/main.ts`, in a process of its own. */
export class ToncacheProcess implements AsyncDisposable {
  readonly url: string;
  readonly #adminUrl: string;
  readonly #process: Launched;

  constructor(process: Launched, urls: { readonly publicUrl: string; readonly adminUrl: string }) {
    this.#process = process;
    this.url = urls.publicUrl;
    this.#adminUrl = urls.adminUrl;
  }

  get pid(): number {
    return this.#process.pid;
  }

  async usage(): Promise<Usage> {
    const page = await (await fetch(`${this.#adminUrl}/metrics`)).text();
    const asked = page.matchAll(/^toncache_upstream_requests_total\{.*\} (\S+)$/gm);
    const upstreamRequests = [...asked].reduce((sum, [, count]) => sum + Number(count), 0);
    return {
      cpuSeconds: Number(/^toncache_process_cpu_seconds_total (\S+)$/m.exec(page)?.[1]),
      upstreamRequests,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]();
  }
}

/** Starts a server with these environment settings on free ports; resolves when it is ready. */
export async function startToncache(
  environment: Readonly<Record<string, string>>,
  nodeArgs: readonly string[] = [],
): Promise<ToncacheProcess> {
  const settings = { PORT: '0', ADMIN_PORT: '0', NETWORK: 'bench', ...environment };
  const process = launch(new URL('../../src/main.ts', import.meta.url), { environment: settings, nodeArgs });
  const urls = await process.next((line) => {
    if (typeof line !== 'object' || line === null || !('publicUrl' in line) || !('adminUrl' in line)) return undefined;
    return { publicUrl: String(line.publicUrl), adminUrl: String(line.adminUrl) };
  });
  return new ToncacheProcess(process, urls);
}
