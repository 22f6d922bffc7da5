import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { freePort, PinnedProcess } from '../peers/pinned-process.ts';
import type { FoundProgram } from '../peers/required-programs.ts';
import { nginxConfiguration, varnishConfiguration } from './configurations.ts';

/** What stands between the clients and the indexer. */
export type ModeName = 'direct' | 'nginx' | 'Varnish' | 'toncache' | 'toncache, stream';

export const MODES: readonly ModeName[] = ['direct', 'nginx', 'Varnish', 'toncache', 'toncache, stream'];

/** What a mode is started with. */
export interface ModeSetting {
  readonly programs: ReadonlyMap<string, FoundProgram>;
  readonly indexerPort: number;
  /** A folder that does not exist yet and that only this mode uses. */
  readonly folder: string;
  /** The folder of toncache. */
  readonly root: string;
}

/** A mode that accepts requests at a port of 127.0.0.1. */
export interface RunningMode extends AsyncDisposable {
  readonly port: number;
}

const EVERY_CORE = `0-${availableParallelism() - 1}`;

/** Starts the server of a mode. Rejects with its log when it does not start. */
export async function startMode(name: ModeName, setting: ModeSetting): Promise<RunningMode> {
  const { indexerPort, folder } = setting;
  if (name === 'direct') return { port: indexerPort, [Symbol.asyncDispose]: async () => {} };
  await mkdir(folder);
  const port = await freePort();
  const started = await PinnedProcess.start({
    ...(await commandOf(name, setting, port)),
    cores: EVERY_CORE,
    port,
    logFile: join(folder, 'log'),
  });
  return { port, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}

async function commandOf(name: ModeName, { programs, indexerPort, folder, root }: ModeSetting, port: number) {
  const file = join(folder, 'configuration');
  if (name === 'nginx') {
    await writeFile(file, nginxConfiguration({ folder, indexerPort, port, isRoot: process.getuid?.() === 0 }));
    const args = ['-p', folder, '-c', file, '-e', 'stderr'];
    return { program: programs.get('nginx')?.path ?? '', args, cwd: folder, environment: {} };
  }
  if (name === 'Varnish') {
    await writeFile(file, varnishConfiguration(indexerPort));
    const place = ['-n', join(folder, 'varnish'), '-a', `127.0.0.1:${port}`, '-T', 'none'];
    const args = ['-F', ...place, '-f', file, '-s', 'malloc,256m'];
    const environment = { PATH: process.env['PATH'] };
    return { program: programs.get('varnishd')?.path ?? '', args, cwd: folder, environment };
  }
  const stream = name === 'toncache, stream' ? { STREAM_URL: `ws://127.0.0.1:${indexerPort}` } : {};
  const environment = {
    PATH: process.env['PATH'],
    UPSTREAM_URL: `http://127.0.0.1:${indexerPort}`,
    PORT: String(port),
    ADMIN_PORT: '0',
    ...stream,
  };
  return { program: process.execPath, args: ['src/main.ts'], cwd: root, environment };
}
