import { FIRST_TRY, type Lane } from '../admission/lane.ts';

/** A lane with some rules changed. Its name follows from its rules. */
function changed(lane: Lane, rules: Partial<Omit<Lane, 'name'>>): Lane {
  const next = { ...lane, ...rules };
  return { ...next, name: nameOf(next) };
}

function nameOf({ isSecondTry, rate, to: { not, at } }: Lane): string {
  const parts = [
    isSecondTry && 'again',
    not !== undefined && `not ${not}`,
    rate === 'backup' && 'to a backup',
    rate === 'none' && 'with its own key',
    at !== undefined && `at ${at}`,
  ];
  return parts.map((part) => (part === false ? '' : `, ${part}`)).join('');
}

/** The lane of a client's first request. `at`: the place of the only indexer that may get it. */
export function firstTry(at?: number): Lane {
  return at === undefined ? FIRST_TRY : changed(FIRST_TRY, { to: { at } });
}

/** The lane of a request that is sent with the client's own API key. No backup gets it. */
export function withClientKey(lane: Lane): Lane {
  return changed(lane, { rate: 'none' });
}

const REFRESH = changed(FIRST_TRY, { waits: false });

/** The lane of a load. `seqno`: the masterchain block that its call is about, if any. A refresh never waits. */
export function ofLoad(isRefresh: boolean, seqno: number | undefined): Lane {
  const lane = isRefresh ? REFRESH : FIRST_TRY;
  return seqno === undefined ? lane : aboutBlock(lane, seqno);
}

/** The lane of a request about a masterchain block: while some indexer has it, none that lacks it is asked. */
export function aboutBlock(lane: Lane, seqno: number): Lane {
  // The block is no part of the name, or each block would have a queue of its own.
  return { ...lane, to: { ...lane.to, seqno } };
}

/** The lane of a request that the indexer at a place must not get. */
export function elsewhere(lane: Lane, index: number): Lane {
  return changed(lane, { to: { ...lane.to, not: index } });
}

/** The lane of a second try. `index`: the place of the indexer that failed the first one, unless there is no other. */
export function again(lane: Lane, index?: number): Lane {
  const second = changed(lane, { isSecondTry: true });
  return index === undefined ? second : elsewhere(second, index);
}

/** The lane of a hedge: another indexer than the one at a place gets it, at once or not at all. */
export function besides(lane: Lane, index: number): Lane {
  return changed(lane, { waits: false, to: { ...lane.to, not: index, isHedge: true } });
}

/** The lane of a request that would wait too long for the other indexers: a backup gets it. */
export function overflow(lane: Lane): Lane {
  return changed(lane, { rate: 'backup' });
}

/** Whether a slow request may be hedged. Refreshes and hedges are not. */
export function mayBeHedged({ waits }: Lane): boolean {
  return waits;
}

/** Whether a lane is that of a hedge ({@link besides}). */
export function isHedge({ to }: Lane): boolean {
  return to.isHedge === true;
}
