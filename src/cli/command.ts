/** Where a command writes: a stream of the process, or a string in a test. */
export interface Output {
  write(text: string): unknown;
  /** True for a terminal, where lines can be overwritten. */
  readonly isTTY?: boolean;
}

/** The process as a command sees it. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /**
   * Aborted when the user ends the command; its reason describes the cause. Its first use installs the handlers of the
   * signals.
   */
  readonly signal: AbortSignal;
}

/** One command of the command line tool. */
export interface Command {
  /** How it is called, its options, and an example. */
  readonly help: string;
  /**
   * Resolves with the exit code. Rejects with a {@link UsageError}, an {@link UnavailableError} or a `SettingsError`
   * for a problem that the user can fix. Any other rejection is a bug.
   */
  run(args: readonly string[], context: Context): Promise<number>;
}

/** Exit codes. Those above 1 are from sysexits.h. */
export const EXIT = {
  ok: 0,
  /** The command did its work, with a bad result. */
  failed: 1,
  /** Of the command `status` alone. */
  failing: 2,
  usage: 64,
  /** The other side does not answer, or refuses. */
  unavailable: 69,
  /** Ended before all was done. It can be run again. */
  incomplete: 75,
  config: 78,
} as const;

/** The command line is wrong. The message explains how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The other side does not answer or refuses. The message names the remedy. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}
