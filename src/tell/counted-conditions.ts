import type { EventHub } from '../event-hub.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { ClientShare } from './client-share.ts';
import { type Counted, FEWEST, KEPT_MS, MINUTE_MS, NOW_MS } from './counted.ts';
import type { Conditions } from './present-conditions.ts';

/** The parts from which the conditions are built that follow from counts. */
export interface CountedConditionsDependencies {
  readonly events: EventHub;
  readonly conditions: Conditions;
  readonly counted: Counted;
  readonly now: () => MonotonicMs;
  /** All indexers, by host and port. */
  readonly indexers: readonly { readonly name: string; readonly isBackup: boolean }[];
  readonly share: ClientShare;
  /** The address of a client as operators may see it. */
  readonly shownClient: (client: string) => string;
}

/** Requests that fail may be seconds apart: after this long without one they no longer do. */
export const QUIET_MS: Ms = 5000;

/** True if a window has enough failures to tell them: a few are enough if nothing else was asked. */
export const areEnough = (failed: number, asked: number, fewest: number): boolean =>
  failed >= (failed >= asked ? FEWEST : fewest);

/** When failures are told: the length of each window, and the fewest failures in it that count. */
export const WINDOWS: readonly (readonly [Ms, fewest: number])[] = [
  [NOW_MS, FEWEST],
  [MINUTE_MS, 4],
  [KEPT_MS, 20],
];
