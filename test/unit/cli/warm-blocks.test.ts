import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Warmed, type WarmOptions, warmBlocks } from '../../../src/cli/warm-blocks.ts';
import { listen } from '../../../src/http/listen.ts';

let stop: (() => void) | undefined;
afterEach(() => stop?.());

/** A public port that answers each block by a function of its seqno and of how often it was asked for before. */
async function answering(answer: (seqno: number, before: number, response: ServerResponse) => void): Promise<{
  url: string;
  asked: number[];
}> {
  const asked: number[] = [];
  const server = createServer(({ url = '' }: IncomingMessage, response) => {
    const seqno = Number(/seqno=(\d+)$/.exec(url)?.[1]);
    const before = asked.filter((it) => it === seqno).length;
    asked.push(seqno);
    answer(seqno, before, response);
  });
  stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: await listen(server, '127.0.0.1', 0), asked };
}

const miss = (response: ServerResponse) => response.writeHead(200, { 'Cache-Status': 'toncache; fwd=miss' }).end('{}');

/** Without waiting; what would have been waited for is in `waits`. */
function warm(url: string, rest: Partial<WarmOptions> = {}): { warmed: Promise<Warmed>; waits: number[] } {
  const waits: number[] = [];
  const wait = async (ms: number, signal: AbortSignal) => {
    waits.push(ms);
    signal.throwIfAborted();
  };
  const signal = new AbortController().signal;
  const options = { url, from: 10, to: 29, perSecond: 1000, signal, onAnswer: () => {}, wait, ...rest };
  return { warmed: warmBlocks(options), waits };
}

describe('warming blocks', () => {
  it('asks for each block once, and counts what was there, was loaded, or is not', async () => {
    const { url, asked } = await answering((seqno, _, response) => {
      if (seqno < 12) response.writeHead(200, { 'Cache-Status': 'toncache; hit; ttl=9' }).end('{}');
      else if (seqno === 12) response.writeHead(404).end('{}');
      else miss(response);
    });
    expect(await warm(url).warmed).toEqual({ hits: 2, loaded: 17, absent: 1, retries: 0, next: undefined });
    expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, place) => place + 10));
  });

  it.each([503, 429])('waits for Retry-After on %d, and asks for the block again', async (status) => {
    const { url, asked } = await answering((seqno, before, response) => {
      if (seqno === 15 && before < 2) response.writeHead(status, { 'Retry-After': '7' }).end('{}');
      else miss(response);
    });
    const { warmed, waits } = warm(url);
    expect(await warmed).toMatchObject({ loaded: 20, retries: 2, next: undefined });
    expect(asked.filter((seqno) => seqno === 15)).toHaveLength(3);
    expect(waits.filter((ms) => ms === 7000)).toHaveLength(2);
  });

  it('sends no more than its rate, one after the other', async () => {
    const { url } = await answering((_, __, response) => miss(response));
    const { warmed, waits } = warm(url, { to: 14, perSecond: 1 });
    await warmed;
    // Nothing is really waited for here, so each slot lies a second after the one before.
    expect(waits).toHaveLength(4);
    expect(Math.round((waits.at(-1) ?? 0) / 1000)).toBe(4);
  });

  it('gives up after failures in a row, each waited for longer, and says what is left', async () => {
    const { url, asked } = await answering((seqno, _, response) => {
      if (seqno >= 12) response.writeHead(502).end('{}');
      else miss(response);
    });
    const { warmed, waits } = warm(url, { perSecond: 1 });
    const { next, failure, loaded } = await warmed;
    expect([next, loaded, failure]).toEqual([12, 2, `${url} answers 502`]);
    expect(asked.filter((seqno) => seqno === 12)).toHaveLength(8);
    expect(waits).toEqual(expect.arrayContaining([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]));
  });

  it('stops on the signal, and what is left begins with the first block that was not answered', async () => {
    const stopping = new AbortController();
    const { url } = await answering((seqno, _, response) => {
      if (seqno !== 13) miss(response); // Block 13 is never answered.
    });
    let answers = 0;
    const onAnswer = () => {
      if (++answers === 19) stopping.abort();
    };
    expect(await warm(url, { signal: stopping.signal, onAnswer }).warmed).toMatchObject({ loaded: 19, next: 13 });
  });
});
