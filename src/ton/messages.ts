import { isObject, type JsonObject } from '../json-object.ts';

/** The message with this hash as these transactions have received it, once for each of them. */
export function receivedMessages(rows: readonly JsonObject[], hash: string): readonly JsonObject[] {
  return rows
    .map((row) => row['in_msg'])
    .filter(isObject)
    .filter((message) => message['hash'] === hash);
}

/** The message with this hash as these transactions have sent it. */
export function sentMessages(rows: readonly JsonObject[], hash: string): readonly JsonObject[] {
  const sent = rows
    .map((row) => row['out_msgs'])
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  return sent.filter(isObject).filter((message) => message['hash'] === hash);
}

/**
 * True if an account sent a message to an account. Such a message is received once. An external message has no sender,
 * and only its receiver prevents that it is accepted again.
 */
export function isInternal({ source, destination, created_lt: createdLt }: JsonObject): boolean {
  return [source, destination, createdLt].every((value) => typeof value === 'string');
}
