import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { SlowReaders } from '../../../src/http/public/slow-readers.ts';

const KIB = 1024;
const SLOW_READER_MS = 30_000;

/** A connection to which a server writes, and from which a client reads by as much as the test says. */
class Written {
  bytesWritten = 0;
  writableLength = 0;
  destroyed = false;

  write(bytes: number): void {
    this.bytesWritten += bytes;
    this.writableLength += bytes;
  }

  read(bytes: number): void {
    this.writableLength = Math.max(0, this.writableLength - bytes);
  }

  resetAndDestroy(): void {
    this.destroyed = true;
  }
}

function watched(): Written {
  const socket = new Written();
  const readers = new SlowReaders([socket], SLOW_READER_MS);
  onTestFinished(() => readers.close());
  return socket;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('leaves a client alone that takes 16 KiB in the time, for as long as that goes on', () => {
  const socket = watched();
  socket.write(1024 * KIB);
  for (let second = 0; second < 600; second++) {
    vi.advanceTimersByTime(1000);
    socket.read((16 * KIB) / 29);
  }
  expect(socket.destroyed).toBe(false);
});

it('allows four times as long for a write of 64 KiB, which is seen only when it has left as a whole', () => {
  const socket = watched();
  socket.write(64 * KIB);
  vi.advanceTimersByTime(4 * SLOW_READER_MS);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(SLOW_READER_MS);
  expect(socket.destroyed).toBe(true);
});

it('does not add up the waits of small answers that are each taken in time', () => {
  const socket = watched();
  socket.write(100);
  for (let answer = 0; answer < 20; answer++) {
    vi.advanceTimersByTime(SLOW_READER_MS / 2);
    socket.write(100);
    socket.read(100);
  }
  expect(socket.destroyed).toBe(false);
});
