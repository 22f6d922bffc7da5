import { FIRST_TRY, type Lane } from '../admission/lane.ts';

/** The same lane with other rules, and with the name that follows from them. */
function changed(lane: Lane, rules: Partial<Omit<Lane, 'name'>>): Lane {
  const next = { ...lane, ...rules };
  return { ...next, name: nameOf(next) };
}

function nameOf({ isSecondTry, turns, to: { not, at } }: Lane): string {
  const parts = [
    isSecondTry && 'again',
    not !== undefined && `not ${not}`,
    turns === 'backup' && 'to a backup',
    turns === 'none' && 'with its own key',
    at !== undefined && `at ${at}`,
  ];
  return parts.map((part) => (part === false ? '' : `, ${part}`)).join('');
}

/** The lane of a client's request; `at`: the place of the only indexer that it may be sent to. */
export function firstTry(at?: number): Lane {
  return at === undefined ? FIRST_TRY : changed(FIRST_TRY, { to: { at } });
}

/** Of a request that is sent with the client's own API key. No backup gets it. */
export function withClientKey(lane: Lane): Lane {
  return changed(lane, { turns: 'none' });
}

const REFRESH = withoutWaiting(FIRST_TRY);

/** The lane of a load for a call that is about a block, or about none. A refresh never waits. */
export function ofLoad(isRefresh: boolean, seqno: number | undefined): Lane {
  const lane = isRefresh ? REFRESH : FIRST_TRY;
  return seqno === undefined ? lane : aboutBlock(lane, seqno);
}

/** The same where it is refused instead of waiting. */
function withoutWaiting(lane: Lane): Lane {
  return changed(lane, { waits: false });
}

/** Of a request about a masterchain block: where others have it, one that lacks it is not asked. */
export function aboutBlock(lane: Lane, seqno: number): Lane {
  // One for each miss: the block is no part of the name.
  return { ...lane, to: { ...lane.to, seqno } };
}

/** To another indexer than that at a place. */
export function elsewhere(lane: Lane, index: number): Lane {
  return changed(lane, { to: { ...lane.to, not: index } });
}

/** Of a second try, at another indexer than the first one where there is one. */
export function again(lane: Lane, index?: number): Lane {
  const second = changed(lane, { isSecondTry: true });
  return index === undefined ? second : elsewhere(second, index);
}

/** Of a request beside one that was sent to the indexer at a place: there may be an answer already, so nobody waits for it. */
export function besides(lane: Lane, index: number): Lane {
  return changed(lane, { waits: false, to: { ...lane.to, not: index, isHedge: true } });
}

/** Of a request that would wait too long for the others: to a backup. */
export function overflow(lane: Lane): Lane {
  return changed(lane, { turns: 'backup' });
}

/** Whether another indexer may be asked beside one that takes long: not for what itself waits for nothing. */
export function mayBeHedged({ waits }: Lane): boolean {
  return waits;
}

/** Whether a lane is {@link besides} another request. */
export function isBesides({ to }: Lane): boolean {
  return to.isHedge === true;
}
