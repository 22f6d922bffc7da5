import { describe, expect, it } from 'vitest';
import { type ClientConnection, ClientConnections } from '../../../src/http/public/client-connections.ts';
import { MemorySocket } from '../../lanes/memory-socket.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

function openThree() {
  const connections = new ClientConnections(1000, () => false);
  const open = () => {
    const socket = new MemorySocket();
    socket.on('error', () => {});
    return connections.open(socket);
  };
  return { connections, one: open(), other: open(), third: open() };
}

const isCut = ({ socket }: ClientConnection) => socket.destroyed;

describe('answers that wait behind an earlier one of their connection', () => {
  it('stop the reading of its requests while they have more than 64 KiB', () => {
    const { connections, one, other } = openThree();
    for (const connection of [one, one, other, other]) connections.begin(connection);
    connections.block(one, 64 * KIB);
    expect(connections.mayBeRead(one)).toBe(true);
    connections.block(one, 1);
    expect([connections.mayBeRead(one), connections.mayBeRead(other)]).toEqual([false, true]);
    connections.unblock(one, 1);
    expect(connections.mayBeRead(one)).toBe(true);
  });

  it('have up to 64 MiB over all connections: the one that adds more is cut', async () => {
    const { connections, one, other, third } = openThree();
    connections.block(one, 40 * MIB);
    connections.block(other, 24 * MIB);
    connections.block(third, 0);
    expect([one, other, third].map(isCut)).toEqual([false, false, false]);
    connections.block(other, 1);
    expect([one, other, third].map(isCut)).toEqual([false, true, false]);
    await new Promise((resolve) => void other.socket.once('close', resolve));
    // What the closed one held is free again, and nothing more is counted for it.
    connections.block(other, 24 * MIB);
    connections.unblock(other, 24 * MIB);
    connections.block(third, 24 * MIB);
    expect(isCut(third)).toBe(false);
    connections.block(third, 1);
    expect(isCut(third)).toBe(true);
  });

  it('are counted until each is the next one to leave', () => {
    const { connections, one } = openThree();
    for (let time = 0; time < 10; time++) {
      connections.block(one, 64 * MIB);
      connections.unblock(one, 64 * MIB);
    }
    expect(isCut(one)).toBe(false);
  });
});
