import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { connectTo } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

/** An operation that toncache requests only for clients: its head checks request blocks. */
export const TARGET = `/api/v3/adjacentTransactions?hash=${'c0'.repeat(32)}`;
export const REQUEST = `GET ${TARGET} HTTP/1.1\r\nHost: toncache\r\n\r\n`;
export const DRAIN_MS = 300;

/** An indexer, processes in front of it, and a folder for their files. */
export class ProcessWorld implements AsyncDisposable {
  readonly indexer: Indexer;
  readonly #dir: string;

  private constructor(indexer: Indexer, dir: string) {
    this.indexer = indexer;
    this.#dir = dir;
  }

  static async start(): Promise<ProcessWorld> {
    return new ProcessWorld(await startIndexer(), await mkdtemp(join(tmpdir(), 'toncache-process-')));
  }

  /** The path of a file in the folder. */
  file(name: string): string {
    return join(this.#dir, name);
  }

  startProcess(environment: Readonly<Record<string, string>> = {}): Promise<ProxyProcess> {
    return ProxyProcess.start({ UPSTREAM_URL: this.indexer.url, UPSTREAM_TIMEOUT: '60s', ...environment });
  }

  /** A process with this `http.drainTimeout` and this `http.shutdownDelay`. */
  async startWithDrain(drain: string, upstream: object = {}, shutdownDelay = '0ms'): Promise<ProxyProcess> {
    const file = this.file('drain.json');
    await writeFile(file, JSON.stringify({ http: { drainTimeout: drain, shutdownDelay }, upstream }));
    return this.startProcess({ CONFIG_FILE: file });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.indexer.close();
    await rm(this.#dir, { recursive: true });
  }
}

/** How a new connection fails, or that it succeeds. */
export function refusal(origin: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTo(origin);
    socket.on('connect', () => {
      socket.destroy();
      resolve('connected');
    });
    socket.on('error', (error) => resolve('code' in error ? String(error.code) : 'failed'));
  });
}
