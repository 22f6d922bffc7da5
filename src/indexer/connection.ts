import { Client, type Dispatcher } from 'undici';

/** A request that knows the connection on which it is sent. */
export interface ConnectedRequest extends Dispatcher.DispatchHandler {
  connection?: Connection | undefined;
}

/**
 * A member of undici's pool: one connection at a time, and a new one for the next request when that is gone. Undici's
 * own clients do not show whether a connection that breaks had been idle.
 */
export class Connection extends Client {
  /** True if no request was sent yet on the present connection. The sender of a request clears it. */
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
