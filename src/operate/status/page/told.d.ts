import type { StatusMoment } from '../history.ts';

/** How instants are read. */
export interface PageClock {
  /** A time of day; of another day than `now`, with its date. */
  readonly at: (instant: number, now: number) => string;
  /** The name of the time zone, if it must be shown. */
  readonly zone: string;
}

type ToldMoment = Pick<StatusMoment, 'at' | 'level' | 'says' | 'episodes' | 'minutes'>;

export function titleOf(told: ToldMoment): string;
export function toldOf(
  told: ToldMoment,
  clock: PageClock,
): Readonly<Record<'level' | 'says' | 'steps' | 'hour' | 'happened', string>>;
