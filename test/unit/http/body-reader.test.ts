import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { BodyReader } from '../../../src/http/body-reader.ts';

const ROOM = 10_000;
let now: number;
let bodies: BodyReader;

beforeEach(() => {
  now = 0;
  bodies = new BodyReader({ maxBodyBytes: ROOM, maxReadingBytes: ROOM, now: () => now });
});

/** A request whose body the test sends in pieces. */
function aBody(contentLength?: number) {
  const headers = contentLength === undefined ? {} : { 'content-length': String(contentLength) };
  const sent = Object.assign(new PassThrough(), { headers });
  const read = bodies.read(sent as unknown as IncomingMessage);
  read.catch(() => {});
  const send = async (bytes: number) => {
    sent.write(Buffer.alloc(bytes, 'x'));
    await tick();
  };
  /** Ends the body. Resolves with its length, or with the code of its failure. */
  const end = async () => {
    sent.end();
    return read.then(
      ({ length }) => length,
      ({ code }) => code,
    );
  };
  return { send, end, leave: () => sent.destroy(new Error('left')), read };
}

describe('a body', () => {
  test('counts with its received bytes, not with its Content-Length', async () => {
    const announced = Array.from({ length: 100 }, () => aBody(ROOM));
    const other = aBody(600);
    await other.send(6000);
    expect(await other.end()).toBe(6000);
    for (const body of announced) body.leave();
    await expect(announced[0]?.read).rejects.toMatchObject({ code: 'client-closed-request' });
  });

  test('is refused if there is no room for a piece of it, and frees its received bytes', async () => {
    const [first, second, third] = [aBody(), aBody(), aBody()];
    await first.send(5000);
    await second.send(4000);
    await second.send(3000);
    expect(await second.end()).toBe('overloaded');
    await third.send(5000);
    expect([await third.end(), await first.end()]).toEqual([5000, 5000]);
    const next = aBody();
    await next.send(ROOM);
    expect(await next.end()).toBe(ROOM);
  });

  test('frees its received bytes when it is aborted, ends or is too large', async () => {
    const broken = aBody();
    await broken.send(9000);
    broken.leave();
    await expect(broken.read).rejects.toMatchObject({ code: 'client-closed-request' });
    const large = aBody();
    await large.send(7000);
    await large.send(ROOM);
    expect(await large.end()).toBe('body-too-large');
    for (let time = 0; time < 3; time++) {
      const whole = aBody();
      await whole.send(ROOM);
      expect(await whole.end()).toBe(ROOM);
    }
  });

  test('counts as more than its bytes if it arrives in tiny pieces', async () => {
    const tiny = aBody();
    for (let piece = 0; piece < 3; piece++) await tiny.send(1);
    const other = aBody();
    await other.send(9300);
    expect([await other.end(), await tiny.end()]).toEqual(['overloaded', 3]);
  });
});

describe('a body that has received nothing for 2 s', () => {
  test('is refused if another one needs its room, the longest idle one first, and no more than necessary', async () => {
    const [oldest, older, moving, newest] = [aBody(), aBody(), aBody(), aBody()];
    for (const body of [moving, oldest, older]) {
      await body.send(3000);
      now += 100;
    }
    now += 1000;
    await moving.send(500);
    now = 2100;
    await newest.send(3000);
    await expect(oldest.read).rejects.toMatchObject({ code: 'overloaded', details: { retryAfterSeconds: 1 } });
    await older.send(300);
    expect([await older.end(), await moving.end(), await newest.end()]).toEqual([3300, 3500, 3000]);
  });

  test('is not refused earlier than that, or while there is room', async () => {
    const [idle, other] = [aBody(), aBody()];
    await idle.send(6000);
    now = 1999;
    await other.send(6000);
    expect(await other.end()).toBe('overloaded');
    now = 1e6;
    const fits = aBody();
    await fits.send(4000);
    expect([await fits.end(), await idle.end()]).toEqual([4000, 6000]);
  });

  test('is not refused for the room of its own next piece', async () => {
    const [idle, other] = [aBody(), aBody()];
    await idle.send(3000);
    await other.send(3000);
    now = 2000;
    await idle.send(6000);
    await expect(other.read).rejects.toMatchObject({ code: 'overloaded' });
    expect(await idle.end()).toBe(9000);
  });
});
