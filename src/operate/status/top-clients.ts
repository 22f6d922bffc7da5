import type { WaitingClient } from '../../clients/waiting-clients.ts';
import type { TopKeys } from './top-keys.ts';

/** A client as operators see it. */
export interface ShownClient {
  readonly client: string;
  /** Its part of the requests that memory did not answer, estimated, 0 to 1; absent for one that asks for little. */
  readonly share?: number;
  /** Its requests that wait for the indexer. */
  readonly waiting: number;
}

export interface TopClientsDependencies {
  /** Counts clients, not keys. */
  readonly asked: Pick<TopKeys, 'top'>;
  /** Most first. */
  readonly waiting: () => readonly WaitingClient[];
  /** How an address is shown. */
  readonly shown: (client: string) => string;
}

const MOST_SHOWN = 5;

/** The clients that wait and ask most, at most five, those that wait most first. */
export function topClients({ asked, waiting, shown }: TopClientsDependencies): ShownClient[] {
  const shares = new Map(asked.top(MOST_SHOWN).map(({ key, share }) => [key, share]));
  const counts = new Map(waiting().map(({ client, requests }) => [client, requests]));
  return [...new Set([...counts.keys(), ...shares.keys()])].slice(0, MOST_SHOWN).map((client) => {
    const share = shares.get(client);
    return { client: shown(client), ...(share !== undefined && { share }), waiting: counts.get(client) ?? 0 };
  });
}
