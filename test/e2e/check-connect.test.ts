import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusedKey } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { runCommand } from '../support/command-output.ts';
import { startRedis } from '../support/redis-server.ts';

const NOBODY = '127.0.0.1:1';

let indexer: Indexer;

beforeEach(async () => {
  indexer = await startIndexer();
});

afterEach(() => indexer.close());

async function connect(env: Readonly<Record<string, string>>) {
  const { code, stdout } = await runCommand(['check-config', '--connect', '--json'], { env });
  const { checks } = JSON.parse(stdout) as { checks: { service: string; found: string; isWrong: boolean }[] };
  return { code, checks };
}

describe('check-config --connect', () => {
  it('finds nothing wrong where all answers', async () => {
    await using redis = await startRedis();
    const env = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, STREAM_URL: indexer.streamUrl };
    const { code, checks } = await connect(env);
    expect(code).toBe(0);
    expect(checks.map(({ service, isWrong }) => [service.split(' ')[0], isWrong])).toEqual([
      ['indexer', false],
      ['Redis', false],
      ['stream', false],
    ]);
    expect(checks[0]?.found).toMatch(/^answers; newest masterchain block 6\d+, .* old$/);
    expect(checks[1]?.found).toBe('answers; same time');
  });

  it('names what is not there: an indexer, a backup, Redis, the stream', async () => {
    const { code, checks } = await connect({
      UPSTREAM_URL: `http://${NOBODY}`,
      UPSTREAM_BACKUP_URL: indexer.url,
      REDIS_URL: `redis://${NOBODY}`,
      STREAM_URL: `ws://${NOBODY}`,
    });
    expect(code).toBe(69);
    expect(checks.map(({ isWrong }) => isWrong)).toEqual([true, false, true, true]);
    for (const { found } of [checks[0], checks[2]].flatMap((check) => check ?? []))
      expect(found).toContain('ECONNREFUSED');
    expect(checks[3]?.found).toBe('cannot be reached: it could not be opened');
  });

  it('names a key that is refused, another chain, and what is no indexer', async () => {
    const wrong = async (env: Readonly<Record<string, string>> = {}) => {
      const { code, checks } = await connect({ UPSTREAM_URL: indexer.url, ...env });
      return [code, checks[0]?.found];
    };
    expect(await wrong({ NETWORK: 'testnet' })).toEqual([
      69,
      expect.stringContaining('another chain than NETWORK=testnet'),
    ]);
    indexer.faults.inject(refusedKey(401), { times: 1 });
    expect(await wrong({ UPSTREAM_API_KEY: 'secret-key' })).toEqual([69, 'refuses the API key (401)']);
    indexer.faults.inject({ kind: 'answer', status: 200, body: '{"ok":true}' }, { times: 1 });
    expect(await wrong()).toEqual([69, expect.stringContaining('does not answer as an indexer')]);
    expect(await wrong({ UPSTREAM_URL: `${indexer.url}/nowhere` })).toEqual([69, expect.stringContaining('with 404')]);
  });
});
