import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogDestination } from '../../../src/operate/log-destination.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * A file descriptor that accepts at most as many bytes of each write as `next` returns, or fails with the error code
 * that it returns.
 */
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

/**
 * Real processes write to a full disk, a full pipe and a pipe whose reader is gone in
 * test/fault/log-output.slow.test.ts.
 */
describe('a log destination', () => {
  it('writes all waiting lines on flush, even if the reader accepts only a few bytes at a time', () => {
    vi.useRealTimers();
    const disk = new Disk();
    const destination = new LogDestination(1, 100, disk.write);
    let failures = 3;
    disk.next = () => (failures-- > 0 ? 'EAGAIN' : 4);
    destination.write('ended\n');
    expect(disk.text).toBe('');
    destination.flush(60_000);
    expect(disk.text).toBe('ended\n');
  });

  it('counts every dropped line and truncates none, for any behaviour of the descriptor', () => {
    const outcome = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom('EAGAIN', 'ENOSPC', 'EIO', 'EINTR'));
    const step = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant('time' as const));
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), fc.array(step, { maxLength: 60 }), (outcomes, steps) => {
        const disk = new Disk();
        const destination = new LogDestination(1, 100, disk.write);
        disk.next = () => outcomes.shift() ?? Number.POSITIVE_INFINITY;
        const lines: string[] = [];
        for (const [index, it] of steps.entries()) {
          if (it === 'time') vi.advanceTimersByTime(100);
          else destination.write(lines[lines.push(`${index}:${'x'.repeat(it)}\n`) - 1] ?? '');
        }
        vi.advanceTimersByTime(10_000);
        const written = disk.text.split(/(?<=\n)/).filter((line) => line !== '');
        expect(written).toEqual(lines.filter((line) => written.includes(line)));
        expect(written.length + destination.dropped).toBe(lines.length);
      }),
    );
  });
});
