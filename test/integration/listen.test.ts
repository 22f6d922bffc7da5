import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { listen } from '../../src/http/listen.ts';
import { ask, connectTo } from '../support/http-client.ts';

/** More than Node asks the system for. */
const BURST = 1000;

/** True if the system lets that many connections wait. */
const HAS_ROOM = ((): boolean => {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) > BURST;
  } catch {
    return false;
  }
})();

it.runIf(HAS_ROOM)(
  'a thousand connections that come while the process accepts none are all opened at once',
  async () => {
    const server = createServer((_, response) => void response.end());
    const url = await listen(server, '127.0.0.1', 0);
    // All of them come in this turn of the event loop, this one first.
    const first = ask(url, '/');
    const sockets = Array.from({ length: BURST }, () => connectTo(url));
    expect((await first).status).toBe(200);
    // The client of one that was dropped tries again a second later.
    expect(sockets.filter(({ connecting }) => connecting)).toHaveLength(0);
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  },
);
