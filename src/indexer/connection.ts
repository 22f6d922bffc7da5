import { Client, type Dispatcher } from 'undici';

/** A request that sees which connection it is sent on. */
export interface ConnectedRequest extends Dispatcher.DispatchHandler {
  connection?: Connection | undefined;
}

/**
 * A member of undici's pool: one connection at a time, and a new one for the next request when that is gone. With undici's
 * own clients nobody can tell whether a connection that breaks had been idle.
 */
export class Connection extends Client {
  /** Whether no request was sent yet on the connection that is there now. Who sends one clears it. */
  isNew = true;

  constructor(origin: URL, options: Client.Options) {
    super(origin, options);
    this.on('connect', () => {
      this.isNew = true;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, request: ConnectedRequest): boolean {
    request.connection = this;
    return super.dispatch(options, request);
  }
}
