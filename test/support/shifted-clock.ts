import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SOURCE = fileURLToPath(new URL('shifted-clock.c', import.meta.url));

/** The wall clock of processes that start with its environment: a test sets it while they run. */
export class ShiftedClock implements AsyncDisposable {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** Rejects without Linux and a C compiler (`cc`), with the reason. */
  static async make(): Promise<ShiftedClock> {
    const dir = await mkdtemp(join(tmpdir(), 'toncache-clock-'));
    const clock = new ShiftedClock(dir);
    try {
      if (process.platform !== 'linux') throw new Error('LD_PRELOAD needs Linux');
      await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', clock.#library, SOURCE]);
      await clock.setAhead(0);
      return clock;
    } catch (cause) {
      await clock[Symbol.asyncDispose]();
      throw new Error(
        'A clock of Redis that can be set takes Linux and a C compiler (Debian, Ubuntu: apt-get install gcc)',
        {
          cause,
        },
      );
    }
  }

  get environment(): Readonly<Record<string, string>> {
    return { LD_PRELOAD: this.#library, SHIFTED_CLOCK: this.#file };
  }

  /** Sets the clock ahead of this machine's by this many whole seconds, or back. */
  async setAhead(seconds: number): Promise<void> {
    // In one write of the same length each time: a process may read the file at any moment.
    await writeFile(this.#file, String(seconds).padEnd(12), { flag: existsSync(this.#file) ? 'r+' : 'w' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  get #library(): string {
    return join(this.#dir, 'shifted-clock.so');
  }

  get #file(): string {
    return join(this.#dir, 'seconds');
  }
}
