import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { EVERY_CORE, freePort, PinnedProcess } from '../peers/pinned-process.ts';
import { findProgram } from '../peers/required-programs.ts';

const WORKERS = 20;
const SERVICE_MS = 100;
/** Of the slow one. */
const TEN_TIMES_MS = 10 * SERVICE_MS;
const HISTORY_MS = 10 * 60_000;

const chainOf = (startAt: number) => new Chain({ startAt, messagesPerBlock: 10, historyBlocks: 10_000 });

/** One of several equal indexers of 20 workers, which can be killed and started again. */
export class Member {
  readonly port: number;
  /** Requests for the operations that came to it. */
  asked = 0;
  readonly #startAt: number;
  #indexer: Indexer;

  private constructor(indexer: Indexer, startAt: number) {
    this.#indexer = indexer;
    this.port = indexer.port;
    this.#startAt = startAt;
    this.#begin();
  }

  static async start(startAt: number): Promise<Member> {
    return new Member(await startIndexer({ chain: chainOf(startAt) }), startAt);
  }

  get faults(): Indexer['faults'] {
    return this.#indexer.faults;
  }

  slow(): void {
    this.#setWorkers(TEN_TIMES_MS);
  }

  lag(ms: number): void {
    this.#indexer.replicas[0].lag(ms);
  }

  kill(): Promise<void> {
    return this.#indexer.close();
  }

  async revive(): Promise<void> {
    this.#indexer = await startIndexer({ chain: chainOf(this.#startAt), port: this.port });
    this.#begin();
  }

  #begin(): void {
    this.#setWorkers(SERVICE_MS);
    this.#indexer.requests.on('request', ({ operation }) => {
      if (operation !== 'masterchainInfo') this.asked++;
    });
  }

  #setWorkers(serviceMs: number): void {
    this.#indexer.faults.workers = { count: WORKERS, serviceMs };
  }
}

/** Starts so many equal indexers, and a chain that shows the truth. */
export async function startMembers(count: number): Promise<AsyncDisposable & { members: Member[]; chain: Chain }> {
  const startAt = Date.now() - HISTORY_MS;
  const members = await Promise.all(Array.from({ length: count }, () => Member.start(startAt)));
  const end = async () => void (await Promise.all(members.map((member) => member.kill())));
  return { members, chain: chainOf(startAt), [Symbol.asyncDispose]: end };
}

/** nginx as operators put it between: `least_conn`, and the next one after a failure. */
export async function startBalancer(ports: readonly number[]): Promise<AsyncDisposable & { readonly url: string }> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'toncache-balancer-'))).path;
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1; daemon off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_connect_timeout 1s; proxy_read_timeout 5s;
  proxy_next_upstream error timeout http_500 http_502 http_503 http_504 http_429;
  upstream indexers { least_conn; ${ports.map((each) => `server 127.0.0.1:${each};`).join(' ')} keepalive 64; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://indexers; } }
}
`,
  );
  stack.use(
    await PinnedProcess.start({
      ...{ cores: EVERY_CORE, program: await findProgram('nginx'), args: ['-p', folder, '-c', file, '-e', 'stderr'] },
      ...{ cwd: folder, environment: {}, port, logFile: join(folder, 'nginx.log') },
    }),
  );
  const started = stack.move();
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
