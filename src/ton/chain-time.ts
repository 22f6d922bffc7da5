import { isFinal } from './finality.ts';
import { listedRows } from './listed-rows.ts';
import { isSeqno } from './masterchain-seqno.ts';
import type { Call } from './parse-call.ts';

/** A longer answer is not parsed on the event loop. The real one has 2 KB. */
const LONGEST_HEAD_BYTES = 64 * 1024;

/**
 * The newest time of anything committed in an answer, by its parsed body: the `now` of final transactions, the
 * `gen_utime` of blocks. Epoch milliseconds; `undefined` where it shows none. Pending traces show none: they come from
 * the emulator, which can be ahead of the database that the other operations are answered from.
 */
export function chainTimeIn({ operation }: Call, body: unknown): number | undefined {
  if (operation.name === 'pendingTraces' || !isObject(body)) return undefined;
  let newest: number | undefined;
  for (const row of listedRows(operation, body)) {
    const at = isFinal(row) ? timeOf(row['now']) : isObject(row) ? timeOf(row['gen_utime']) : undefined;
    if (at !== undefined && at > (newest ?? 0)) newest = at;
  }
  return newest;
}

/** The newest block that the indexer has, by its answer to `masterchainInfo`. */
export interface Head {
  /** When the block was generated, epoch milliseconds. */
  readonly at: number | undefined;
  /** The masterchain seqno of the block. */
  readonly seqno: number | undefined;
}

/** Reads an answer to `masterchainInfo`. Never throws. */
export function headIn(answer: Buffer): Head {
  const unknown = { at: undefined, seqno: undefined };
  if (answer.length > LONGEST_HEAD_BYTES) return unknown;
  try {
    const body: unknown = JSON.parse(answer.toString('utf8'));
    const last = isObject(body) ? body['last'] : undefined;
    if (!isObject(last)) return unknown;
    return { at: timeOf(last['gen_utime']), seqno: isSeqno(last['seqno']) ? last['seqno'] : undefined };
  } catch {
    return unknown;
  }
}

/** Unix seconds, a number in transactions and a decimal string in blocks, as epoch milliseconds. */
function timeOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
