import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, PinnedProcess } from './pinned-process.ts';

const PROGRAM = fileURLToPath(new URL('./fake-indexer.ts', import.meta.url));

/** Starts the fake indexer on these cores; its log goes to that folder. */
export async function startFakeIndexer(cores: string, folder: string): Promise<AsyncDisposable & { port: number }> {
  const port = await freePort();
  const started = await PinnedProcess.start({
    ...{ cores, port, cwd: folder, environment: {}, logFile: join(folder, 'indexer.log') },
    program: process.execPath,
    args: [PROGRAM, String(port)],
  });
  return { port, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}
