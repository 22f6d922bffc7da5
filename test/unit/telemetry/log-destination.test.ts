import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogDestination } from '../../../src/telemetry/log-destination.ts';

const RETRY_MS = 100;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A descriptor that takes the given number of bytes of each write, or fails. */
class Disk {
  text = '';
  next: () => number | string = () => Number.POSITIVE_INFINITY;

  readonly write = (_: number, bytes: Buffer): number => {
    const outcome = this.next();
    if (typeof outcome === 'string') throw Object.assign(new Error(outcome), { code: outcome });
    const taken = bytes.subarray(0, Math.min(outcome, bytes.byteLength));
    this.text += taken.toString('latin1');
    return taken.byteLength;
  };
}

function destinationOn(disk: Disk, maxWaitingBytes: number): LogDestination {
  return new LogDestination({ fd: 1, maxWaitingBytes, retryMs: RETRY_MS }, disk.write);
}

describe('a log destination', () => {
  it('keeps the lines that a full disk does not take, up to its limit, and writes them once there is space', () => {
    const disk = new Disk();
    const destination = destinationOn(disk, 20);
    disk.next = () => 'ENOSPC';
    for (const line of ['one\n', 'two\n', 'three\n', 'a line that is too long\n', 'four\n', 'five\n']) {
      destination.write(line);
    }
    expect([disk.text, destination.dropped]).toEqual(['', 2]);
    disk.next = () => Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(RETRY_MS);
    expect(disk.text).toMatch(
      /^one\ntwo\nthree\nfour\n\{"level":40,"time":\d+,"lines":2,"msg":"log lines were dropped"\}\n$/,
    );
    destination.write('six\n');
    expect(disk.text.endsWith('}\nsix\n')).toBe(true);
  });

  it('completes a line that was written in part before it writes the next', () => {
    const disk = new Disk();
    const destination = destinationOn(disk, 100);
    const outcomes: (number | string)[] = [2, 'ENOSPC', 'ENOSPC'];
    disk.next = () => outcomes.shift() ?? 3;
    destination.write('first\n');
    destination.write('second\n');
    expect(disk.text).toBe('fi');
    vi.advanceTimersByTime(2 * RETRY_MS);
    expect(disk.text).toBe('first\nsecond\n');
  });

  it('drops what is written to a closed pipe, and does not retry by itself', () => {
    const disk = new Disk();
    const destination = destinationOn(disk, 100);
    disk.next = () => 'EPIPE';
    destination.write('one\n');
    destination.write('two\n');
    expect([destination.dropped, vi.getTimerCount()]).toEqual([2, 0]);
  });

  it('flushes at the end as much as a slow reader takes', () => {
    vi.useRealTimers();
    const disk = new Disk();
    const destination = destinationOn(disk, 100);
    let failures = 3;
    disk.next = () => (failures-- > 0 ? 'EAGAIN' : 4);
    destination.write('ended\n');
    expect(disk.text).toBe('');
    destination.flush(60_000);
    expect(disk.text).toBe('ended\n');
  });

  it('counts every line that it loses and breaks none, whatever the descriptor does', () => {
    const outcome = fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constantFrom('EAGAIN', 'ENOSPC', 'EIO', 'EINTR'));
    const step = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant('time' as const));
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), fc.array(step, { maxLength: 60 }), (outcomes, steps) => {
        const disk = new Disk();
        const destination = destinationOn(disk, 100);
        // Nothing taken is no failure: the next try may have more luck.
        disk.next = () => outcomes.shift() ?? Number.POSITIVE_INFINITY;
        const lines: string[] = [];
        for (const [index, it] of steps.entries()) {
          if (it === 'time') vi.advanceTimersByTime(RETRY_MS);
          else destination.write(lines[lines.push(`${index}:${'x'.repeat(it)}\n`) - 1] ?? '');
        }
        vi.advanceTimersByTime(100 * RETRY_MS);
        const written = disk.text.split(/(?<=\n)/).filter((line) => line !== '' && !line.startsWith('{'));
        expect(written).toEqual(lines.filter((line) => written.includes(line)));
        expect(written.length + destination.dropped).toBe(lines.length);
      }),
    );
  });
});
