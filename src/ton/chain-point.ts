import { isObject, type JsonObject } from '../json-object.ts';
import { isFinal } from './finality.ts';

/** A point that the indexer's chain has reached, as one answer shows it. */
export interface ChainPoint {
  /** The newest time of committed data, epoch milliseconds; 0 if the answer shows none. */
  readonly at: number;
  /** The highest seqno of a committed masterchain block; -1 if the answer shows none. */
  readonly seqno: number;
}

/** True if a point was read from `masterchainInfo`: then it is the head of its chain. */
export function isHead(point: ChainPoint): point is ChainHead {
  return 'globalId' in point;
}

/** The point of an answer without committed data. */
export const NO_POINT: ChainPoint = { at: 0, seqno: -1 };

/** True if an answer with this point shows committed data: a final row, a block or the head. */
export function isCommitted({ at, seqno }: ChainPoint): boolean {
  return at > 0 || seqno >= 0;
}

/** An indexer's chain by its `masterchainInfo`. The point is that of its newest block. */
export interface ChainHead extends ChainPoint {
  /** The oldest masterchain block that it has; 0 if not stated. */
  readonly first: number;
  /** The chain that it follows ({@link GLOBAL_IDS}); `undefined` if not stated. */
  readonly globalId: number | undefined;
}

const NO_HEAD: ChainHead = { ...NO_POINT, first: 0, globalId: undefined };

/** The `global_id` of blocks, by network. */
export const GLOBAL_IDS: Readonly<Record<string, number>> = { mainnet: -239, testnet: -3 };

/**
 * A longer answer to `masterchainInfo` is not parsed, because that would block the event loop. A real answer has 2 KB.
 */
const LONGEST_HEAD_BYTES = 64 * 1024;

/** How an operation reads the chain point of an answer, a 200 or a 404, from its body. */
export type ReadChainPoint = (body: JsonObject) => ChainPoint;

/** The point in these lists, by their final transactions and their blocks, which come from the indexer's database. */
export function pointOfLists(...names: readonly string[]): ReadChainPoint {
  return (body) => names.reduce((point, name) => furthestOfRows(point, body[name]), NO_POINT);
}

/** The same for rows that are not in lists. */
export function pointOfRows(rowsIn: (body: JsonObject) => readonly unknown[]): ReadChainPoint {
  return (body) => furthestOfRows(NO_POINT, rowsIn(body));
}

function furthestOfRows(point: ChainPoint, rows: unknown): ChainPoint {
  return Array.isArray(rows) ? rows.reduce(furthestOf, point) : point;
}

function furthestOf(point: ChainPoint, row: unknown): ChainPoint {
  if (isFinal(row)) return furthest(point, row['now'], row['mc_block_seqno']);
  return isObject(row) ? furthest(point, row['gen_utime'], row['workchain'] === -1 && row['seqno']) : point;
}

/** The head in an answer to `masterchainInfo`. Never throws; for any other answer the seqno is -1. */
export function headIn(answer: Buffer): ChainHead {
  if (answer.length > LONGEST_HEAD_BYTES) return NO_HEAD;
  try {
    const body: unknown = JSON.parse(answer.toString('utf8'));
    return isObject(body) ? headOf(body) : NO_HEAD;
  } catch {
    return NO_HEAD;
  }
}

/** The same for a parsed body. */
export function headOf({ first, last }: JsonObject): ChainHead {
  if (!isObject(last)) return NO_HEAD;
  const { seqno, gen_utime: time, global_id: globalId } = last;
  return {
    ...furthest(NO_POINT, time, seqno),
    first: isObject(first) && isSeqno(first['seqno']) ? first['seqno'] : 0,
    globalId: typeof globalId === 'number' ? globalId : undefined,
  };
}

function furthest(point: ChainPoint, time: unknown, seqno: unknown): ChainPoint {
  return { at: Math.max(point.at, timeOf(time)), seqno: Math.max(point.seqno, isSeqno(seqno) ? seqno : -1) };
}

/**
 * Unix seconds, a number in transactions and a decimal string in blocks, as epoch milliseconds; 0 for anything else.
 */
function timeOf(value: unknown): number {
  const seconds = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

/** True if a value is a masterchain seqno: a non-negative int32. */
function isSeqno(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2_147_483_647;
}
