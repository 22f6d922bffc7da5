import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { ShownClient } from '../../src/operate/status/top-keys.ts';

/** A message of `/status/events`, as far as tests look into it. */
export interface StatusMessage {
  readonly rates?: Readonly<Record<string, number>>;
  readonly hitRatio?: number;
  readonly memory: { readonly entries: number };
  readonly redis: string;
  readonly clients?: readonly ShownClient[];
  readonly keys?: readonly { readonly request: string; readonly share: number; readonly answerClass?: string }[];
}

/** Asks for the events; the answer has its head, and whoever asked ends it. */
export async function openEvents(
  adminUrl: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const [response]: IncomingMessage[] = await once(
    request(new URL('/status/events', adminUrl), { agent: false, headers }).end(),
    'response',
  );
  if (response === undefined) throw new Error('no response');
  return response;
}

/** The messages as they come, until the server or whoever iterates ends them. */
export async function* messagesOf(response: IncomingMessage): AsyncGenerator<StatusMessage> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const messages = `${text}${chunk}`.split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages) yield JSON.parse(message.slice('data: '.length));
  }
}
