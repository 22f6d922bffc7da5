import type { Socket } from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ClientStreams, type ClientStreamsOptions, type Place } from '../../../src/http/streaming/client-streams.ts';

const KIB = 1024;

/** One side of a stream, whose other end takes bytes only when the test lets it. */
class Side extends Duplex {
  bytesWritten = 0;
  received = '';
  isReset = false;
  probesAfterMs: number | undefined;
  #taken: (() => void) | undefined;
  #isReading = false;

  /** Takes at most this many writes; without a number each one from now on. */
  async takes(writes = Number.POSITIVE_INFINITY): Promise<void> {
    this.#isReading = writes === Number.POSITIVE_INFINITY;
    for (let write = 0; write < writes && this.#taken !== undefined; write++) {
      this.#taken();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  override _read(): void {}

  override _write(bytes: Buffer, _: string, done: () => void): void {
    this.bytesWritten += bytes.length;
    const take = () => {
      this.#taken = undefined;
      this.received += bytes.toString();
      done();
    };
    if (this.#isReading) take();
    else this.#taken = take;
  }

  setKeepAlive(_: boolean, delayMs: number): this {
    this.probesAfterMs = delayMs;
    return this;
  }

  resetAndDestroy(): void {
    this.isReset = true;
    this.destroy();
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }
}

/** The response of Node's HTTP server, without HTTP. */
class Response extends Side {
  readonly req = { socket: this };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

const settle = () => new Promise((resolve) => setImmediate(resolve));

function openStreams(options: Partial<ClientStreamsOptions> = {}) {
  const ended: string[] = [];
  const most = { most: 64, mostPerClient: 8, mostWaitingBytes: 1024 * KIB };
  const onEnd = (kind: string, reason: string) => void ended.push(`${kind} ${reason}`);
  const streams = new ClientStreams({ ...most, onEnd, ...options });
  onTestFinished(() => streams.close());
  const placeOf = (client: string): Place => ({ client });
  return {
    streams,
    ended,
    take: (client: string) => streams.take(placeOf(client)),
    /** Takes a place for a request that waits for its server, and gives it back. */
    ask: (client: string) => {
      const place = placeOf(client);
      const refusal = streams.take(place);
      return { refusal, place, give: () => streams.give(place) };
    },
    /** Opens a WebSocket in a place of its own. */
    open: (client = 'a') => {
      const place = placeOf(client);
      expect(streams.take(place)).toBeUndefined();
      const [side, server] = [new Side(), new Side()];
      const sides = { client: side as unknown as Socket, upstream: server as unknown as Socket };
      streams.join(place, { kind: 'websocket', ...sides }, true);
      return { client: side, server };
    },
    openOther: (kind: 'sse' | 'answer', isComplete = () => true, isAccepted = true, taken?: Place) => {
      const place = taken ?? placeOf('a');
      if (taken === undefined) streams.take(place);
      const [client, server] = [new Response(), new PassThrough()];
      streams.join(place, { kind, client: client as never, upstream: server, isComplete }, isAccepted);
      return { client, server };
    },
  };
}

/** Lets the streams look this many times, once a second. */
async function look(seconds: number): Promise<void> {
  vi.advanceTimersByTime(1000 * seconds);
  await settle();
}

describe.each(['websocket', 'sse', 'answer'] as const)('the client of a stream (%s)', (kind) => {
  const openOne = (world: ReturnType<typeof openStreams>) =>
    kind === 'websocket' ? world.open() : world.openOther(kind);

  it('is cut when bytes wait and it has taken none of them for 10 s', async () => {
    const world = openStreams();
    const { client, server } = openOne(world);
    server.push('x'.repeat(300 * KIB));
    await settle();
    await look(10);
    expect(client.isReset).toBe(false);
    await look(1);
    expect(client.isReset).toBe(true);
    expect(server.destroyed).toBe(true);
    expect(world.ended).toEqual([`${kind} slow`]);
  });

  it('is kept while it takes 16 KiB in 10 s, and gets every byte', async () => {
    const world = openStreams();
    const { client, server } = openOne(world);
    const event = 'event123'.repeat(10 * KIB);
    server.push(event);
    await settle();
    for (let write = 0; write < 5; write++) {
      await look(10);
      await client.takes(1);
    }
    expect(client.received).toBe(event);
    expect(world.ended).toEqual([]);
  });

  it('gets the bytes that wait when the server ends the stream, however long it takes them', async () => {
    const world = openStreams();
    const { client, server } = openOne(world);
    const event = 'y'.repeat(160 * KIB);
    server.push(event);
    await settle();
    server.destroy();
    for (let write = 0; write < 10; write++) {
      await look(9);
      expect(client.closed).toBe(false);
      await client.takes(1);
    }
    await client.takes();
    await settle();
    expect(client.received).toBe(event);
    expect(client.writableEnded).toBe(true);
    expect(client.isReset).toBe(false);
  });
});

describe('the bytes that wait in all streams together', () => {
  it('cut the stream with most of them when they are too many', async () => {
    const { open, ended } = openStreams({ mostWaitingBytes: 100 * KIB });
    const [most, more, less] = [open(), open(), open()];
    const push = async ({ server }: typeof most, kib: number) => {
      server.push('x'.repeat(kib * KIB));
      await settle();
    };
    await push(most, 50);
    await push(more, 40);
    await push(less, 10);
    expect(ended).toEqual([]);
    await push(less, 1);
    expect([most, more, less].map(({ client }) => client.isReset)).toEqual([true, false, false]);
    await push(less, 49);
    await push(more, 11);
    expect([more.client.isReset, less.client.isReset]).toEqual([false, true]);
    expect(ended).toEqual(['websocket slow', 'websocket slow']);
  });

  it('count until a client has taken them', async () => {
    const { open, ended } = openStreams({ mostWaitingBytes: 100 * KIB });
    const { client, server } = open();
    for (let time = 0; time < 20; time++) {
      server.push('x'.repeat(80 * KIB));
      await settle();
      await client.takes(5);
    }
    expect(client.received.length).toBe(20 * 80 * KIB);
    expect(ended).toEqual([]);
  });
});

describe('a silent stream', () => {
  it('is kept if it is a WebSocket, and the system probes both of its connections after 30 s', async () => {
    const { open, ended } = openStreams();
    const { client, server } = open();
    await look(3600);
    expect([client.probesAfterMs, server.probesAfterMs]).toEqual([30_000, 30_000]);
    expect(ended).toEqual([]);
  });

  it('is cut after 60 s if it is an event stream', async () => {
    const { openOther, ended } = openStreams();
    const { client, server } = openOther('sse');
    await client.takes();
    await look(60);
    server.push(': comment\n\n');
    await look(60);
    expect(ended).toEqual([]);
    await look(1);
    expect(ended).toEqual(['sse idle']);
  });
});

describe('a place that is needed', () => {
  const refused = { reason: 'streams-full', retryAfterMs: 0 };
  const speak = async ({ client }: { readonly client: Side }) => {
    client.push('ping');
    await settle();
  };

  it('is that of the WebSocket whose client has been silent longest, above 60 s', async () => {
    const { open, ended } = openStreams({ most: 3 });
    const [first, second, third] = [open('a'), open('b'), open('c')];
    await look(1);
    await speak(first);
    await look(60);
    await speak(third);
    open('d');
    expect([first, second, third].map(({ client }) => client.destroyed)).toEqual([false, true, false]);
    await look(1);
    open('d');
    await settle();
    expect(first.client.destroyed).toBe(true);
    expect(first.server.destroyed).toBe(true);
    expect(ended).toEqual(['websocket idle', 'websocket idle']);
  });

  it('is one of the same client if that client has its maximum', async () => {
    const { open } = openStreams({ mostPerClient: 2 });
    const [other, first, second] = [open('b'), open('a'), open('a')];
    await look(61);
    await speak(first);
    open('a');
    expect([other, first, second].map(({ client }) => client.destroyed)).toEqual([false, false, true]);
  });

  it('is free for each limit at once if one silent stream counts for several', async () => {
    const { open } = openStreams({ most: 3, mostPerClient: 2 });
    const other = open('b');
    await look(1);
    const [first, second] = [open('a'), open('a')];
    await look(61);
    open('a');
    expect([other, first, second].map(({ client }) => client.destroyed)).toEqual([false, true, false]);
  });

  it('is not that of a silent one as long as the server has not accepted the new stream', async () => {
    const { open, ask, ended } = openStreams({ most: 2 });
    const [first, second] = [open('a'), open('b')];
    await look(61);
    for (let time = 0; time < 20; time++) {
      const [one, other] = [ask('c'), ask('c')];
      expect([one.refusal, other.refusal]).toEqual([undefined, undefined]);
      // Each silent one is set aside for one request.
      expect(ask('d').refusal).toEqual(refused);
      one.give();
      const next = ask('e');
      expect(next.refusal).toBeUndefined();
      expect(ask('f').refusal).toEqual(refused);
      for (const each of [other, next]) each.give();
    }
    expect([first, second].map(({ client }) => client.destroyed)).toEqual([false, false]);
    expect(ended).toEqual([]);
  });

  it('stays that of a silent one if the server refuses the stream, and is set aside until its answer has ended', async () => {
    const { open, openOther, ask, ended } = openStreams({ most: 1 });
    const silent = open('a');
    await look(61);
    const asked = ask('b');
    const { client } = openOther('answer', () => true, false, asked.place);
    expect(ask('c').refusal).toEqual(refused);
    client.destroy();
    await settle();
    expect(ended).toEqual(['answer client-closed-request']);
    expect(silent.client.destroyed).toBe(false);
    expect(ask('c').refusal).toBeUndefined();
  });

  it('ends no other stream if the silent one has ended by itself meanwhile', async () => {
    const { open, openOther, ask } = openStreams({ most: 2 });
    const [silent, other] = [open('a'), open('b')];
    await look(61);
    await speak(other);
    const asked = ask('c');
    silent.client.destroy();
    await settle();
    const { client } = openOther('sse', () => true, true, asked.place);
    expect([other.client.destroyed, client.destroyed]).toEqual([false, false]);
    expect(ask('d').refusal).toEqual(refused);
  });

  it('is not that of an event stream, nor one whose answer has not begun', async () => {
    const { openOther, take } = openStreams({ most: 2 });
    const { client, server } = openOther('sse');
    expect(take('b')).toBeUndefined();
    for (let second = 0; second < 70; second++) {
      server.push(':\n\n');
      await client.takes();
      await look(1);
    }
    expect(take('d')).toEqual(refused);
  });
});

it('a stream that was joined after its client has left takes no place', () => {
  const { streams } = openStreams({ most: 1 });
  const place: Place = { client: 'a' };
  streams.take(place);
  const [client, upstream] = [new Side().destroy(), new Side()];
  const sides = { client: client as unknown as Socket, upstream: upstream as unknown as Socket };
  streams.join(place, { kind: 'websocket', ...sides }, true);
  expect(upstream.destroyed).toBe(true);
  expect(streams.take(place)).toBeUndefined();
});
