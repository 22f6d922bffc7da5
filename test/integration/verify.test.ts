import { afterAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/command.ts';
import { Chain, type ChainOptions } from '../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { failed, rateLimited, refusedKey, withoutList } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { runCommand } from '../support/command-output.ts';
import { freePort } from '../support/free-port.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type LogLine, readLogLine } from '../support/start-proxy.ts';
import { warningsIn } from '../support/warnings.ts';

const BLOCK_MS = 100;
const QUICKLY = ['--rate', '500', '--samples', '3'];

const CHECKS = [
  ...['bad input', 'unknown', 'masterchain block', 'asked again', 'adjacent'],
  ...['spellings', 'pending', 'next block', 'final is final', 'growing only grows'],
  ...['block', 'block page', 'head'],
];

const NO_TRANSACTIONS = '{"transactions":[],"address_book":{}}';

const indexers: Indexer[] = [];

afterAll(() => Promise.all(indexers.map((indexer) => indexer.close())));

async function start(dialect: Dialect = '1.3', options: Partial<ChainOptions> = {}): Promise<Indexer> {
  // Blocks come faster than on the real chain, so that the next one comes soon.
  const chain = new Chain({ startAt: Date.now() - 200 * BLOCK_MS, blockMs: BLOCK_MS, ...options });
  const indexer = await startIndexer({ dialect, chain });
  indexers.push(indexer);
  return indexer;
}

/** Runs the command in this process; a separate process has the same entry as the demo, which .ci/run starts. */
const verify = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCommand(['verify', ...args], { env });

interface Said {
  readonly status: number;
  readonly body: string;
}

/** Changes an answer of an indexer, given the target and the number of the request for it, from 1. */
type Lie = (said: Said, target: string, time: number) => Partial<Said>;

/** Stands in front of the indexer at `url`, and changes its answers. */
function startLiar(url: string, lie: Lie): Promise<ScriptedUpstream> {
  const times = new Map<string, number>();
  return startScriptedUpstream((socket, head) => {
    const [, target = ''] = head.split(' ');
    const time = (times.get(target) ?? 0) + 1;
    times.set(target, time);
    const answer = async () => {
      const response = await fetch(url + target);
      const said = { status: response.status, body: await response.text() };
      const { status, body } = { ...said, ...lie(said, target, time) };
      socket.write(`HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\n`);
      socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    };
    answer().catch(() => socket.destroy());
  });
}

function checks(stdout: string, result: string): string[] {
  const lines = stdout.split('\n').filter((line) => line.includes(`  ${result}  `));
  return lines.map((line) => line.split('  ')[0] ?? '');
}

// All of them wait for blocks for most of their time.
describe.concurrent('verify', () => {
  it.each<Dialect>(['spec', '1.2', '1.3'])(
    'finds no violation with an indexer of dialect %s, and sends only GET',
    async (dialect) => {
      const { url, requests } = await start(dialect);
      const { code, stdout, stderr } = await verify([`${url}/api/v3`, ...QUICKLY], { UPSTREAM_API_KEY: 'a-secret' });
      expect(checks(stdout, 'violation')).toEqual([]);
      const lines = stderr.split('\n').filter((line) => line !== '');
      expect({ code, warnings: warningsIn(lines.map((line) => readLogLine<LogLine>(line))) }).toEqual({
        code: 0,
        warnings: [],
      });
      expect(stdout).toMatch(/\n[0-9]+ ok, 0 unclear, 0 violations; /);
      for (const check of CHECKS) expect(stdout).toContain(`\n${check} `);
      expect(stdout).toMatch(/\nnext block .* ok .* 404 [1-9]\d* times, for \d+ ms; /);
      expect(new Set(requests.recent.map(({ method }) => method))).toEqual(new Set(['GET']));
      expect(new Set(requests.recent.map(({ headers }) => headers['x-api-key']))).toEqual(new Set(['a-secret']));
      expect(stdout).toContain(`; ${requests.total} requests to ${url} in `);
    },
  );

  it('sends requests no faster than --rate', async () => {
    const { url, requests } = await start();
    expect(await verify([url, '--rate', '100', '--samples', '1'])).toMatchObject({ code: 0 });
    const [first, last] = [requests.recent.at(0), requests.recent.at(-1)];
    // Arrivals jitter; a fourth of the time is far more than that, and far less than requests without a rate would
    // save.
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan((requests.total - 1) * 10 * 0.75);
  });

  it('looks further back for a shard block if the sampled masterchain block has none', async () => {
    const { url } = await start();
    let sampled: string | undefined;
    await using liar = await startLiar(url, ({ status, body }, target) => {
      const [, seqno] = /\/blocks\?.*mc_seqno=(\d+)/.exec(target) ?? [];
      if (status !== 200 || seqno === undefined) return {};
      sampled ??= seqno;
      if (seqno !== sampled) return {};
      const { blocks } = JSON.parse(body) as { blocks: { workchain: number }[] };
      return { body: JSON.stringify({ blocks: blocks.filter(({ workchain }) => workchain === -1) }) };
    });
    const { code, stdout } = await verify([liar.url, '--rate', '500', '--samples', '1']);
    expect(stdout).toMatch(/, 0 unclear, 0 violations; /);
    expect(code).toBe(0);
  });

  it('tries a later block if the next one is there before its absence was seen', async () => {
    const { url } = await start();
    let past: { readonly seqno: string; readonly body: string } | undefined;
    let first: string | undefined;
    await using liar = await startLiar(url, ({ status, body }, target) => {
      const [, seqno] = /\/masterchainBlockShards\?.*seqno=(\d+)/.exec(target) ?? [];
      if (seqno === undefined || Number(seqno) === 2 ** 31 - 1) return {};
      if (status === 200) past ??= { seqno, body };
      if (status !== 404 || past === undefined) return {};
      first ??= seqno;
      // As if this machine had stood still until the block was there.
      return seqno === first ? { status: 200, body: past.body.replaceAll(past.seqno, seqno) } : {};
    });
    const { code, stdout } = await verify([liar.url, ...QUICKLY]);
    expect(stdout).toMatch(/\nnext block .* ok .* 404 [1-9]\d* times/);
    expect(stdout).toMatch(/, 0 unclear, 0 violations; /);
    expect(code).toBe(0);
  });

  it('shows no key in the path of the address', async () => {
    const key = 'key-of-16-letters';
    const { code, stdout, stderr } = await verify([`http://127.0.0.1:1/${key}`, ...QUICKLY]);
    expect({ code, stdout, stderr }).toMatchObject({
      code: EXIT.unavailable,
      stderr: expect.stringContaining('cannot reach http://127.0.0.1:1/(secret):'),
    });
    expect(stdout + stderr).not.toContain(key);
  });

  it('waits after a 429, and then continues', async () => {
    const { url, faults } = await start();
    const limit = faults.inject(rateLimited('json', '1'), { operation: 'masterchainBlockShards', times: 1 });
    expect(await verify([url, ...QUICKLY])).toMatchObject({ code: 0 });
    expect(limit.hits).toBe(1);
  });

  it.each<[string, string, Lie]>([
    [
      'a final block that changes',
      'final is final',
      ({ body }, target, time) =>
        target.includes('masterchainBlockShards') && time > 1
          ? { body: body.replace('"root_hash":"', '"root_hash":"AA') }
          : {},
    ],
    [
      'children that disappear',
      'growing only grows',
      (_, target, time) => (target.includes('direction=out') && time > 1 ? { body: NO_TRANSACTIONS } : {}),
    ],
    [
      'a spelling that the indexer reads differently',
      'canonical spelling',
      (_, target) => (/hash=[0-9a-f]{64}/.test(target) ? { body: NO_TRANSACTIONS } : {}),
    ],
    [
      'an input that the indexer answers and toncache refuses',
      'bad input',
      (_, target) => (target.endsWith('limit=1001') ? { status: 200 } : {}),
    ],
  ])('reports %s', async (_, check, lie) => {
    const { url } = await start();
    await using liar = await startLiar(url, lie);
    const { code, stdout } = await verify([liar.url, '--rate', '500', '--samples', '10']);
    expect(code).toBe(1);
    expect(new Set(checks(stdout, 'violation'))).toEqual(new Set([check]));
  });

  it('reports answers without their list', async () => {
    const { url, faults } = await start();
    faults.inject(withoutList(), { operation: 'pendingTraces' });
    const { code, stdout } = await verify([url, ...QUICKLY]);
    expect(code).toBe(1);
    expect(checks(stdout, 'violation')).toContain('pending');
  });

  it('reports as not checked everything that the indexer itself fails to answer', async () => {
    const { url, faults } = await start();
    faults.inject(failed(500), { operation: 'pendingTraces' });
    const { code, stdout } = await verify([url, ...QUICKLY]);
    expect(code).toBe(EXIT.incomplete);
    expect(checks(stdout, 'unclear')).toContain('pending');
    expect(stdout).toMatch(
      /\nnot checked: pending \(pendingTraces\?account=.*\): the indexer itself answers with status 500\n/,
    );
  });

  it('looks further back when the latest blocks hold no transactions', async () => {
    const { url, chain } = await start();
    const newest = chain.headSeqno - 40;
    await using quiet = await startLiar(url, ({ status }, target) => {
      const seqno = Number(/transactionsByMasterchainBlock\?seqno=(\d+)/.exec(target)?.[1] ?? 0);
      return status === 200 && seqno > newest ? { body: NO_TRANSACTIONS } : {};
    });
    const { code, stdout } = await verify([quiet.url, ...QUICKLY]);
    expect(code, stdout).toBe(0);
    for (const check of CHECKS) expect(stdout).toContain(`\n${check} `);
  });

  it('is incomplete when no new block comes', async () => {
    const { url, chain, replicas } = await start();
    chain.advanceTo(Date.now());
    replicas[0].lag(Number.POSITIVE_INFINITY);
    const { code, stdout } = await verify([url, ...QUICKLY]);
    expect(code).toBe(EXIT.incomplete);
    expect(checks(stdout, 'unclear')).toEqual(['next block']);
  });

  it('reports in one line that the indexer cannot be reached', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await verify([url]);
    expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^verify: cannot reach ${url}: .*ECONNREFUSED.*\n$`));
  });

  it('reports in one line that the API key is refused', async () => {
    const { url, faults } = await start();
    faults.inject(refusedKey(401));
    const { code, stderr } = await verify([url, ...QUICKLY]);
    expect(code).toBe(69);
    expect(stderr).toMatch(/^verify: .*UPSTREAM_API_KEY.*\n$/);
  });

  it.each([
    [[], 'one address of an indexer is expected'],
    [['ftp://indexer.example'], 'UPSTREAM_URL'],
    [['http://a', 'http://b'], 'one address'],
    [['http://a', '--rate', '0'], '--rate is not valid; accepted: 0.01 to 1000'],
    [['http://a', '--samples', 'all'], '--samples must be a whole number from 1 to 100'],
    [['http://a', '--fast'], '--fast'],
  ])('explains its usage for %j', async (args, expected) => {
    const { code, stdout, stderr } = await verify(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain(expected);
    expect(stderr).toContain('toncache verify --help');
  });
});
