import type { Case } from './cases.ts';

/** The address that a server has for one case. */
export interface Place {
  readonly origin: string;
  /** Put before the path of a miss, to bypass the cache; '' where misses come from keys that were never requested. */
  readonly missPrefix: string;
}

/** A server that is compared. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
  /** The root of its process tree. */
  readonly pid: number;
  /** Undefined when the server takes no part in this case. */
  placeOf(compared: Case): Place | undefined;
  /** Called before each load. */
  prepare?(): Promise<void>;
}

/** What every peer is started with. */
export interface PeerSetting {
  readonly program: string;
  readonly cores: string;
  readonly indexerPort: number;
  /** An empty folder that only this peer uses. */
  readonly folder: string;
}
