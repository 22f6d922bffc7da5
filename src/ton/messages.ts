import { isObject, type JsonObject } from '../json-object.ts';

/** What these transactions have received under this hash: the message, once for each of them. */
export function receivedMessages(rows: readonly JsonObject[], hash: string): readonly JsonObject[] {
  return rows
    .map((row) => row['in_msg'])
    .filter(isObject)
    .filter((message) => message['hash'] === hash);
}

/** What these transactions have sent under this hash. */
export function sentMessages(rows: readonly JsonObject[], hash: string): readonly JsonObject[] {
  const sent = rows
    .map((row) => row['out_msgs'])
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  return sent.filter(isObject).filter((message) => message['hash'] === hash);
}

/**
 * Whether an account sent a message to an account. Such a message is received once: an external one has no sender, and
 * nothing but its receiver keeps it from being accepted again.
 */
export function isInternal({ source, destination, created_lt: createdLt }: JsonObject): boolean {
  return [source, destination, createdLt].every((value) => typeof value === 'string');
}
