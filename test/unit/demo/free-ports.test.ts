import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFreePort, isPortTaken } from '../../../src/demo/proxy-on-free-ports.ts';

async function listen(port: number): Promise<number> {
  const server: Server = createServer();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('finding a free port', () => {
  it('takes the wanted port if it is free', async () => {
    const free = await findFreePort(20_000 + (process.pid % 10_000));
    expect(await findFreePort(free)).toBe(free);
    expect(await listen(free)).toBe(free);
  });

  it('takes the next free port if the wanted one is in use or reserved', async () => {
    const taken = await listen(0);
    const next = await findFreePort(taken);
    expect(next).toBeGreaterThan(taken);
    expect(await findFreePort(taken, [next])).toBeGreaterThan(next);
  });

  it('keeps 0, which stands for any port', async () => {
    expect(await findFreePort(0)).toBe(0);
  });

  it('rejects when all ports are in use', async () => {
    const taken = await findFreePort(65_535).then(listen, () => 65_535);
    await expect(findFreePort(taken)).rejects.toThrow('no port from 65535 on is free');
  });

  it('recognizes the error of a port that was taken meanwhile', async () => {
    const taken = await listen(0);
    const error: unknown = await listen(taken).catch((reason: unknown) => reason);
    expect(isPortTaken(error)).toBe(true);
    expect(isPortTaken(new Error('another'))).toBe(false);
  });
});
