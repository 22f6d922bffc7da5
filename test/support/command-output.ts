import { run } from '../../src/cli/run.ts';

/** The output of a command, and its exit code. */
export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly isTTY?: boolean;
  /** Called with each piece of standard output. */
  readonly onOutput?: (text: string) => void;
}

/** Runs the command line tool in this process. */
export async function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandOutput> {
  const { env = {}, signal = new AbortController().signal, isTTY = false, onOutput = () => {} } = options;
  let [stdout, stderr] = ['', ''];
  const write = (text: string) => {
    stdout += text;
    onOutput(text);
  };
  const code = await run(args, {
    env,
    signal,
    stdout: { isTTY, write },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}
