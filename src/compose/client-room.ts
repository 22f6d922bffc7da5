import { clientRoom, openFilesLimit } from '../config/open-files.ts';
import type { AppContext } from './context.ts';

/** The limit of open files may be changed while the process runs (prlimit): it is read at most once in this time. */
const READ_EVERY_MS = 1000;

/**
 * Says how many connections of clients may be open now: `http.maxConnections`, or fewer where the limit of open files has
 * no room for so many, which is reported at once and whenever that changes.
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
    // It cannot be read either while no descriptor is left.
    if (openFiles !== undefined) room = clientRoom(settings, openFiles);
    if (room.warning !== warning) warn();
    return room.maxConnections;
  };
}
