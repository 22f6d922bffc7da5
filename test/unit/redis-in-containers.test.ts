import { describe, expect, it, vi } from 'vitest';
import { skipFor } from '../support/find-redis-server.ts';

describe('a test that needs a local redis-server, while Redis runs only in containers', () => {
  const REASON = /^A Redis Cluster takes a redis-server 7 or newer on PATH: .* Install one/;

  it('is skipped with the reason', () => {
    const skip = vi.fn((reason: string): never => {
      throw new Error(`skipped: ${reason}`);
    });
    expect(() => skipFor('A Redis Cluster', { skip })).toThrow(/^skipped: /);
    expect(skip).toHaveBeenCalledWith(expect.stringMatching(REASON));
  });

  it('fails with the reason in CI', () => {
    expect(() => skipFor('A Redis Cluster', undefined)).toThrow(REASON);
  });
});
