import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http-client.ts';
import { metricAt } from '../support/metric.ts';

const TARGET = '/api/v3/masterchainBlockShards?seqno=2147483647';
let indexer: Indexer;
let dir: string;
let pipe: string;

beforeEach(async () => {
  indexer = await startIndexer();
  dir = await mkdtemp(join(tmpdir(), 'toncache-output-'));
  pipe = join(dir, 'pipe');
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', pipe]);
});

afterEach(async () => {
  await indexer.close();
  await rm(dir, { recursive: true });
});

/** A process whose standard output is a descriptor of the test, so its address must be found in another way. */
class SilentProxy implements AsyncDisposable {
  readonly url: string;
  readonly adminUrl: string;
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  private constructor(output: number, port: number, adminPort: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.adminUrl = `http://127.0.0.1:${adminPort}`;
    this.#child = spawn(process.execPath, ['-r', './src/require-node-24.cjs', 'src/cli/main.ts', 'start'], {
      env: { UPSTREAM_URL: indexer.url, PORT: String(port), ADMIN_PORT: String(adminPort) },
      stdio: ['ignore', output, 'inherit'],
    });
    this.ended = once(this.#child, 'exit').then(([code]) => code);
  }

  /** Starts one and closes the descriptor here. */
  static async start(output: number): Promise<SilentProxy> {
    const port = await freePort();
    const started = new SilentProxy(output, port, await freePort());
    closeSync(output);
    await expect.poll(() => started.health(), { timeout: 60_000 }).toBe(200);
    return started;
  }

  health(): Promise<number> {
    return ask(this.adminUrl, '/healthz').then(
      ({ status }) => status,
      () => 0,
    );
  }

  /** A purge is a line of the log. */
  async log(lines: number): Promise<void> {
    for (let line = 0; line < lines; line++) {
      const headers = { 'Content-Type': 'application/json' };
      await ask(this.adminUrl, '/purge', { method: 'POST', headers, body: `{"seqno":${line}}` });
    }
  }

  dropped(): Promise<number> {
    return metricAt(this.adminUrl, 'toncache_log_lines_dropped_total');
  }

  /** Expects that it serves misses, hits and the admin port, and ends at a signal. */
  async expectWell(): Promise<void> {
    for (let time = 0; time < 2; time++) expect((await ask(this.url, TARGET)).status).toBe(404);
    expect(await this.health()).toBe(200);
    this.#child.kill('SIGTERM');
    expect(await this.ended).toBe(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}

/** Writes until the pipe takes no more, and returns the number of bytes. */
function fill(fd: number): number {
  for (let filled = 0; ; ) {
    try {
      filled += writeSync(fd, Buffer.alloc(1024, 'x'));
    } catch {
      return filled;
    }
  }
}

/** Reads the present contents of the pipe. */
function drain(fd: number): string {
  for (let text = ''; ; ) {
    const chunk = Buffer.alloc(64 * 1024);
    try {
      text += chunk.toString('utf8', 0, readSync(fd, chunk));
    } catch {
      return text;
    }
  }
}

describe('a process whose standard output is', () => {
  it('a file on a full disk keeps serving, and ends at a signal', async () => {
    await using proxy = await SilentProxy.start(openSync('/dev/full', 'w'));
    await proxy.log(100);
    await proxy.expectWell();
  });

  it('a full pipe keeps serving, and its lines arrive once the pipe is read', async () => {
    // As a shell opens it: blocking. The other end is the test's.
    const end = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const output = openSync(pipe, constants.O_WRONLY);
    const filled = fill(end);
    await using proxy = await SilentProxy.start(output);
    await proxy.log(20);
    expect(await proxy.dropped()).toBe(0);
    expect(drain(end)).toBe('x'.repeat(filled));
    let text = '';
    await expect.poll(() => (text += drain(end)), { timeout: 20_000 }).toContain('"seqno":19');
    const lines = text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).msg).filter((msg) => msg === 'purged')).toHaveLength(20);
    fill(end);
    await proxy.expectWell();
    closeSync(end);
  });

  it('a pipe whose reader is gone keeps serving, and counts the dropped lines', async () => {
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const output = openSync(pipe, constants.O_WRONLY);
    closeSync(reader);
    await using proxy = await SilentProxy.start(output);
    await proxy.log(20);
    expect(await proxy.dropped()).toBeGreaterThanOrEqual(20);
    await proxy.expectWell();
  });
});
