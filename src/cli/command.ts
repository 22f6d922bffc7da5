/** What a command writes to: a stream of the process, or a text in a test. */
export interface Output {
  write(text: string): unknown;
  /** Whether this is a terminal, where lines can be overwritten. */
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** What a command is given by its process. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Aborted when the user ends the command. Reading it once takes over the signals of the process. */
  readonly signal: AbortSignal;
}

/** One command of the command line tool. */
export interface Command {
  /** How it is called, its options, and an example. */
  readonly help: string;
  /**
   * Gives the exit code. Throws a {@link UsageError}, an {@link UnavailableError} or a `SettingsError` for what the user
   * can mend; anything else is a bug.
   */
  run(args: readonly string[], context: Context): Promise<number>;
}

/** Exit codes. Those above 1 are those of sysexits.h. */
export const EXIT = {
  ok: 0,
  /** The command did its work, and what it found is bad. */
  failed: 1,
  usage: 64,
  /** Nobody answers, or whoever answers refuses. */
  unavailable: 69,
  /** Ended before all was done: it can be called again. */
  incomplete: 75,
  config: 78,
} as const;

/** A command line that cannot be followed; its message says what is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The other side does not answer or refuses; its message says what to do. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}
