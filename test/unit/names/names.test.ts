import { Socket } from 'node:net';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Names } from '../../../src/names/names.ts';
import * as shortage from '../../../src/shortage.ts';
import { FakeResolver } from '../../support/fake-resolver.ts';

const [A, B, V6] = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
const MINUTE_MS = 60_000;

let now: number;
let resolver: FakeResolver;
let names: Names;

beforeEach(() => {
  now = 0;
  resolver = new FakeResolver({ 'indexer.test': [A] });
  names = new Names(resolver.ask, () => now);
});

const find = async (host = 'indexer.test') => (await names.find(host)).map(({ address }) => address);

describe('a name', () => {
  it('is looked up once for all concurrent callers, and not again for 5 s', async () => {
    expect(await Promise.all(Array.from({ length: 60 }, () => find()))).toEqual(Array(60).fill([A]));
    now = 5000;
    expect(await find()).toEqual([A]);
    expect(resolver.asked).toHaveLength(1);
  });

  it('whose address changes is followed after 5 s', async () => {
    await find();
    resolver.say('indexer.test', [B]);
    now = 5001;
    expect(await find()).toEqual([B]);
    expect(resolver.asked).toHaveLength(2);
  });

  it('whose resolver hangs keeps its last good addresses for 5 minutes, with one look-up in this time', async () => {
    await find();
    resolver.say('indexer.test', 'silent');
    now = 5 * MINUTE_MS;
    for (let time = 0; time < 3; time++) expect(await find()).toEqual([A]);
    expect(resolver.asked).toHaveLength(2);
    now++;
    const found = find();
    resolver.say('indexer.test', [B]);
    expect(await found).toEqual([B]);
  });

  it('whose resolver fails keeps its last good addresses for 5 minutes', async () => {
    await find();
    resolver.say('indexer.test', 'EAI_AGAIN');
    now = 5 * MINUTE_MS;
    expect(await find()).toEqual([A]);
    now++;
    await expect(find()).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it.each(['ENOTFOUND', 'ENODATA'])(
    'that no longer exists is not used again, even if the resolver fails later: %s',
    async (code) => {
      await find();
      resolver.say('indexer.test', code);
      now = 10_001;
      await expect(find()).rejects.toMatchObject({ code });
      resolver.say('indexer.test', 'EAI_AGAIN');
      await expect(find()).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    },
  );

  it('whose only address failed is looked up immediately, and the failed address is not used meanwhile', async () => {
    await find();
    names.failed('indexer.test', [A]);
    resolver.say('indexer.test', 'EAI_AGAIN');
    await expect(find()).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    resolver.say('indexer.test', [A]);
    expect(await find()).toEqual([A]);
  });

  it('of which one address failed keeps the others, without a look-up', async () => {
    resolver.say('indexer.test', [V6, A, B]);
    expect(await find()).toEqual([V6, A, B]);
    names.failed('indexer.test', [V6, B]);
    expect(await find()).toEqual([A]);
    expect(resolver.asked).toHaveLength(1);
  });

  it('whose resolver hangs does not block other names, however often it is requested', async () => {
    resolver.say('hangs.test', 'silent');
    for (let time = 0; time < 10; time++) find('hangs.test').catch(() => {});
    expect(await find()).toEqual([A]);
    expect(resolver.asked).toEqual(['hangs.test', 'indexer.test']);
  });
});

describe('a machine without free descriptors', () => {
  const emfile = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });

  it('does not accept that a name does not exist, and keeps the last good address', async () => {
    await find();
    const files = vi.spyOn(shortage, 'shortageOfFiles').mockReturnValue(emfile);
    resolver.say('indexer.test', 'ENOTFOUND');
    now = 10_001;
    expect(await find()).toEqual([A]);
    await expect(find('other.test')).rejects.toBe(emfile);
    files.mockRestore();
    now = 20_002;
    await expect(find()).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it.each([
    ['EMFILE', emfile, 1],
    ['ECONNREFUSED', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 2],
  ])('after a Redis connection fails with %s, the look-ups of its name are %s in total', async (_, error, times) => {
    await find();
    const socket = new Socket().on('error', () => {});
    names.watch(socket, 'connect');
    socket.emit('lookup', null, A, 4, 'indexer.test');
    socket.destroy(error);
    await new Promise((resolve) => socket.once('close', resolve));
    await find();
    expect(resolver.asked).toHaveLength(times);
  });
});

it.each([
  [A, [A]],
  ['::1', ['::1']],
  ['localhost', ['127.0.0.1', '::1']],
])('%s is never looked up', async (host, addresses) => {
  expect(await find(host)).toEqual(addresses);
  expect(resolver.asked).toEqual([]);
});

describe('lookup', () => {
  const lookup = (options: object) =>
    new Promise((resolve) => names.lookup('indexer.test', options, (...outcome) => resolve(outcome)));

  beforeEach(() => resolver.say('indexer.test', [V6, A]));

  it.each([
    [
      { all: true },
      [
        null,
        [
          { address: V6, family: 6 },
          { address: A, family: 4 },
        ],
      ],
    ],
    [{ all: true, family: 4 }, [null, [{ address: A, family: 4 }]]],
    [{}, [null, V6, 6]],
    [{ family: 'IPv4' }, [null, A, 4]],
  ])('answers in each form that net.connect requests: %j', async (options, outcome) => {
    expect(await lookup(options)).toEqual(outcome);
  });

  it('fails if no address is of the requested family, and if the resolver fails', async () => {
    resolver.say('indexer.test', [A]);
    expect(await lookup({ family: 6 })).toEqual([expect.objectContaining({ code: 'ENOTFOUND' }), '']);
    now = 10_001;
    resolver.say('indexer.test', 'ENOTFOUND');
    expect(await lookup({ all: true })).toEqual([expect.objectContaining({ code: 'ENOTFOUND' }), '']);
  });
});
