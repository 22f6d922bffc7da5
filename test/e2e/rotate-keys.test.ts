import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../../src/http/listen.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { asAdmin } from '../support/as-admin.ts';
import { runCommand } from '../support/command-output.ts';
import { commandsOf, readPage } from '../support/documented-commands.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { LEAST_RIGHTS } from '../support/redis-user.ts';
import { someNetwork } from '../support/some-network.ts';
import { unknownTransaction } from './questions.ts';

/** The page's commands for Redis: the words of each `redis-cli`. */
const TOLD = commandsOf(readPage('docs/how-to/rotate-keys.md'))
  .filter((command) => command.startsWith('redis-cli '))
  .map((command) =>
    execFileSync('/bin/sh', ['-c', `printf '%s\n' ${command.replace(/^redis-cli /, '')}`], { encoding: 'utf8' })
      .trim()
      .split('\n'),
  );

/** An indexer with keys, several of which may be valid. */
class KeyedIndexer {
  readonly valid = new Set(['old-key']);
  /** The key of each request to the indexer. */
  readonly keys: string[] = [];
  readonly #indexer: Indexer;
  readonly #gate: Server;
  readonly url: string;

  private constructor(indexer: Indexer, gate: Server, url: string) {
    this.#indexer = indexer;
    this.#gate = gate;
    this.url = url;
    gate.on('request', ({ url: target, headers }: IncomingMessage, response: ServerResponse) => {
      const key = String(headers['x-api-key']);
      this.keys.push(key);
      if (this.valid.has(key)) this.#pass(target ?? '', response);
      else response.writeHead(401, { 'Content-Type': 'application/json' }).end('{"error":"unknown key"}');
    });
  }

  static async start(): Promise<KeyedIndexer> {
    const gate = createServer();
    return new KeyedIndexer(await startIndexer(), gate, await listen(gate, '127.0.0.1', 0));
  }

  /** The newest block, which is a new one every 0.4 s. */
  get newestBlock(): string {
    return `/api/v3/masterchainBlockShards?seqno=${this.#indexer.chain.headSeqno - 2}`;
  }

  #pass(target: string, response: ServerResponse): void {
    void ask(this.#indexer.url, target).then(({ status, headers, text }) =>
      response.writeHead(status, { 'Content-Type': headers['content-type'] ?? '' }).end(text),
    );
  }

  async close(): Promise<void> {
    this.#gate.close();
    this.#gate.closeAllConnections();
    await this.#indexer.close();
  }
}

describe('a rotation of the key of the indexer and of the password of Redis, as in docs/how-to/rotate-keys.md', () => {
  let redis: RedisServer;
  let keyed: KeyedIndexer;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'toncache-'));
    redis = await startRedis({
      args: [
        ...['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
        ...['--user', 'toncache', 'on', '>old-password', ...LEAST_RIGHTS.split(' ')],
      ],
    });
    keyed = await KeyedIndexer.start();
  });
  afterEach(async () => {
    await keyed.close();
    await redis.stop();
    rmSync(folder, { recursive: true });
  });

  it('fails no request, while instances are replaced one after the other', async () => {
    const network = someNetwork();
    // The time that this load balancer may need to notice, on a machine that is busy.
    const file = join(folder, 'toncache.json');
    writeFileSync(file, JSON.stringify({ http: { shutdownDelay: '3s' } }));
    const environment = (which: 'old' | 'new') => ({
      UPSTREAM_URL: keyed.url,
      UPSTREAM_API_KEY: `${which}-key`,
      REDIS_URL: redis.url.replace('://', `://toncache:${which}-password@`),
      NETWORK: network,
      CONFIG_FILE: file,
    });
    const start = (which: 'old' | 'new') => ProxyProcess.start(environment(which));
    const triesOf = async (which: 'old' | 'new') =>
      (await runCommand(['check-config', '--connect'], { env: environment(which) })).code;

    /** The instances that get requests from the load balancer: those that are ready by their public port. */
    const instances = new Set<ProxyProcess>([await start('old'), await start('old')]);
    const ready = new Set(instances);
    const counted = { requests: 0, failed: [] as string[] };
    let isOver = false;
    const balance = async () => {
      while (!isOver) {
        for (const instance of instances) {
          const { status } = await ask(instance.url, '/readyz').catch(() => ({ status: 0 }));
          if (status === 200) ready.add(instance);
          else ready.delete(instance);
        }
        await delay(10);
      }
    };
    const load = async () => {
      for (let turn = 0; !isOver; turn++) {
        const to = [...ready];
        const instance = to[turn % to.length];
        if (instance === undefined) throw new Error('no instance is ready');
        const target = turn % 2 === 0 ? keyed.newestBlock : unknownTransaction();
        const { status } = await ask(instance.url, target).catch((error: unknown) => ({ status: String(error) }));
        counted.requests++;
        // A transaction that does not exist gets 404.
        if (status !== (turn % 2 === 0 ? 200 : 404)) counted.failed.push(`${status} ${target}`);
      }
    };
    const running = Promise.all([balance(), ...Array.from({ length: 4 }, load)]);
    const moreRequests = async (count: number) => {
      const until = counted.requests + count;
      await expect.poll(() => counted.requests).toBeGreaterThan(until);
    };
    const tell = (words: readonly string[] = []) =>
      asAdmin(redis, (admin) => admin.call(words[0] ?? '', ...words.slice(1)));

    await moreRequests(50);
    // 1 and 2: both secrets are valid, and the new ones are tried.
    expect(await triesOf('new')).toBe(69);
    keyed.valid.add('new-key');
    await tell(TOLD[0]);
    expect(await triesOf('new')).toBe(0);
    // 3: a rolling restart.
    for (const old of [...instances]) {
      const successor = await start('new');
      instances.add(successor);
      await expect.poll(() => ready.has(successor)).toBe(true);
      old.signal('SIGTERM');
      expect(await old.ended).toEqual({ code: 0, signal: null });
      instances.delete(old);
      await moreRequests(50);
    }
    // 4: the old secrets end. What is connected must be able to connect again.
    keyed.valid.delete('old-key');
    await tell(TOLD[1]);
    expect(await triesOf('old')).toBe(69);
    const asked = keyed.keys.length;
    await asAdmin(redis, (admin) => admin.call('client', 'kill', 'type', 'normal', 'skipme', 'yes'));
    await moreRequests(100);
    for (const instance of instances) {
      await expect.poll(async () => JSON.parse((await ask(instance.adminUrl, '/status.json')).text).redis).toBe('used');
    }
    isOver = true;
    await running;
    expect(counted.failed).toEqual([]);
    expect(keyed.keys.length).toBeGreaterThan(asked);
    expect(keyed.keys.slice(asked).filter((key) => key !== 'new-key')).toEqual([]);
    for (const instance of instances) await instance[Symbol.asyncDispose]();
  });
});
