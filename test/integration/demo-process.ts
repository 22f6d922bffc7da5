import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { GUARD_MS } from '../support/patience.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = ['-r', './src/require-node-24.cjs', 'src/cli/main.ts', 'demo'];
export const RIGHT = 'Every response was right, checked against the chain.';

interface DemoOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of node itself, before the command. */
  readonly nodeArgs?: readonly string[];
}

/** Starts the real command. */
export function startDemo({ args = [], env = {}, nodeArgs = [] }: DemoOptions): ProxyProcess {
  const program = { args: [...nodeArgs, ...COMMAND, ...args], cwd: ROOT };
  return new ProxyProcess({ FORCE_COLOR: '1', PATH: '', ...env }, undefined, program);
}

/** Resolves with the match in its output, as soon as it is there. */
export function untilSaid(demo: ProxyProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return vi.waitFor(
    () => {
      const found = pattern.exec(demo.output);
      if (found === null) throw new Error(`not said yet: ${pattern}\n${demo.output}${demo.errors}`);
      return found;
    },
    { timeout: GUARD_MS, interval: 20 },
  );
}

export const untilCrowd = (demo: ProxyProcess) => untilSaid(demo, /until Ctrl-C\n/);
