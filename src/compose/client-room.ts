import { clientRoom, openFilesLimit } from '../config/open-files.ts';
import type { AppContext } from './context.ts';

/** The limit of open files may change during the process (prlimit): it is read at most once in this time. */
const READ_EVERY_MS = 1000;

/**
 * Returns the number of client connections that may be open now: `http.maxConnections`, or fewer if the limit of open
 * files is too low, which is reported immediately and on each change.
 */
export function openClientRoom({ settings, events, monotonic }: AppContext): () => number {
  let readAt = monotonic();
  let room = clientRoom(settings, openFilesLimit());
  const warn = () => room.warning !== undefined && events.report({ name: 'few-open-files', warning: room.warning });
  warn();
  return () => {
    if (monotonic() - readAt < READ_EVERY_MS) return room.maxConnections;
    readAt = monotonic();
    const { warning } = room;
    const openFiles = openFilesLimit();
    // It cannot be read while no descriptor is left.
    if (openFiles !== undefined) room = clientRoom(settings, openFiles);
    if (room.warning !== warning) warn();
    return room.maxConnections;
  };
}
