import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { unknownTransaction } from '../e2e/questions.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { GarblingRedis, type IsGarbled } from './garbling-redis.ts';
import { GARBAGE_FORMS } from './redis-garbage-forms.ts';

interface Place {
  readonly isGarbled: IsGarbled;
  /** It is come by only when a connection is made. */
  readonly atConnect?: boolean;
  readonly unasked?: boolean;
}

const command = (...names: string[]): IsGarbled => {
  return (words) => names.every((name, index) => words[index]?.toUpperCase() === name);
};
const isScript: IsGarbled = ([name]) => /^evalsha$|^eval$/i.test(name ?? '');
const isStore: IsGarbled = (words) => isScript(words) && words.some((word) => word.startsWith('TNC'));
const scriptOn = (part: string): IsGarbled => {
  return (words) => isScript(words) && !isStore(words) && words.slice(3).some((word) => word.includes(part));
};

const PLACES: Readonly<Record<string, Place>> = {
  HELLO: { isGarbled: command('HELLO'), atConnect: true },
  CLIENT: { isGarbled: command('CLIENT'), atConnect: true },
  INFO: { isGarbled: command('INFO'), atConnect: true },
  GET: { isGarbled: command('GET') },
  'the script of purges': { isGarbled: scriptOn('toncache:bans') },
  'the scripts of leases': { isGarbled: scriptOn(':lease') },
  'the script of stores': { isGarbled: isStore },
  'no command at all': { isGarbled: () => false, unasked: true },
};

let dir: string;
let configFile: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'toncache-garbage-'));
  configFile = join(dir, 'impatient.json');
  // Garbage that is the beginning of a reply is waited for until the command times out.
  const redis = { retryAfter: '50ms', commandTimeout: '500ms', connectTimeout: '500ms' };
  await writeFile(configFile, JSON.stringify({ redis }));
});

afterAll(() => rm(dir, { recursive: true }));

/** A process before a Redis that garbles, and all that it takes. */
class GarbledWorld implements AsyncDisposable {
  readonly redis: RedisServer;
  readonly garbling: GarblingRedis;
  readonly #indexer: Indexer;
  readonly #url: string;
  proxy: ProxyProcess;

  private constructor(redis: RedisServer, garbling: GarblingRedis, indexer: Indexer, url: string) {
    this.redis = redis;
    this.garbling = garbling;
    this.#indexer = indexer;
    this.#url = url;
    this.proxy = this.#launch();
  }

  static async start(): Promise<GarbledWorld> {
    const redis = await startRedis();
    const garbling = await GarblingRedis.start(redis.port);
    return new GarbledWorld(redis, garbling, await startIndexer(), garbling.url);
  }

  /** Starts the process again. */
  async restart(): Promise<void> {
    await this.proxy[Symbol.asyncDispose]();
    this.proxy = this.#launch();
    await this.proxy.untilLogged('toncache is ready');
  }

  /** What was never asked for is answered, whatever Redis does. */
  async askAnew(): Promise<void> {
    expect((await ask(this.proxy.url, unknownTransaction())).status).toBe(404);
  }

  /** Until Redis is read and written. */
  async untilUsed(): Promise<void> {
    const [reads, writes] = await this.#goodCalls();
    await vi.waitFor(
      async () => {
        await this.askAnew();
        const [readsNow = 0, writesNow = 0] = await this.#goodCalls();
        expect([readsNow > (reads ?? 0), writesNow > (writes ?? 0)]).toEqual([true, true]);
      },
      { timeout: 60_000, interval: 20 },
    );
  }

  #goodCalls(): Promise<number[]> {
    const calls = [
      { call: 'read', outcome: 'absent' },
      { call: 'write', outcome: 'stored' },
    ];
    return Promise.all(calls.map((labels) => this.proxy.metric('toncache_redis_calls_total', labels)));
  }

  #launch(): ProxyProcess {
    const environment = { UPSTREAM_URL: this.#indexer.url, REDIS_URL: this.#url, NETWORK: 'garbage' };
    return new ProxyProcess({ ...environment, CONFIG_FILE: configFile });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]();
    await this.#indexer.close();
    await this.garbling[Symbol.asyncDispose]();
    await this.redis.stop();
  }
}

describe.concurrent('a Redis that answers', { timeout: 600_000 }, () => {
  it.each(Object.entries(PLACES))('%s with garbage is a lost connection, in every form', async (_, place) => {
    await using world = await GarbledWorld.start();
    await world.proxy.untilLogged('toncache is ready');
    await world.untilUsed();
    const failures: string[] = [];
    for (const [form, bytes] of Object.entries(GARBAGE_FORMS)) {
      try {
        const { garbled } = world.garbling;
        world.garbling.garble({ bytes, isGarbled: place.isGarbled, unasked: place.unasked ?? false });
        if (place.atConnect) world.garbling.cutAll();
        while (world.garbling.garbled === garbled) await world.askAnew();
        for (let time = 0; time < 5; time++) await world.askAnew();
        world.garbling.garble();
        await world.untilUsed();
        expect(world.proxy.errors).toBe('');
      } catch (error) {
        failures.push(`${form}: ${world.proxy.errors || error}`);
        await world.restart();
      }
    }
    expect(failures).toEqual([]);
  });

  it.each(Object.entries(GARBAGE_FORMS))(
    'everything from the start on with %s is used once it answers properly',
    async (_, bytes) => {
      await using world = await GarbledWorld.start();
      world.garbling.garble({ bytes, isGarbled: () => true });
      await world.proxy.untilLogged('toncache is ready');
      for (let time = 0; time < 5; time++) await world.askAnew();
      world.garbling.garble();
      await world.untilUsed();
      expect(world.proxy.errors).toBe('');
    },
  );
});
