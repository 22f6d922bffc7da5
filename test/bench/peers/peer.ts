import type { Case } from './cases.ts';

/** A server that is compared. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
  /** The root of its process tree. */
  readonly pid: number;
  /** Put before the path of a miss, to bypass the cache; '' where misses come from keys that were never requested. */
  readonly missPrefix: string;
  /** The origin that it has for a case. Undefined when the server takes no part in it. */
  originFor(compared: Case): string | undefined;
}

/** What every peer is started with. */
export interface PeerSetting {
  readonly cores: string;
  readonly indexerPort: number;
  /** An empty folder that only this peer uses. */
  readonly folder: string;
}
