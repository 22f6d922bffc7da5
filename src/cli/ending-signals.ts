/** Two signals within this time are one: npm repeats a Ctrl-C that the terminal has already sent to every process. */
const SAME_SIGNAL_MS = 500;

const monotonic = (): number => performance.now();

/** Calls `end` at the first of these signals. A second one ends the process immediately, with status 1. */
export function onEndingSignal(signals: readonly NodeJS.Signals[], end: (signal: NodeJS.Signals) => void): void {
  let endingSince: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (endingSince === undefined) {
      endingSince = monotonic();
      end(signal);
    } else if (monotonic() - endingSince > SAME_SIGNAL_MS) {
      process.exit(1);
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
}
