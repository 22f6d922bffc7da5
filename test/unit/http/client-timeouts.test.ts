import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { AnswerProgress } from '../../../src/http/public/answer-progress.ts';
import { ClientTimeouts } from '../../../src/http/public/client-timeouts.ts';

const KIB = 1024;
const SLOW_READER_MS = 30_000;

/** A connection with writes of a server. The test sets how much of them the client reads. */
class Written {
  bytesWritten = 0;
  writableLength = 0;
  isReset = false;

  write(bytes: number): void {
    this.bytesWritten += bytes;
    this.writableLength += bytes;
  }

  read(bytes: number): void {
    this.writableLength = Math.max(0, this.writableLength - bytes);
  }

  resetAndDestroy(): void {
    this.isReset = true;
  }
}

function lookedAt(): Written {
  const socket = new Written();
  const timeouts = new ClientTimeouts({
    connections: [{ socket, progress: new AnswerProgress(socket) }],
    lanes: [],
    sendRefusal: () => expect.unreachable(),
    headerTimeoutMs: 10_000,
    keepAliveMs: 65_000,
    slowReaderMs: SLOW_READER_MS,
  });
  onTestFinished(() => timeouts.close());
  return socket;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('keeps a client that takes 16 KiB in each http.sendTimeout', () => {
  const socket = lookedAt();
  socket.write(1024 * KIB);
  for (let second = 0; second < 600; second++) {
    vi.advanceTimersByTime(1000);
    socket.read((16 * KIB) / 29);
  }
  expect(socket.isReset).toBe(false);
});

it('resets a client that takes less than 16 KiB in http.sendTimeout', () => {
  const socket = lookedAt();
  socket.write(16 * KIB);
  for (let second = 0; second < 30; second++) {
    vi.advanceTimersByTime(1000);
    socket.read(KIB / 2);
  }
  expect(socket.isReset).toBe(false);
  vi.advanceTimersByTime(2000);
  expect(socket.isReset).toBe(true);
});

it('allows four times as long for a write of 64 KiB, because its progress is visible only at its end', () => {
  const socket = lookedAt();
  socket.write(64 * KIB);
  vi.advanceTimersByTime(4 * SLOW_READER_MS);
  expect(socket.isReset).toBe(false);
  vi.advanceTimersByTime(SLOW_READER_MS);
  expect(socket.isReset).toBe(true);
});

it.each([
  [64, 1],
  [256, 1],
  [256, 100],
])('keeps a client that takes %d KiB at once at the required rate, while %d KiB are pending', (step, waiting) => {
  const socket = lookedAt();
  vi.advanceTimersByTime(SLOW_READER_MS);
  socket.write((step + waiting) * KIB);
  socket.read(step * KIB);
  for (let time = 0; time < 20; time++) {
    vi.advanceTimersByTime((step / 16) * SLOW_READER_MS - 1);
    socket.read(waiting * KIB);
    socket.write(step * KIB);
    socket.read((step - waiting) * KIB);
  }
  expect(socket.isReset).toBe(false);
  // From now on the client takes nothing.
  vi.advanceTimersByTime((step / 16) * SLOW_READER_MS + 2000);
  expect(socket.isReset).toBe(true);
});

it('gives a client that took 8 MiB at once only the time for 256 KiB', () => {
  const socket = lookedAt();
  vi.advanceTimersByTime(SLOW_READER_MS);
  socket.write(8 * 1024 * KIB + KIB);
  socket.read(8 * 1024 * KIB);
  vi.advanceTimersByTime(16 * SLOW_READER_MS);
  expect(socket.isReset).toBe(false);
  vi.advanceTimersByTime(2000);
  expect(socket.isReset).toBe(true);
});

it('does not add up the times of small answers that are each taken in time', () => {
  const socket = lookedAt();
  socket.write(100);
  for (let answer = 0; answer < 20; answer++) {
    vi.advanceTimersByTime(SLOW_READER_MS / 2);
    socket.write(100);
    socket.read(100);
  }
  expect(socket.isReset).toBe(false);
});

it('keeps a client with nothing to take for any length of time', () => {
  const socket = lookedAt();
  vi.advanceTimersByTime(3_600_000);
  socket.write(256 * KIB);
  vi.advanceTimersByTime(2000);
  socket.read(256 * KIB);
  vi.advanceTimersByTime(3_600_000);
  expect(socket.isReset).toBe(false);
});
