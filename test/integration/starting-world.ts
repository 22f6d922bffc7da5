import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';

/** An indexer for processes that are to start before it, and a folder for their files; a test file has one. */
export class StartingWorld implements AsyncDisposable {
  readonly indexer: Indexer;
  readonly #dir: string;

  private constructor(indexer: Indexer, dir: string) {
    this.indexer = indexer;
    this.#dir = dir;
  }

  static async start(): Promise<StartingWorld> {
    return new StartingWorld(await startIndexer(), await mkdtemp(join(tmpdir(), 'toncache-process-')));
  }

  /** The path of a file in the folder. */
  file(name: string): string {
    return join(this.#dir, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.indexer.close();
    await rm(this.#dir, { recursive: true });
  }
}
