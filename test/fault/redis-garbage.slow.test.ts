import { describe, expect, it, vi } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { unknownTransaction } from '../e2e/questions.ts';
import { constantsInEnvironment } from '../support/constants-in-environment.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { GarblingRedis, type IsGarbled } from './garbling-redis.ts';
import { GARBAGE_FORMS } from './redis-garbage-forms.ts';

interface Place {
  readonly isGarbled: IsGarbled;
  /** Redis sends this reply only when a connection is opened. */
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

/** If the garbage is the beginning of a valid reply, the command ends by its timeout. */
const IMPATIENT = constantsInEnvironment({ redis: { openDuration: 50, commandTimeout: 500, connectTimeout: 500 } });

/** A process in front of a Redis that sends garbage, and the resources of both. */
async function startGarbled() {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const garbling = stack.use(await GarblingRedis.start(redis.port));
  const indexer = await startIndexer();
  stack.defer(() => indexer.close());
  const environment = { UPSTREAM_URL: indexer.url, REDIS_URL: garbling.url, NETWORK: 'garbage' };
  const proxy = stack.use(new ProxyProcess({ ...environment, ...IMPATIENT }));
  const calls = (labels: Record<string, string>) => proxy.metric('toncache_redis_calls_total', labels);
  const goodCalls = () =>
    Promise.all([calls({ call: 'read', outcome: 'absent' }), calls({ call: 'write', outcome: 'stored' })]);
  /** A new key gets an answer in every state of Redis. */
  const askAnew = async () => expect((await ask(proxy.url, unknownTransaction())).status).toBe(404);
  /** Resolves when Redis has answered a read and a write. */
  const untilUsed = async () => {
    const [reads, writes] = await goodCalls();
    await vi.waitFor(
      async () => {
        await askAnew();
        const [readsNow, writesNow] = await goodCalls();
        expect([readsNow > reads, writesNow > writes]).toEqual([true, true]);
      },
      { timeout: 60_000, interval: 20 },
    );
  };
  const started = stack.move();
  return { garbling, proxy, askAnew, untilUsed, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

describe.concurrent('a Redis that answers', { timeout: 600_000 }, () => {
  it.each(Object.entries(PLACES))(
    '%s with garbage, in every form, is used again once it answers properly',
    async (_, place) => {
      await using world = await startGarbled();
      const { garbling, proxy, askAnew, untilUsed } = world;
      await proxy.untilLogged('toncache is ready');
      await untilUsed();
      const garble = async (bytes: string) => {
        const { garbled } = garbling;
        garbling.garble({ bytes, isGarbled: place.isGarbled, unasked: place.unasked ?? false });
        if (place.atConnect) garbling.cutAll();
        while (garbling.garbled === garbled) await askAnew();
        for (let time = 0; time < 5; time++) await askAnew();
        garbling.garble();
        await untilUsed();
      };
      for (const [form, bytes] of Object.entries(GARBAGE_FORMS)) {
        await garble(bytes).catch((cause: unknown) => expect.fail(`${form}: ${cause}\n${proxy.errors}`));
        expect([form, proxy.errors]).toEqual([form, '']);
      }
    },
  );

  it.each(Object.entries(GARBAGE_FORMS))(
    'everything with %s from the start is used once it answers properly',
    async (_, bytes) => {
      await using world = await startGarbled();
      world.garbling.garble({ bytes, isGarbled: () => true });
      await world.proxy.untilLogged('toncache is ready');
      for (let time = 0; time < 5; time++) await world.askAnew();
      world.garbling.garble();
      await world.untilUsed();
      expect(world.proxy.errors).toBe('');
    },
  );
});
