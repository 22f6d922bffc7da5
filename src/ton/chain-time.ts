import { isFinal } from './finality.ts';
import type { Call } from './parse-call.ts';

/** The real one has 2 KB; more is not parsed on the event loop. */
const LONGEST_HEAD_BYTES = 64 * 1024;

/**
 * The newest time in what an answer shows to be committed, by its parsed body: the `now` of final transactions, the
 * `gen_utime` of blocks. Epoch milliseconds; `undefined` where it shows none. Pending traces show none: they come from
 * the emulator, which can be ahead of the database that the other operations are answered from.
 */
export function chainTimeIn({ operation }: Call, body: unknown): number | undefined {
  if (operation.name === 'pendingTraces' || !isObject(body)) return undefined;
  const rows = operation.lists.flatMap((list) => (Array.isArray(body[list]) ? (body[list] as unknown[]) : []));
  let newest: number | undefined;
  for (const row of rows) {
    const at = isFinal(row) ? timeOf(row['now']) : isObject(row) ? timeOf(row['gen_utime']) : undefined;
    if (at !== undefined && at > (newest ?? 0)) newest = at;
  }
  return newest;
}

/** The time of the newest indexed block in an answer to `masterchainInfo`, epoch milliseconds. Never throws. */
export function chainTimeOfHead(answer: Buffer): number | undefined {
  if (answer.length > LONGEST_HEAD_BYTES) return undefined;
  try {
    const body: unknown = JSON.parse(answer.toString('utf8'));
    return isObject(body) && isObject(body['last']) ? timeOf(body['last']['gen_utime']) : undefined;
  } catch {
    return undefined;
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
