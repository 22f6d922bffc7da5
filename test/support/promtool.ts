import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { debianProgram } from './apt.ts';

/** The output of promtool, and its exit code (0 without problems). */
export interface Checked {
  readonly exitStatus: number | null;
  readonly output: string;
}

/** Runs Prometheus' own checker; installs it if it is missing and can be. */
export async function promtool(args: readonly string[], input = ''): Promise<Checked> {
  const child = spawn(await debianProgram('promtool', 'prometheus'), args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  child.stdin.end(input);
  const [out, err, exitStatus] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { exitStatus, output: out + err };
}
