import type { Abandonable } from '../../src/admission/guard.ts';

/** The waiter of a request, until this signal is aborted. */
export function sentFor(signal = new AbortController().signal): Abandonable {
  return {
    signal,
    get isAbandoned() {
      return signal.aborted;
    },
  };
}
