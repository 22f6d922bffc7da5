import { FIRST_TRY, type Lane } from '../admission/lane.ts';

/** A lane with some rules changed. Its name follows from its rules. */
function changed(lane: Lane, rules: Partial<Omit<Lane, 'name'>>): Lane {
  const next = { ...lane, ...rules };
  return { ...next, name: nameOf(next) };
}

function nameOf({ isSecondTry, rate, isOurs, to: { not, at } }: Lane): string {
  const parts = [
    isSecondTry && 'again',
    not !== undefined && `not ${not}`,
    rate === 'backup' && 'to a backup',
    !isOurs && 'without our key',
    rate === 'none' && 'not counted',
    at !== undefined && `at ${at}`,
  ];
  return parts.map((part) => (part === false ? '' : `, ${part}`)).join('');
}

/** The lane of a client's first request. `at`: the place of the only indexer that may get it. */
export function firstTry(at?: number): Lane {
  return at === undefined ? FIRST_TRY : changed(FIRST_TRY, { to: { at } });
}

/** The lane of a request that is sent without our API key, and counts for our rate nevertheless. */
export function withoutOurKey(lane: Lane): Lane {
  return changed(lane, { isOurs: false });
}

/** The lane of a request that is sent with the client's own API key, and counts only for that. */
export function withClientKey(lane: Lane): Lane {
  return changed(lane, { isOurs: false, rate: 'none' });
}

const REFRESH = changed(FIRST_TRY, { waits: false });

/** The lane of a load. `seqno`: the masterchain block that its call is about, if any. A refresh never waits. */
export function ofLoad(isRefresh: boolean, seqno: number | undefined): Lane {
  const lane = isRefresh ? REFRESH : FIRST_TRY;
  return seqno === undefined ? lane : aboutBlock(lane, seqno);
}

/**
 * The lane of a request about a masterchain block: while an indexer has the block, no indexer without it gets the
 * request.
 */
export function aboutBlock(lane: Lane, seqno: number): Lane {
  // The block is not part of the name: otherwise each block would have its own queue.
  return { ...lane, to: { ...lane.to, seqno } };
}

/** The lane of a request that the indexer at this place must not get. */
export function elsewhere(lane: Lane, index: number): Lane {
  return changed(lane, { to: { ...lane.to, not: index } });
}

/** The lane of a second try. `index`: the place of the indexer that failed the first one, unless there is no other. */
export function again(lane: Lane, index?: number): Lane {
  const second = changed(lane, { isSecondTry: true });
  return index === undefined ? second : elsewhere(second, index);
}

/** The lane of a hedge: an indexer other than the one at this place gets it, immediately or not at all. */
export function besides(lane: Lane, index: number): Lane {
  return changed(lane, { waits: false, to: { ...lane.to, not: index, isHedge: true } });
}

/** The lane of a request that would wait too long for the other indexers: a backup gets it. */
export function overflow(lane: Lane): Lane {
  return changed(lane, { rate: 'backup' });
}

/** True if a slow request may be hedged. Refreshes and hedges may not. */
export function mayBeHedged({ waits }: Lane): boolean {
  return waits;
}

/** True for the lane of a hedge ({@link besides}). */
export function isHedge({ to }: Lane): boolean {
  return to.isHedge === true;
}
