import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = ['-r', './src/require-node-24.cjs', 'src/cli/main.ts', 'demo'];
const RIGHT = 'Every answer was right, checked against the chain.';

interface Settings {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** For node itself, before the command. */
  readonly nodeArgs?: readonly string[];
}

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** The real command as a child; killed, at the latest, with the test. */
class Demo {
  readonly child: ChildProcess;
  readonly exitCode: Promise<number | null>;
  #said = '';

  constructor({ args = [], env = {}, nodeArgs = [] }: Settings) {
    const { REDIS_URL: _, NO_COLOR: __, ...inherited } = process.env;
    this.child = spawn(process.execPath, [...nodeArgs, ...COMMAND, ...args], {
      cwd: ROOT,
      env: { ...inherited, FORCE_COLOR: '1', PORT: '0', ADMIN_PORT: '0', PATH: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exitCode = once(this.child, 'exit').then(([code]) => code as number | null);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text;
      });
    }
    running.add(this.child);
    void this.exitCode.then(() => running.delete(this.child));
  }

  /** Standard output and error up to now. */
  get said(): string {
    return this.#said;
  }

  async untilSaid(pattern: RegExp): Promise<RegExpExecArray> {
    return vi.waitFor(
      () => {
        const found = pattern.exec(this.#said);
        if (found === null) throw new Error(`not said yet: ${pattern}\n${this.#said}`);
        return found;
      },
      { timeout: 25_000, interval: 20 },
    );
  }

  untilCrowd(): Promise<unknown> {
    return this.untilSaid(/until Ctrl-C\n/);
  }
}

/** A folder that ends with the test. */
function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toncache-demo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program on a PATH of its own that says it is a Redis server; it accepts no connections. */
function aRedisServer(version: string): { readonly path: string; pid(): number } {
  const folder = aFolder();
  const pidFile = join(folder, 'pid');
  const script = `#!/bin/sh
if [ "$1" = --version ]; then echo "Redis server v=${version} sha=00000000:0"; exit; fi
echo $$ > '${pidFile}'
echo 'Ready to accept connections tcp'
exec sleep 1000
`;
  writeFileSync(join(folder, 'redis-server'), script);
  chmodSync(join(folder, 'redis-server'), 0o755);
  return { path: `${folder}:${process.env['PATH']}`, pid: () => Number(readFileSync(pidFile, 'utf8')) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The arguments as the shell hands them to curl: not every machine has one. */
function curlArguments(line: string): string[] {
  const shell = `curl() { printf '%s\\n' "$@"; }\n${line}`;
  return execFileSync('/bin/sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n');
}

describe('npm run demo -- --for 2s', () => {
  let said = '';

  beforeAll(async () => {
    const demo = new Demo({ args: ['--for', '2s'] });
    expect(await demo.exitCode, demo.said).toBe(0);
    said = demo.said;
  });

  it('prints its addresses once, and at the end that every answer was right', () => {
    expect(said).toMatch(/^ {2}proxy {5}http:\/\/127\.0\.0\.1:\d+$/m);
    expect(said).toMatch(/^ {2}redis {5}none: memory alone \(no redis-server 7 or newer on PATH/m);
    expect(said).toContain('Ended after 2 s');
    expect(said).toContain(RIGHT);
    expect(said, 'no colours where there is no terminal').not.toContain('\u001B');
    expect(said.split('\n').filter((line) => /\s$/.test(line))).toEqual([]);
  });

  it('first sends requests of its own: a miss, a hit, and a hit in another spelling', () => {
    const asked =
      /GET (\S+)\n +200 .* toncache; (.*)\n +200 .* toncache; (.*)\n +GET (\S+)\n +200 .* toncache; (.*)\n/g;
    const groups = [...said.matchAll(asked)];
    expect(groups).toHaveLength(3);
    for (const [, target = '', first, second, otherTarget, third] of groups) {
      expect(otherTarget).not.toBe(target);
      expect(first).toBe('fwd=miss; fwd-status=200; stored');
      // On a machine that is busy enough a live answer is too old before it can be asked for again.
      if (target.includes('pendingTraces')) continue;
      expect(second).toMatch(/^hit; ttl=-?\d+; detail=memory$/);
      expect(third).toMatch(/^hit; ttl=-?\d+; detail=memory$/);
    }
  });

  it('shows that many clients who ask for one block at once cost the indexer one request', () => {
    expect(said).toMatch(/^ +100 answers, 1 request to the indexer$/m);
  });

  it('ends with the three commands that one tries next', () => {
    const commands = [
      /^ {2}UPSTREAM_URL=\S+ npm start$/m,
      /^ {2}npm run verify -- \S+$/m,
      /^ {2}npm run toncache -- explain --offline '\S+'$/m,
    ];
    for (const command of commands) expect(said.slice(said.indexOf(RIGHT))).toMatch(command);
  });

  it('writes a line a second', () => {
    const numbers = String.raw`\d+ requests +(?:[\d.]+ %|-) hits +\d+ upstream +\d+ saved in all \([\d.]+ %\)$`;
    expect(said).toMatch(new RegExp(`^ *0:01 +${numbers}`, 'm'));
    expect(said).toMatch(new RegExp(`^ *0:02 +${numbers}`, 'm'));
  });
});

describe('npm run demo', () => {
  it('prints curl lines that work in a shell, and are hits except for live answers', async () => {
    const demo = new Demo({});
    await demo.untilCrowd();
    const proxyUrl = (await demo.untilSaid(/proxy +(http\S+)/))[1] ?? '';
    const lines = [...demo.said.matchAll(/^ *(curl .*)$/gm)].map(([, line = '']) => line);
    expect(new Set(lines).size).toBe(8);
    const bodies = new Map<string, Set<string>>();
    for (const line of lines) {
      const [option, url = '', ...rest] = curlArguments(line);
      expect([option, ...rest]).toEqual(['-I']);
      expect(line).toBe(`curl -I '${url}'`);
      expect(url.startsWith(`${proxyUrl}/api/v3/`)).toBe(true);
      const head = await fetch(url, { method: 'HEAD' });
      expect(head.status, url).toBe(200);
      const whole = await fetch(url);
      expect(whole.status, url).toBe(200);
      const operation = new URL(url).pathname;
      if (!operation.endsWith('pendingTraces')) expect(whole.headers.get('cache-status')).toMatch(/^toncache; hit/);
      bodies.set(operation, (bodies.get(operation) ?? new Set()).add(await whole.text()));
    }
    expect(bodies.get('/api/v3/adjacentTransactions')?.size).toBe(1);
    expect(bodies.get('/api/v3/masterchainBlockShards')?.size).toBe(1);
  });

  it('exits 1 and shows each wrong answer', async () => {
    const faults = new URL('../../src/simulator/faults.ts', import.meta.url);
    // The indexer gives a wrong answer for every masterchain block.
    const lie = `import { Faults } from '${faults}';
      const body = '{"blocks":[{"workchain":-1,"seqno":1}]}';
      Faults.prototype.take = (operation) =>
        operation === 'masterchainBlockShards' ? { kind: 'answer', status: 200, body } : undefined;`;
    const preload = `data:text/javascript,${encodeURIComponent(lie)}`;
    const demo = new Demo({ args: ['--for', '1s'], nodeArgs: ['--import', preload] });
    expect(await demo.exitCode).toBe(1);
    expect(demo.said).toMatch(/^ {2}WRONG ANSWER to the demo itself$/m);
    expect(demo.said).toMatch(/asked .*http:\/\/127\.0\.0\.1:\d+\/api\/v3\/masterchainBlockShards\?/);
    expect(demo.said).toMatch(/answered .* 200 \{"blocks":\[\{"workchain":-1,"seqno":1\}\]\}/);
    expect(demo.said).toMatch(/wrong .*the chain never says this; blocks\.0\./);
    expect(demo.said).toMatch(/^ {2}\d+ answers were wrong\.$/m);
    expect(demo.said).not.toContain(RIGHT);
  });

  it('takes the next free port when its own is in use', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    onTestFinished(() => void squatter.close());
    const { port } = squatter.address() as AddressInfo;
    const demo = new Demo({ args: ['--for', '100ms'], env: { PORT: String(port), ADMIN_PORT: String(port) } });
    expect(await demo.exitCode).toBe(0);
    const [, chosen] = await demo.untilSaid(/proxy +http:\/\/127\.0\.0\.1:(\d+), as port \d+ is in use$/m);
    const [, admin] = await demo.untilSaid(/metrics +http:\/\/127\.0\.0\.1:(\d+)\/metrics$/m);
    expect(Number(chosen)).toBeGreaterThan(port);
    expect(Number(admin)).toBeGreaterThan(port);
    expect(admin).not.toBe(chosen);
  });

  it('shuts down cleanly on SIGINT, SIGTERM and SIGHUP, sent more than once as npm does', async () => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const ended = signals.map(async (signal) => {
      const demo = new Demo({});
      await demo.untilCrowd();
      demo.child.kill(signal);
      // One after the other, because two signals at the same time arrive as one.
      for (let times = 0; times < 10; times++) {
        await setImmediate();
        demo.child.kill(signal);
      }
      expect(await demo.exitCode, signal).toBe(0);
      expect(demo.said).toMatch(/^Ended by /m);
      expect(demo.said).toContain(RIGHT);
    });
    await Promise.all(ended);
  });

  it('shuts down cleanly while it starts', async () => {
    const demo = new Demo({});
    await demo.untilSaid(/toncache demo/);
    demo.child.kill('SIGINT');
    expect(await demo.exitCode).toBe(0);
  });

  it('refuses unknown flags with its usage', async () => {
    const refused: readonly [args: string[], problem: RegExp][] = [
      [['--for', '10'], /^--for must be 100ms to 24h, written like/],
      [['--fro', '10s'], /^Unknown option '--fro'/],
      [['10s'], /^"10s" is not expected here/],
    ];
    const ended = refused.map(async ([args, problem]) => {
      const demo = new Demo({ args });
      expect(await demo.exitCode).toBe(64);
      expect(demo.said).toMatch(problem);
      expect(demo.said).toContain('toncache demo --help shows how it is called');
    });
    await Promise.all(ended);
  });

  it('refuses wrong settings, all at once', async () => {
    const demo = new Demo({ env: { PORT: 'eighty', REDIS_URL: 'http://127.0.0.1' } });
    expect(await demo.exitCode).toBe(78);
    expect(demo.said).toContain('PORT (http.port)');
    expect(demo.said).toContain('REDIS_URL (redis.url)');
  });
});

describe('the Redis of npm run demo', () => {
  it('is that of REDIS_URL', async () => {
    const demo = new Demo({ env: { REDIS_URL: inject('redisUrl') } });
    const [, metricsUrl = ''] = await demo.untilSaid(/metrics +(\S+)/);
    await demo.untilCrowd();
    await expect
      .poll(async () => (await fetch(metricsUrl)).text())
      .toMatch(/^toncache_redis_calls_total\{call="write",outcome="stored"\} [1-9]/m);
    demo.child.kill('SIGINT');
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toMatch(/^ {2}redis {5}REDIS_URL, redis:\/\/[^ ]+$/m);
    expect(demo.said, 'a second instance answers what the first one stored').toMatch(
      /^A second instance .*\n\n +GET \S+\n +200 .* toncache; hit; ttl=\d+; detail=redis$/m,
    );
    expect(demo.said).toContain(RIGHT);
  });

  it('is printed without its password, and may be down', async () => {
    const demo = new Demo({ args: ['--for', '1s'], env: { REDIS_URL: 'redis://user:secret@127.0.0.1:1/2' } });
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toMatch(/redis {5}REDIS_URL, redis:\/\/127\.0\.0\.1:1\/2, does not answer \(.*ECONNREFUSED/);
    expect(demo.said).not.toContain('secret');
    expect(demo.said).toContain(RIGHT);
  });

  it('is a redis-server on PATH that ends with the demo', async () => {
    const { path, pid } = aRedisServer('7.0.15');
    const demo = new Demo({ args: ['--for', '1s'], env: { PATH: path } });
    await demo.untilSaid(/redis {5}redis-server 7\.0\.15 on port \d+, started for the demo \(.*\/redis-server\)$/m);
    expect(isAlive(pid())).toBe(true);
    expect(await demo.exitCode).toBe(0);
    await expect.poll(() => isAlive(pid())).toBe(false);
  });

  it('ends even if the demo is killed', async () => {
    const { path, pid } = aRedisServer('7.0.15');
    const demo = new Demo({ env: { PATH: path } });
    await demo.untilSaid(/redis-server 7\.0\.15/);
    demo.child.kill('SIGKILL');
    await expect.poll(() => isAlive(pid())).toBe(false);
  });

  it('is not used where the only one on PATH is too old', async () => {
    const { path } = aRedisServer('6.2.1');
    const [folder = ''] = path.split(':');
    const demo = new Demo({ args: ['--for', '100ms'], env: { PATH: folder } });
    expect(await demo.exitCode).toBe(0);
    expect(demo.said).toContain('none: memory alone');
  });
});
