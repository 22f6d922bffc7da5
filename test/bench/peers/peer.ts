import type { Case } from './cases.ts';

/** Where one case is asked for. */
export interface Place {
  readonly origin: string;
  /** Before the path of a miss: '' where it takes a key that was never asked for to make one. */
  readonly missPrefix: string;
}

/** A server that is compared. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
  /** Of the first of its processes. */
  readonly pid: number;
  /** Undefined where it has no part in a case. */
  placeOf(compared: Case): Place | undefined;
  /** Called before each load. */
  prepare?(): Promise<void>;
}

/** What every peer is started with. */
export interface PeerSetting {
  readonly program: string;
  readonly cores: string;
  readonly indexerPort: number;
  /** Empty, the peer's own. */
  readonly folder: string;
}
